"""Which responses of a prompt become supervised rows and preference pairs.

Both choose by total orders over distinct texts, so that neither the order of arrival nor a tie decides. Texts that differ in
case, width or white space alone are one text. A chosen or supervised response showed nothing odd (state ``accepted``)
and has the full reward; a response that loses a pair may be flagged (a broken form is a good example of a worse
answer) but not rejected, and its reward is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from udfs.text.normalise import normalise, squeeze
from udfs.trajectories.rewards import REWARD_RANGE


@dataclass(frozen=True, slots=True)
class Candidate:
    """One trajectory of a prompt.

    Attributes:
        trajectory_id: names it.
        response: what was said.
        reward: outcome reward; None where unknown.
        state: state of silver.trajectory_verdicts.
        judged_by: verifier name@version.
    """

    trajectory_id: str
    response: str | None
    reward: float | None
    state: str
    judged_by: str


@dataclass(frozen=True, slots=True)
class Pair:
    """A preference pair and the difference of its outcome rewards."""

    chosen: Candidate
    rejected: Candidate
    gap: float


def _order(candidate: Candidate) -> tuple[int, str]:
    """Shorter first: of two verified answers the one that says less beside the answer; then by id."""
    return len(candidate.response or ""), candidate.trajectory_id


def _distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The first of each text, in the order given."""
    first: dict[str, Candidate] = {}
    for candidate in candidates:
        first.setdefault(squeeze(normalise(candidate.response or "")), candidate)
    return list(first.values())


def verified(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Accepted responses with the full reward, distinct, in their order."""
    full = [c for c in candidates if c.state == "accepted" and c.reward == REWARD_RANGE[1] and c.response]
    return _distinct(sorted(full, key=_order))


def choose_sft(candidates: Iterable[Candidate], limit: int) -> list[Candidate]:
    """At most ``limit`` supervised rows of one prompt."""
    return verified(candidates)[:limit]


def choose_pairs(candidates: Sequence[Candidate], limit: int, min_gap: float) -> list[Pair]:
    """At most ``limit`` preference pairs of one prompt.

    The worse responses are taken lowest reward first, then shortest (length must not be what tells a pair apart: both
    sides are taken short), each once, against the better ones in turn.

    Args:
        candidates: all trajectories of the prompt.
        limit: pairs per prompt (conf: feedback.pairs_per_prompt).
        min_gap: least difference of outcome rewards (conf: feedback.min_score_gap).
    """
    better = verified(candidates)
    if not better:
        return []
    worse = [
        c
        for c in candidates
        if c.state in ("accepted", "flagged") and c.reward is not None and c.response and REWARD_RANGE[1] - c.reward >= min_gap
    ]
    texts = {squeeze(normalise(c.response or "")) for c in better}
    losers = [
        c
        for c in _distinct(sorted(worse, key=lambda c: (c.reward or 0.0, *_order(c))))
        if squeeze(normalise(c.response or "")) not in texts
    ]
    return [Pair(better[i % len(better)], loser, REWARD_RANGE[1] - (loser.reward or 0.0)) for i, loser in enumerate(losers[:limit])]
