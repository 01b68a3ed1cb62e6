"""Evidence, decided by code alone: quotes found again in the passage, and the answer within them or computed from their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from schemas.contract import AnswerContract
from udfs.conversion.arithmetic import ArithmeticRefusedError, Computed, evaluate, quoted_numbers, spelled_numbers
from udfs.conversion.contracts import contract_of, items_of
from udfs.conversion.passage import Passage, Span, stands_alone
from udfs.conversion.readings import Generated
from udfs.extract.spans import dates, years
from udfs.grading import grade
from udfs.grading.dates import parse_date
from udfs.grading.numbers import MAGNITUDE, parse_quantity
from udfs.grading.texts import is_code_like
from udfs.prompts.passages import MAX_EVIDENCE

_LONGEST_MAGNITUDE = max(map(len, MAGNITUDE)) + 1


class EvidenceRefusedError(ValueError):
    """Evidence that proves nothing; ``reason`` is a code."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Proof(NamedTuple):
    """Where the answer is proved, in code points of the passage.

    Attributes:
        evidence: from the first quote to the end of the last.
        answer: the answer's place within it; all of it where the answer is computed.
        contract: what counts as right.
        computed: whether the answer is worked out rather than quoted.
    """

    evidence: Span
    answer: Span
    contract: AnswerContract
    computed: bool


def prove(made: Generated, passage: Passage) -> Proof:
    """Evidence, place and contract of a generated answer.

    Args:
        made: question, answer and quotes.
        passage: what they were made from.

    Raises:
        EvidenceRefusedError: ``no_evidence``, ``quote_not_found``, ``evidence_too_long``, ``answer_not_in_evidence``; of a computed answer
            ``computation_of_no_number``, ``computation_unreadable``, ``computation_not_quoted``, ``computation_undefined``,
            ``computation_too_large``, ``computation_differs``.
        ContractRefusedError: the answer can have no contract.
    """
    quotes = _places(made, passage)
    evidence = min(start for start, _ in quotes), max(end for _, end in quotes)
    if evidence[1] - evidence[0] > MAX_EVIDENCE:
        raise EvidenceRefusedError("evidence_too_long")
    if made.computation is not None:
        computed = _compute(made.computation, quotes, passage)
        # A number that is only looked up is no computation: it has a place of its own.
        if computed.operations:
            return Proof(evidence, evidence, _computed_contract(made, computed.value), computed=True)
    contract = contract_of(made)
    for start, end in quotes:
        for span in _answers(made, contract, passage, start, end):
            return Proof(evidence, span, contract, computed=False)
    raise EvidenceRefusedError("answer_not_in_evidence")


def _places(made: Generated, passage: Passage) -> list[Span]:
    if not made.evidence:
        raise EvidenceRefusedError("no_evidence")
    found = []
    for quote in made.evidence:
        span = passage.find_quote(quote)
        if span is None:
            raise EvidenceRefusedError("quote_not_found")
        found.append(span)
    return found


def _compute(expression: str, quotes: list[Span], passage: Passage) -> Computed:
    digits = [number.value for start, end in quotes for number in quoted_numbers(passage.text, start, end)]
    try:
        return evaluate(expression, digits, lambda: [n.value for start, end in quotes for n in spelled_numbers(passage.text, start, end)])
    except ArithmeticRefusedError as error:
        raise EvidenceRefusedError(f"computation_{error.reason}") from None


def _computed_contract(made: Generated, value: Fraction) -> AnswerContract:
    """The contract of a computed number, which must accept the value; where that has no short decimal, the answer may be it, rounded."""
    quantity = parse_quantity(made.answer) if made.answer_type == "number" else None
    if quantity is None:
        raise EvidenceRefusedError("computation_of_no_number")
    tolerance = Fraction(0)
    if not _is_decimal(value):
        _, _, decimals = str(made.answer).strip().partition(".")
        places = len(decimals) - len(decimals.lstrip("0123456789"))
        tolerance = Fraction(1, 2 * 10**places) if places else tolerance
    contract = contract_of(made, tolerance=tolerance)
    bound = Fraction(str(contract.tolerance))
    if abs(quantity.value - value) > bound and grade(contract, f"{value.numerator}/{value.denominator}").verdict != "correct":
        raise EvidenceRefusedError("computation_differs")
    return contract


def _is_decimal(value: Fraction) -> bool:
    """Whether a decimal of at most thirty digits behind the point is exact."""
    return 10**30 % value.denominator == 0


def _answers(made: Generated, contract: AnswerContract, passage: Passage, start: int, end: int) -> Iterator[Span]:
    """Places of the answer within one quote, best first, each of which admission would recognise as the answer."""
    text = passage.text
    for span in _candidates(made, contract, passage, start, end):
        said = text[span[0] : span[1]]
        if said == made.answer or grade(contract, said).verdict == "correct":
            yield span


def _candidates(made: Generated, contract: AnswerContract, passage: Passage, start: int, end: int) -> Iterator[Span]:
    text, kind = passage.text, contract.type
    any_case = kind == "text" and not is_code_like(contract.gold)
    for span in passage.find_within(made.answer.strip("$") if kind == "expression" else made.answer, start, end, any_case=any_case):
        if stands_alone(text, *span) and not (kind == "number" and _goes_on(text, span[1])):
            yield span
    if kind == "number":
        quantity = parse_quantity(made.answer)
        for number in (*quoted_numbers(text, start, end), *spelled_numbers(text, start, end)):
            if quantity is not None and number.value == quantity.value:
                yield number.start, number.end
    elif kind == "date":
        wanted = parse_date(contract.gold)
        for found in (*dates(text, start, end), *years(text, start, end)):
            if parse_date(found.gold) == wanted:
                yield found.start, found.end
    elif kind == "list":
        yield from _hull(made.answer, passage, start, end)


def _goes_on(text: str, end: int) -> bool:
    """Whether a magnitude follows a number: 1.5 is not what ``1.5 million`` says."""
    words = text[end : end + _LONGEST_MAGNITUDE].split(None, 1)
    return bool(words) and text[end : end + 1] in (" ", "\u00a0") and words[0].strip(".,;)").casefold() in MAGNITUDE


def _hull(answer: str, passage: Passage, start: int, end: int) -> Iterator[Span]:
    """From the first item of a list to the last, where all of them stand in one quote."""
    places: list[Span] = []
    for item in items_of(answer):
        span = next((s for s in passage.find_within(item, start, end, any_case=True) if stands_alone(passage.text, *s)), None)
        if span is None:
            return
        places.append(span)
    yield min(s for s, _ in places), max(e for _, e in places)
