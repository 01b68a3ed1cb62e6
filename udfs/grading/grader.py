"""The verdict on one answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from schemas.contract import AnswerContract, Verdict
from udfs.grading.choices import choose, well_formed
from udfs.grading.dates import parse_date
from udfs.grading.extraction import Extraction, extract_answer
from udfs.grading.formats import keeps_format
from udfs.grading.numbers import compare, parse_gold
from udfs.grading.texts import is_code_like, matches

#: Name and version of this verifier, as recorded beside every verdict. A change that can alter a verdict raises the version.
VERIFIER = "contract"
VERSION = "1"


@dataclass(frozen=True, slots=True)
class Grade:
    """A verdict with its reward and reasons.

    Attributes:
        verdict: correct, incorrect, unparsable_pred (the candidate's fault, 0) or unparsable_gold (ours, null).
        reward: 1.0, 0.0, or None where the fault is ours.
        extracted: what was taken for the answer.
        flags: multiple_answers, answer_not_last, overlong, unit_mismatch, multiple_options, contradictory.
    """

    verdict: Verdict
    reward: float | None
    extracted: str | None
    flags: tuple[str, ...] = ()


_REWARD: dict[str, float | None] = {"correct": 1.0, "incorrect": 0.0, "unparsable_pred": 0.0, "unparsable_gold": None}


def _grade(verdict: Verdict, found: Extraction | None, *flags: str) -> Grade:
    seen = found.flags if found else ()
    return Grade(verdict, _REWARD[verdict], found.text if found else None, (*seen, *(f for f in flags if f not in seen)))


@lru_cache(maxsize=8192)
def gold_is_sound(contract: AnswerContract) -> bool:
    """Whether the gold can be read under its own contract; where it cannot, every grade is ``unparsable_gold``.

    Args:
        contract: the contract; whether it *accepts* its gold is for ``udfs.admission`` to try.
    """
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
    """Grade a response, or a bare answer, under a contract. Linear in the response; nothing of it is evaluated.

    Law 6: what the candidate did costs 0 (``incorrect``, ``unparsable_pred``); a gold that its own contract cannot read gives null.

    Args:
        contract: type, gold and latitude.
        response: the candidate's whole response, or just its answer.
    """
    if not gold_is_sound(contract):
        return _grade("unparsable_gold", None)
    found = extract_answer(response, short_marks=contract.type != "choice", gold_length=len(contract.gold))
    answer = found.text
    if answer is None:
        return _grade("unparsable_pred", found)
    if contract.type == "number":
        return _number(contract, found, answer)
    if contract.type == "date":
        return _date(contract, found, answer)
    if contract.type == "choice":
        return _choice(contract, found, answer)
    code = is_code_like(contract.gold)
    correct = matches(contract.gold, answer, code=code) or any(matches(alias, answer, code=code) for alias in contract.aliases)
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
