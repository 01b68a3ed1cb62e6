"""Items of a benchmark set, whatever file they came from, and the fingerprint of a set's content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.ids import content_id

#: Hex digits of a fingerprint in the name of a version.
VERSION_DIGITS = 12


@dataclass(frozen=True)
class Item:
    """One item of a set.

    Attributes:
        item_id: its own id in the set, or its position where it has none; unique within the set.
        question: what is asked, as the set gives it.
        answer: final answer; empty where the set has none in words (code).
        solution: worked solution or reference code; empty where there is none.
        choices: options of a multiple choice, in order.
        tests: tests of a coding task.
    """

    item_id: str
    question: str
    answer: str = ""
    solution: str = ""
    choices: tuple[str, ...] = ()
    tests: str = ""


def fingerprint(items: Sequence[Item]) -> str:
    """Hash of a set's content: equal for equal items in any order, whatever the file, its name or its format."""
    held = sorted([i.item_id, i.question, i.answer, i.solution, list(i.choices), i.tests] for i in items)
    return content_id("benchmark", held)


def version_of(name: str, items: Sequence[Item]) -> str:
    """``name@fingerprint``: how a version of a set is called everywhere."""
    return f"{name}@{fingerprint(items)[:VERSION_DIGITS]}"
