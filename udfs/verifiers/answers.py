"""Answers under a contract: the verifiers that compare with a gold."""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

from schemas.contract import AnswerContract, AnswerType
from udfs.grading import VERSION, Grade, grade
from udfs.grading.choices import same_option
from udfs.grading.extraction import extract_answer
from udfs.grading.numbers import parse_quantity
from udfs.verifiers.graded import UNKNOWN, Graded, storable
from udfs.verifiers.rows import Row, RowError

_PLAIN = re.compile(r"[-+\u2212]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+|\s?/\s?\d+)?\.?\Z")
#: A comma or a semicolon outside brackets: an item that would be read as two.
_SEVERAL = re.compile(r"\A[^()\[\]{}]*[,;]")


def _contract(kind: AnswerType, gold: str, **latitude: Any) -> AnswerContract:
    """The contract of a row.

    Raises:
        RowError: the gold is missing, or the fields do not make a contract.
    """
    if not gold:
        raise RowError("missing_gold")
    try:
        return AnswerContract(type=kind, gold=gold, **latitude)
    except ValidationError as error:
        raise RowError(*{f"wrong_{'_'.join(map(str, part['loc'][:1])) or 'contract'}" for part in error.errors()}) from error


def _graded(contract: AnswerContract, answer: str) -> Graded:
    given: Grade = grade(contract, answer)
    reward = None if given.verdict in UNKNOWN else given.reward
    extracted = None if given.extracted is None else storable(given.extracted)
    return Graded(given.verdict, reward, extracted, f"{contract.type}@{VERSION}", tuple(sorted(given.flags)))


def number(row: Row) -> Graded:
    """Exact as a decimal or fraction, or within the tolerance; a unit may be left out, never contradicted."""
    return _graded(_contract("number", row.one_gold(), unit=row.unit, tolerance=row.tolerance), row.answer)


def maths(row: Row) -> Graded:
    """Plain numbers as ``number``; all else as an expression: exactly where that is decidable, else by math-verify in both directions."""
    gold = row.one_gold()
    if not row.aliases and _is_plain(gold) and _is_plain(extract_answer(row.answer, gold_length=len(gold)).text):
        return number(row)
    return _mathematics("expression", row, gold)


def _is_plain(text: str | None) -> bool:
    """Digits with at most a sign, thousands separators, a decimal point, an exponent or a denominator: everybody reads them alike."""
    return text is not None and bool(_PLAIN.match(text.strip(" $"))) and parse_quantity(text) is not None


def _mathematics(kind: AnswerType, row: Row, gold: str) -> Graded:
    return _graded(_contract(kind, gold, unit=row.unit, tolerance=row.tolerance, aliases=row.aliases), row.answer)


def collection(row: Row) -> Graded:
    """The same items, in any order and however often."""
    gold = _joined(row.gold, r"\emptyset")
    return _mathematics("set", row, gold)


def sequence(row: Row) -> Graded:
    """The same items in the same order."""
    return _mathematics("list", row, _joined(row.gold, ""))


def interval(row: Row) -> Graded:
    """The same numbers: intervals, their unions, or inequalities."""
    return _mathematics("interval", row, row.one_gold())


def _joined(gold: str | list[str] | None, empty: str) -> str:
    """A gold that may be given as a list of its items.

    Raises:
        RowError: it is missing, or an item cannot be told from several.
    """
    if gold is None:
        raise RowError("missing_gold")
    if isinstance(gold, str):
        return gold
    if any(_SEVERAL.search(item) for item in gold):
        raise RowError("gold_item_with_comma")
    return ", ".join(gold) if gold else empty


def text(row: Row) -> Graded:
    """Equal as words, or as code where the gold is code."""
    return _graded(_contract("text", row.one_gold(), aliases=row.aliases), row.answer)


def date(row: Row) -> Graded:
    """The same day, month or year, however it is written."""
    return _graded(_contract("date", row.one_gold()), row.answer)


def choice(row: Row) -> Graded:
    """The same option by letter, by text or by both; the gold may be given as a letter or as the text of an option."""
    gold = row.one_gold()
    if len(gold.strip()) == 1:
        gold = gold.strip().upper()
    else:
        named = [chr(65 + at) for at, option in enumerate(row.options[:26]) if same_option(option, gold)]
        gold = named[0] if len(named) == 1 else gold
    return _graded(_contract("choice", gold, options=row.options), row.answer)
