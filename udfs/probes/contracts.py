"""Can the answer be graded? A contract derived from the answer, tried on its gold, on rewritings and on near misses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from schemas.contract import AnswerContract, AnswerType
from udfs.admission.near_misses import near_misses
from udfs.admission.self_test import rewritings
from udfs.grading import grade
from udfs.grading.dates import parse_date
from udfs.grading.numbers import parse_quantity
from udfs.grading.texts import is_code_like
from udfs.probes.number_lexicon import WORDS
from udfs.probes.number_words import numbers
from udfs.verifiers.graded import storable

#: Names of answer types that files use, and ours.
_TYPES: dict[str, AnswerType] = {
    "number": "number", "numeric": "number", "integer": "number", "int": "number", "float": "number", "quantity": "number", "date": "date", "year": "date",
    "text": "text", "string": "text", "span": "text", "phrase": "text", "entity": "text", "name": "text", "person": "text", "place": "text", "other": "text",
}  # fmt: skip
#: Near misses tried of each answer: the most telling ones come first.
MAX_NEAR_MISSES = 2
#: Longer answers are for reading, not for a contract.
MAX_ANSWER = 400

#: sound; ``unreadable``: the answer is not of the type that the item names; ``unread``: our grader does not read it in this language or
#: this spelling; ``accepts_near_miss``: it takes a wrong answer for right.
Outcome = Literal["sound", "unreadable", "unread", "accepts_near_miss"]


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of it.

    Attributes:
        type: of the contract.
        outcome: see ``Outcome``.
        text: the right answer that is refused, or the wrong one that is accepted.
        tried: right and wrong answers tried.
    """

    type: AnswerType
    outcome: Outcome
    text: str | None = None
    tried: int = 0


def infer_type(answer: str) -> AnswerType:
    """Type of an answer that names none: number where digits say nothing else, with a unit perhaps; date where it names a month or a whole day; else text."""
    if len(answer) > 64 or not any(c.isdigit() for c in answer):
        return "text"
    quantity = parse_quantity(answer)
    iso = parse_date(answer)
    if iso is not None and (len(iso.lstrip("-")) > 4 or quantity is None):
        return "date"
    return (
        "number" if quantity is not None and len(quantity.unit.split()) <= 1 and answer.lstrip("$\u20ac\u00a3 ")[:1].isdigit() else "text"
    )


def known_type(name: str | None) -> AnswerType | None:
    """The type that a file's name stands for; None for none and for those that are not ours."""
    return _TYPES.get(name.strip().casefold()) if name else None


def trial(answer: str, named: str | None, language: str | None) -> Trial:
    """Derive a contract and try it.

    Args:
        answer: the gold.
        named: its type as the item names it.
        language: of the item; decides whose fault a refusal is.
    """
    answer = storable(answer)
    wanted = known_type(named)
    kind = wanted or infer_type(answer)
    if kind != "text" and not _readable(kind, answer):
        if not _may_be(kind, answer, language):
            return Trial(kind, "unreadable", answer[:200])
        after = _try("text", answer)
        return after if after.outcome != "sound" else Trial("text", "unread", answer[:200], after.tried)
    return _try(kind, answer)


def _readable(kind: AnswerType, answer: str) -> bool:
    return (parse_quantity(answer) if kind == "number" else parse_date(answer)) is not None


def _may_be(kind: AnswerType, answer: str, language: str | None) -> bool:
    """Whether an answer that the grader does not read may be of this type: a date that is named (Easter), a number by its digits or words."""
    return kind != "number" or any(c.isdigit() for c in answer) or language not in WORDS or bool(numbers(answer, language).stated)


@lru_cache(maxsize=8192)
def _try(kind: AnswerType, answer: str) -> Trial:
    if len(answer) > MAX_ANSWER:
        return Trial(kind, "unread", answer[:200])
    contract = AnswerContract(type=kind, gold=answer)
    # white space and small letters are folded as capitals are: one of a kind is enough of a word
    right = [
        text
        for text in rewritings(contract)
        if kind != "text" or (_is_respelling(text, answer) and text not in (f"  {answer} ", answer.lower()))
    ]
    for text in right:
        if grade(contract, text).verdict != "correct":
            return Trial(kind, "unread", text[:200], len(right))
    wrong = near_misses(contract, seed=answer, limit=MAX_NEAR_MISSES)
    for text in wrong:
        if grade(contract, text).reward == 1.0:
            return Trial(kind, "accepts_near_miss", text[:200], len(right) + len(wrong))
    return Trial(kind, "sound", None, len(right) + len(wrong))


def _is_respelling(text: str, answer: str) -> bool:
    """Whether only case, in this script's own folding, and signs around it differ: I in capitals is no Turkish dotless i."""
    return is_code_like(answer) or answer.casefold() in text.casefold()
