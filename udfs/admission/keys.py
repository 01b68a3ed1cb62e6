"""What makes two questions, and two answers, the same."""

from __future__ import annotations

import re

from schemas.code import CodeContract
from schemas.contract import AnswerContract
from udfs.grading.dates import parse_date
from udfs.grading.numbers import parse_gold
from udfs.grading.texts import is_code_like, normalise_code, normalise_text
from udfs.grading.units import canonical_unit
from udfs.text.normalise import normalise, squeeze

_CODE = re.compile(r"(`[^`\n]{1,300}`)")


def question_key(question: str, contract: AnswerContract | CodeContract | None = None) -> str:
    """A question as compared: normalised words, one space, no final punctuation; code between backticks keeps its case.

    Args:
        question: self-contained question.
        contract: its contract: the options of a choice are part of what is asked ("Which of these is true?"), in any order.
    """
    pieces = _CODE.split(question)
    text = "".join(piece if i % 2 else normalise(piece) for i, piece in enumerate(pieces))
    key = squeeze(text).rstrip("?!.: ")
    options = contract.options if isinstance(contract, AnswerContract) else ()
    return "\n".join((key, *sorted(squeeze(normalise(option)) for option in options)))


def wording_key(question: str, subject: str) -> str:
    """A question as compared, without what it is about: the same for all questions that one sentence asks of different things.

    Args:
        question: self-contained question.
        subject: what it is about.

    Returns:
        Empty where the question does not name its subject.
    """
    subject = subject.strip()
    return question_key(question.replace(subject, " ")) if subject and subject in question else ""


def answer_key(contract: AnswerContract | CodeContract) -> str:
    """A gold answer as compared: exact value and unit, ISO date, code as code, words as words; of a program, its name.

    Other tests of one question ask for no other answer.

    Args:
        contract: the contract; a gold that it cannot read is its own key.
    """
    if isinstance(contract, CodeContract):
        return f"code:{contract.tests.entry_point or ''}"
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
