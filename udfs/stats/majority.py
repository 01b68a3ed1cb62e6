"""The commonest answer of a group, and whether it is the gold's."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Majority:
    """The commonest answer.

    Attributes:
        answer: its commonest normalised spelling, ties by text; None where no sample gave an answer.
        count: samples that gave it.
        is_gold: the grader calls it correct; None where there is no answer.
    """

    answer: str | None
    count: int
    is_gold: bool | None


def normal_answer(text: str) -> str:
    """One spelling for answers that differ in case, width, composition or white space alone: NFKC, case-folded, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).split())


def majority_answer(answers: Iterable[tuple[str | None, bool]]) -> Majority:
    """Vote over one group's valid samples.

    All samples that the grader calls correct are one answer, however they are spelt (3, 3.0, "three"); wrong answers are
    told apart by their normalised text. A tie is won by the gold's answer, which doubts nothing, then by text.

    Args:
        answers: (what the grader took for the answer, the grader's word that it is right), one per valid sample.
    """
    spellings: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for text, correct in answers:
        normal = normal_answer(text) if text is not None else ""
        if correct:
            spellings[normal] += 1
        elif normal:
            wrong[normal] += 1
    right = spellings.total()
    best_wrong = min(wrong.items(), key=lambda item: (-item[1], item[0]), default=("", 0))
    if right == 0 and best_wrong[1] == 0:
        return Majority(None, 0, None)
    if right >= best_wrong[1]:
        spelling = min(spellings.items(), key=lambda item: (-item[1], item[0]))[0]
        return Majority(spelling or None, right, is_gold=True)
    return Majority(best_wrong[0], best_wrong[1], is_gold=False)
