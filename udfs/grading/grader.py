"""The verdict on one answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from schemas.contract import AnswerContract, Verdict
from udfs.grading.choices import choose, well_formed
from udfs.grading.dates import parse_date
from udfs.grading.extraction import Extraction, bare_answer, extract_answer
from udfs.grading.formats import keeps_format
from udfs.grading.latex import words_of
from udfs.grading.maths import TYPES, gold_verdict, judge
from udfs.grading.numbers import compare, parse_gold
from udfs.grading.texts import is_code_like, matches

#: Name and version of this verifier, as recorded beside every verdict. A change that can alter a verdict raises the version.
VERIFIER = "contract"
#: 2: the last ``\\boxed{...}`` of a response marks its answer under every type; until then only a short response could hold one.
#: 3: a lead such as "The answer is", a fence, bold type and the delimiters of a formula around an answer are left out under every type;
#: a letter before a bracket or a number names its option (``A (123)`` was taken for the option 123).
VERSION = "3"


@dataclass(frozen=True, slots=True)
class Grade:
    """A verdict with its reward and reasons.

    Attributes:
        verdict: correct, incorrect, unparsable_pred or timeout (the candidate's fault, 0), unparsable_gold or error (ours, null).
        reward: 1.0, 0.0, or None where the fault is ours.
        extracted: what was taken for the answer.
        flags: multiple_answers, answer_not_last, overlong, unit_mismatch, multiple_options, contradictory; in mathematics also
            numeric (equal to many digits at several points), math_verify (asked), directions_differ with forward or backward (the one
            that it accepts), too_large and undecided (nobody could compare them).
    """

    verdict: Verdict
    reward: float | None
    extracted: str | None
    flags: tuple[str, ...] = ()


_REWARD: dict[str, float | None] = {
    "correct": 1.0,
    "incorrect": 0.0,
    "unparsable_pred": 0.0,
    "timeout": 0.0,
    "unparsable_gold": None,
    "error": None,
}


#: Soundness of golds in mathematics, where it is known for good: an ``error`` is asked again.
_MATHS_GOLDS: dict[tuple[object, ...], bool] = {}
_MOST_GOLDS = 65_536


def _grade(verdict: Verdict, found: Extraction | None, *flags: str) -> Grade:
    seen = found.flags if found else ()
    return Grade(verdict, _REWARD[verdict], found.text if found else None, (*seen, *(f for f in flags if f not in seen)))


def gold_is_sound(contract: AnswerContract) -> bool:
    """Whether the gold can be read under its own contract; where it cannot, every grade is ``unparsable_gold``.

    A gold in mathematics (and each of its aliases) is also compared with itself, in both directions.

    Args:
        contract: the contract; whether it *accepts* its gold in other spellings is for ``udfs.admission`` to try.
    """
    return _soundness(contract) == "correct"


def _soundness(contract: AnswerContract) -> Verdict:
    if contract.type not in TYPES:
        return "correct" if _is_readable(contract) else "unparsable_gold"
    key = (contract.type, contract.gold, contract.unit, contract.tolerance, contract.aliases, contract.ordered)
    known = _MATHS_GOLDS.get(key)
    if known is None:
        verdicts = [gold_verdict(contract, text) for text in (contract.gold, *contract.aliases)]
        if "error" in verdicts:
            return "error"
        known = all(verdict == "correct" for verdict in verdicts)
        if len(_MATHS_GOLDS) >= _MOST_GOLDS:
            _MATHS_GOLDS.clear()
        _MATHS_GOLDS[key] = known
    return "correct" if known else "unparsable_gold"


@lru_cache(maxsize=8192)
def _is_readable(contract: AnswerContract) -> bool:
    if contract.type == "number":
        return parse_gold(contract.gold, contract.unit) is not None
    if contract.type == "date":
        return parse_date(contract.gold) is not None
    if contract.type == "choice":
        return well_formed(contract.gold, contract.options)
    return bool(contract.gold.strip())


def _number(contract: AnswerContract, found: Extraction, answer: str) -> Grade:
    gold = parse_gold(contract.gold, contract.unit)
    if gold is None:
        return _grade("unparsable_gold", found)
    verdict = compare(gold, contract.unit, contract.tolerance, answer)
    return _grade("incorrect", found, verdict) if verdict == "unit_mismatch" else _grade(verdict, found)


def _date(contract: AnswerContract, found: Extraction, answer: str) -> Grade:
    said = parse_date(answer)
    if said is None:
        return _grade("unparsable_pred", found)
    return _grade("correct" if said == parse_date(contract.gold) else "incorrect", found)


def _choice(contract: AnswerContract, found: Extraction, answer: str) -> Grade:
    choice = choose(answer, contract.options)
    if choice.verdict == "unparsable_pred":
        return _grade("unparsable_pred", found)
    if choice.letter is None:
        return _grade("incorrect", found, choice.verdict)
    return _grade("correct" if choice.letter == contract.gold else "incorrect", found)


def grade(contract: AnswerContract, response: str) -> Grade:
    """Grade a response, or a bare answer, under a contract. Linear in the response; no code of it is run, and every step is bounded.

    Law 6: what the candidate did costs 0 (``incorrect``, ``unparsable_pred``, ``timeout``); a gold that its own contract cannot read gives
    null, and so does a verifier that cannot be started (``error``).

    Args:
        contract: type, gold and latitude.
        response: the candidate's whole response, or just its answer.
    """
    soundness = _soundness(contract)
    if soundness != "correct":
        return _grade(soundness, None)
    found = extract_answer(response, short_marks=contract.type != "choice", gold_length=len(contract.gold))
    if found.text is None:
        return _grade("unparsable_pred", found)
    answer = bare_answer(found.text)
    if contract.type in TYPES:
        judged = judge(contract, answer)
        return _grade(judged.verdict, found, *judged.flags)
    if "\\" in answer and "\\" not in contract.gold and contract.type != "number":
        answer = words_of(answer)
    if contract.type == "number":
        return _number(contract, found, answer)
    if contract.type == "date":
        return _date(contract, found, answer)
    if contract.type == "choice":
        return _choice(contract, found, answer)
    code, said = is_code_like(contract.gold), dict.fromkeys((answer, found.text))  # a title may begin with "It is"
    correct = any(matches(gold, text, code=code) for gold in (contract.gold, *contract.aliases) for text in said)
    return _grade("correct" if correct else "incorrect", found)


def grade_format(contract: AnswerContract, response: str) -> Grade | None:
    """Grade the form of a response as a reward of its own; None where the contract constrains no form.

    A rule that the gold itself cannot keep (one word for a gold of two, a unit where the contract has none) is our fault: null.

    Args:
        contract: its ``format`` is the rule.
        response: the candidate's whole response.
    """
    rule = contract.format
    if rule is None:
        return None
    if (rule == "unit" and contract.unit is None) or (rule == "one_word" and len(contract.gold.split()) != 1):
        return Grade("unparsable_gold", None, None)
    kept = keeps_format(rule, contract.unit, response)
    return Grade("correct" if kept else "incorrect", 1.0 if kept else 0.0, None)
