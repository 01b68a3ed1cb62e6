"""A generated problem and a family of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from schemas.contract import AnswerContract
from udfs.sources.generators.draw import Draw

LEVELS = range(1, 6)


@dataclass(frozen=True, slots=True)
class Problem:
    """A question with its answer.

    Attributes:
        question: self-contained.
        answer: as a solver would write it, with its unit.
        contract: what grades it.
    """

    question: str
    answer: str
    contract: AnswerContract


@dataclass(frozen=True, slots=True)
class Family:
    """Problems of one kind.

    Attributes:
        name: as the command calls it; kind of the tasks.
        version: raised by whatever changes a problem.
        domain: topic.
        make: the problem of a stream of draws at a level from 1 (easy) to 5.
    """

    name: str
    version: int
    domain: str
    make: Callable[[Draw, int], Problem]


def number(question: str, value: int, unit: str | None = None) -> Problem:
    """A problem whose answer is a whole number, with a unit where it has one."""
    answer = str(value) if unit is None else f"${value}" if unit == "$" else f"{value} {unit}"
    return Problem(question, answer, AnswerContract(type="number", gold=str(value), unit=unit))
