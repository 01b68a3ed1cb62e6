"""Do questions about one document answer each other? A policy that meets both in training learns one from the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from udfs.grading.texts import is_code_like, normalise_code, normalise_text
from udfs.prompts.leaks import contains

#: Shorter answers (a digit, a letter) stand in questions by chance, and so do these.
MIN_LENGTH = 3
_COMMON = frozenset({"none", "true", "false", "null", "nan", "yes"})


@dataclass(frozen=True, slots=True)
class Sibling:
    """A question of a group.

    Attributes:
        ident: qa_id of a candidate, task_id of a task.
        question: what is asked.
        answer: its gold.
        answer_key: equal for equal answers.
        order: what decides who stays where two cannot both: smaller ones do; empty for what is in the pool already.
        strict: whether it may be turned away.
    """

    ident: str
    question: str
    answer: str
    answer_key: str
    order: str
    strict: bool = True


@dataclass(frozen=True, slots=True)
class Answered:
    """A candidate whose answer others state, or that states the answers of others.

    Attributes:
        ident: its id.
        by: the smallest id of a question that states its answer; None where none does.
        count: how many do.
        answers: the smallest id of those whose answer it states; None where it states none.
        refused: whether it goes where sibling leakage rejects.
    """

    ident: str
    by: str | None
    count: int
    answers: str | None
    refused: bool


def states(question: str, answer: str) -> bool:
    """Whether a question holds another's whole answer, as words or as code; short and common answers never count.

    Args:
        question: the sibling's question.
        answer: the gold.
    """
    bare = normalise_code(answer) if is_code_like(answer) else normalise_text(answer)
    return len(bare) >= MIN_LENGTH and bare.casefold() not in _COMMON and contains(question, answer)


def answered(group: Sequence[Sibling]) -> list[Answered]:
    """Which questions of a group answer each other, in order of their ids.

    Two questions with one answer do not: each may be right to name what the other asks for. Who goes is settled one by one in order: a
    question goes if one that stays states its answer, or has its answer stated by it.

    Args:
        group: candidates and tasks of one near-duplicate cluster.
    """
    by: dict[str, set[str]] = {item.ident: set() for item in group}
    answers: dict[str, set[str]] = {item.ident: set() for item in group}
    for item in group:
        for other in group:
            if other.answer_key != item.answer_key and states(other.question, item.answer):
                by[item.ident].add(other.ident)
                answers[other.ident].add(item.ident)
    stay: set[str] = set()
    for item in sorted(group, key=lambda one: (one.order, one.ident)):
        if not item.order or not item.strict or stay.isdisjoint(by[item.ident] | answers[item.ident]):
            stay.add(item.ident)
    bound = sorted(item.ident for item in group if item.order and by[item.ident] | answers[item.ident])
    return [
        Answered(ident, min(by[ident], default=None), len(by[ident]), min(answers[ident], default=None), ident not in stay)
        for ident in bound
    ]
