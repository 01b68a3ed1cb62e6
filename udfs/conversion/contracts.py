"""The answer contract of a generated answer, or why it can have none."""

from __future__ import annotations

from fractions import Fraction

from schemas.contract import AnswerContract
from udfs.conversion.readings import Generated
from udfs.extract.candidate import one_line
from udfs.grading import grade
from udfs.grading.dates import parse_date
from udfs.grading.maths import SEPARATOR, own_verdict
from udfs.grading.numbers import parse_quantity
from udfs.grading.texts import normalise_text
from udfs.grading.units import is_known_unit, relate

#: Longest answer in words (white space between) and in code points: what is longer is no short answer.
MAX_WORDS = 12
MAX_CHARS = 160
#: Fewest and most items of a list.
MIN_ITEMS, MAX_ITEMS = 2, 12
#: Answers that say yes or no: half of all guesses are right.
_YES_NO = frozenset(
    [
        "yes",
        "no",
        "true",
        "false",
        "maybe",
        "correct",
        "incorrect",
        "oui",
        "non",
        "vrai",
        "faux",
        "ja",
        "nein",
        "wahr",
        "falsch",
        "sí",
        "si",
        "verdadero",
        "falso",
        "sim",
        "não",
        "nao",
        "sì",
        "vero",
        "falso",
        "да",
        "нет",
        "是",
        "否",
        "不是",
        "对",
        "错",
        "はい",
        "いいえ",
        "예",
        "아니요",
        "نعم",
        "لا",
        "हाँ",
        "नहीं",
        "ναι",
        "όχι",
        "evet",
        "hayır",
        "có",
        "không",
        "ใช่",
        "ไม่ใช่",
        "nee",
        "da",
        "nu",
        "tak",
        "nie",
        "ano",
        "ne",
        "igen",
        "nem",
    ]
)


class ContractRefusedError(ValueError):
    """An answer that gets no contract; ``reason`` is a code."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def contract_of(made: Generated, *, tolerance: Fraction = Fraction(0)) -> AnswerContract:
    """What counts as right.

    - number: exact, or within ``tolerance`` where the last digit of a computed value is rounded; with its unit where that is a unit of
      measure (a noun that is counted may be left out or replaced, so it is no part of the contract).
    - date: as precise as the answer is.
    - list: items in their order, or in any.
    - expression: mathematics, compared as such.
    - text: with its aliases. Those of numbers, dates and lists are left out: their graders know other spellings, and a list of them is none.

    Args:
        made: question and answer of the generator.
        tolerance: absolute.

    Raises:
        ContractRefusedError: ``yes_no_answer``, ``answer_too_long``, ``no_number``, ``unit_contradicts``, ``no_date``, ``no_list``,
            ``no_expression`` (our own reader of mathematics does not know its notation), or ``contract_rejects_answer``: the contract's own grader does not take the answer.
    """
    answer = made.answer
    if len(answer) > MAX_CHARS or (made.answer_type not in _LISTS and answer.count(" ") >= MAX_WORDS and len(answer.split()) > MAX_WORDS):
        raise ContractRefusedError("answer_too_long")
    if normalise_text(answer) in _YES_NO:
        raise ContractRefusedError("yes_no_answer")
    contract = _MAKERS[made.answer_type](made, float(tolerance))
    if grade(contract, answer).verdict != "correct":
        raise ContractRefusedError("contract_rejects_answer")
    return contract


def fallback_contract(made: Generated) -> AnswerContract:
    """The contract in the row of a candidate that was rejected before it had one: its answer as a text."""
    return AnswerContract(type="text", gold=made.answer)


def _number(made: Generated, tolerance: float) -> AnswerContract:
    quantity = parse_quantity(made.answer)
    if quantity is None:
        raise ContractRefusedError("no_number")
    unit = one_line(made.unit or "") or quantity.unit
    if quantity.unit and unit and relate(quantity.unit, unit) == "contradicts" and is_known_unit(quantity.unit) and is_known_unit(unit):
        raise ContractRefusedError("unit_contradicts")
    return AnswerContract(
        type="number", gold=_numeral(quantity.value, made.answer), unit=unit if unit and is_known_unit(unit) else None, tolerance=tolerance
    )


def _numeral(value: Fraction, written: str) -> str:
    """The value in plain digits; as written where no short decimal is exact."""
    if value.denominator == 1 and abs(value) < 10**40:
        return str(value.numerator)
    places = next((n for n in range(1, 31) if (value * 10**n).denominator == 1), None)
    if places is None or abs(value) >= 10**40:
        return written
    digits = f"{abs(value.numerator) * 10**places // value.denominator:0{places + 1}d}"
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def _date(made: Generated, tolerance: float) -> AnswerContract:
    del tolerance
    if parse_date(made.answer) is None:
        raise ContractRefusedError("no_date")
    return AnswerContract(type="date", gold=one_line(made.answer))


def items_of(answer: str) -> list[str]:
    """The items of a list as an answer writes it, without ``and`` before the last."""
    return [item for item in SEPARATOR.split(answer.strip()) if item]


def _list(made: Generated, tolerance: float) -> AnswerContract:
    del tolerance
    if not MIN_ITEMS <= len(items_of(made.answer)) <= MAX_ITEMS:
        raise ContractRefusedError("no_list")
    contract = AnswerContract(type="list", gold=one_line(made.answer), ordered=made.answer_type == "list")
    return _read_alone(contract, "no_list")


def _expression(made: Generated, tolerance: float) -> AnswerContract:
    del tolerance
    return _read_alone(AnswerContract(type="expression", gold=made.answer, aliases=made.aliases), "no_expression")


def _read_alone(contract: AnswerContract, reason: str) -> AnswerContract:
    """A contract in mathematics that our own reader decides.

    What only math-verify could read is asked of another process, with a time limit: a conversion would wait for it, and might end differently the
    next time.
    """
    if not all(own_verdict(contract, text) for text in (contract.gold, *contract.aliases)):
        raise ContractRefusedError(reason)
    return contract


def _text(made: Generated, tolerance: float) -> AnswerContract:
    del tolerance
    return AnswerContract(type="text", gold=one_line(made.answer), aliases=made.aliases)


_LISTS = ("list", "unordered_list")
_MAKERS = {"number": _number, "date": _date, "list": _list, "unordered_list": _list, "expression": _expression, "text": _text}
