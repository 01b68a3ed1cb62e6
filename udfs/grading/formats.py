"""Constraints on the form of a response, apart from whether it is right."""

from __future__ import annotations

import re

from schemas.contract import FormatRule
from udfs.grading.extraction import MAX_ANSWER, extract_answer, parse_object, scalar
from udfs.grading.numbers import parse_quantity
from udfs.grading.units import canonical_unit

_WORD = re.compile(r"\A[^\s]{1,200}\Z")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


def is_json_answer(response: str) -> bool:
    """Whether the whole response is one JSON object with exactly the key ``answer`` and a scalar under it."""
    pairs = parse_object(response.strip())
    return pairs is not None and len(pairs) == 1 and pairs[0][0] == "answer" and scalar(pairs[0][1]) is not None


def is_one_word(response: str) -> bool:
    """Whether the whole response is one word: no white space inside, at least one letter or digit."""
    word = response.strip()
    return bool(_WORD.match(word)) and bool(_LETTER_OR_DIGIT.search(word))


def has_unit(response: str, unit: str) -> bool:
    """Whether the answer is a number followed by the named unit and nothing more.

    Args:
        response: the whole response; its answer is looked for as in grading.
        unit: unit of the contract; any of its spellings will do.
    """
    answer = extract_answer(response).text
    if answer is None or len(answer) > MAX_ANSWER:
        return False
    quantity = parse_quantity(answer)
    starts_with_number = answer.lstrip(" *_`\"'(+-\u2212.")[:1].isdigit()
    return quantity is not None and starts_with_number and bool(quantity.unit) and canonical_unit(quantity.unit) == canonical_unit(unit)


def keeps_format(rule: FormatRule, unit: str | None, response: str) -> bool:
    """Whether a response keeps a format rule.

    Args:
        rule: json, one_word or unit.
        unit: unit of the contract; needed by the rule ``unit``.
        response: the whole response.
    """
    if rule == "json":
        return is_json_answer(response)
    if rule == "one_word":
        return is_one_word(response)
    return unit is not None and has_unit(response, unit)
