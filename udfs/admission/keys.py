"""What makes two questions, and two answers, the same."""

from __future__ import annotations

import re

from schemas.contract import AnswerContract
from udfs.grading.dates import parse_date
from udfs.grading.numbers import parse_gold
from udfs.grading.texts import is_code_like, normalise_code, normalise_text
from udfs.grading.units import canonical_unit
from udfs.text.normalise import normalise, squeeze

_CODE = re.compile(r"(`[^`\n]{1,300}`)")


def question_key(question: str) -> str:
    """A question as compared: normalised words, one space, no final punctuation; code between backticks keeps its case.

    Args:
        question: self-contained question.
    """
    pieces = _CODE.split(question)
    text = "".join(piece if i % 2 else normalise(piece) for i, piece in enumerate(pieces))
    return squeeze(text).rstrip("?!.: ")


def answer_key(contract: AnswerContract) -> str:
    """A gold answer as compared: exact value and unit, ISO date, code as code, words as words.

    Args:
        contract: the contract; a gold that it cannot read is its own key.
    """
    if contract.type == "number":
        quantity = parse_gold(contract.gold, contract.unit)
        if quantity is not None:
            return f"number:{quantity.value}:{canonical_unit(quantity.unit) if quantity.unit else ''}"
    if contract.type == "date":
        iso = parse_date(contract.gold)
        if iso is not None:
            return f"date:{iso}"
    gold = contract.gold
    if contract.type == "choice" and len(gold) == 1 and 0 <= ord(gold) - 65 < len(contract.options):
        gold = contract.options[ord(gold) - 65]
    return "text:" + (normalise_code(gold) if is_code_like(gold) else normalise_text(gold))
