"""What a judge is asked about one prompt's responses: decided by ids alone, so that it depends on no order and no core (law 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.conf_rounds import JudgementKind
from schemas.ids import content_id, seed_from, uniform_from
from udfs.judging.prompts import template_of


@dataclass(frozen=True, slots=True)
class Answer:
    """A response that can be judged.

    Attributes:
        trajectory_id: whose.
        question: what was asked of it.
        reference: the gold answer; None where there is none.
        response: what is judged.
    """

    trajectory_id: str
    question: str
    reference: str | None
    response: str


@dataclass(frozen=True, slots=True)
class Asking:
    """Settings of a run of judgements.

    Attributes:
        round: of what is judged.
        kind: pairwise or pointwise.
        judge: names the model and its weights.
        seed: of the run; every item's own follows from it.
        share: of prompts that are asked about.
        per_prompt: responses of a prompt, at most.
        pairs_per_prompt: pairs of a prompt, at most.
        draws: judgements of the same thing.
        show_reference: the judge sees the gold answer.
    """

    round: int
    kind: JudgementKind
    judge: str
    seed: int
    share: float
    per_prompt: int
    pairs_per_prompt: int
    draws: int
    show_reference: bool


def items_of(asking: Asking, group_id: str, answers: Sequence[Answer]) -> Iterator[dict[str, Any]]:
    """Rows of ``schemas.handoff.JUDGE_SHARD`` about one group of responses to a prompt; none where the group is not among the share.

    A pair is asked about in both orders: the swapped twin is an item of its own.
    """
    if uniform_from("judged", asking.seed, group_id) >= asking.share:
        return
    chosen = sorted(answers, key=lambda answer: (uniform_from("judged", asking.seed, answer.trajectory_id), answer.trajectory_id))
    chosen = chosen[: asking.per_prompt]
    if asking.kind == "pointwise":
        for answer in chosen:
            yield from _draws(asking, answer, None, swapped=False)
        return
    for first, second in ring(len(chosen), asking.pairs_per_prompt):
        a, b = sorted((chosen[first], chosen[second]), key=lambda answer: answer.trajectory_id)
        for swapped in (False, True):
            yield from _draws(asking, a, b, swapped=swapped)


def ring(count: int, most: int) -> list[tuple[int, int]]:
    """Pairs of places 0 .. count - 1, at most ``most``: neighbours on a ring first, then those two apart, and so on.

    No place is in more than two pairs more than another.
    """
    pairs: dict[tuple[int, int], None] = {}
    for apart in range(1, count // 2 + 1):
        for place in range(count):
            other = (place + apart) % count
            pairs.setdefault((min(place, other), max(place, other)))
    return list(pairs)[:most]


def _draws(asking: Asking, a: Answer, b: Answer | None, *, swapped: bool) -> Iterator[dict[str, Any]]:
    for draw in range(asking.draws):
        other = None if b is None else b.trajectory_id
        # As the column says: two runs with other shares or caps ask about the same thing under the same id.
        judgement_id = content_id(asking.kind, a.trajectory_id, other, swapped, template_of(asking.kind).label, asking.judge, draw)
        yield {
            "judgement_id": judgement_id,
            "round": asking.round,
            "kind": asking.kind,
            "trajectory_a": a.trajectory_id,
            "trajectory_b": other,
            "swapped": swapped,
            "question": a.question,
            "reference": a.reference if asking.show_reference else None,
            "response_a": a.response,
            "response_b": None if b is None else b.response,
            "draw": draw,
            "seed": seed_from(asking.seed, judgement_id),
        }
