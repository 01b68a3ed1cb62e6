"""What a model judge said (bronze.judgements), as a reward of each trajectory.

**Pointwise**: the mean of its valid scores, over draws and judges. **Pairwise**: the share of its pairs that a trajectory won, a tie being
half a win. A judge prefers a place: a pair counts where it was judged validly in both orders, and the two orders share its point, so that
a judge who always names the first gives every pair to nobody. Invalid and failed judgements are the judge's, not the candidate's (law 6):
they count for nothing, and a trajectory about which nothing valid was said is unknown.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from udfs.rewards.functions import FUNCTIONS, GENRM

#: Half points of the trajectory with the lower id, by verdict.
_POINTS = {"a": 2, "tie": 1, "b": 0}


@dataclass(frozen=True, slots=True)
class Judgement:
    """One row of bronze.judgements, as far as it counts. ``draw`` and ``judge`` tell repetitions of a pair apart."""

    kind: str
    trajectory_a: str
    trajectory_b: str | None
    swapped: bool
    verdict: str
    score: float | None
    judge: str
    draw: int


@dataclass(frozen=True, slots=True)
class Judged:
    """A trajectory's reward by its judges.

    Attributes:
        value: in [0, 1]; None where nothing valid was said.
        counted: scores or pairs that made it.
        asked: judgements about it, invalid ones and single orders included.
        fault: why judgements about it were not counted, where none was: ``invalid``, ``out_of_range`` or ``one_order``.
    """

    value: float | None
    counted: int
    asked: int
    fault: str | None


def pointwise(judgements: Iterable[Judgement]) -> dict[str, Judged]:
    """Trajectory -> mean score; the others of ``judgements`` are passed over."""
    scores: defaultdict[str, list[float]] = defaultdict(list)
    asked: defaultdict[str, int] = defaultdict(int)
    outside: set[str] = set()
    declared = FUNCTIONS[GENRM]
    for said in judgements:
        if said.kind != "pointwise":
            continue
        asked[said.trajectory_a] += 1
        if said.verdict != "score" or said.score is None:
            continue
        if declared.low <= said.score <= declared.high:  # False for NaN
            scores[said.trajectory_a].append(said.score)
        else:
            outside.add(said.trajectory_a)
    return {
        ident: Judged(math.fsum(scores[ident]) / len(scores[ident]), len(scores[ident]), n, None)
        if scores[ident]
        else Judged(None, 0, n, "out_of_range" if ident in outside else "invalid")
        for ident, n in sorted(asked.items())
    }


def pairwise(judgements: Iterable[Judgement]) -> dict[str, Judged]:
    """Trajectory -> win rate over its pairs; the others of ``judgements`` are passed over. Integers until the last division."""
    orders: defaultdict[tuple[str, str, str, int], dict[bool, int | None]] = defaultdict(dict)
    asked: defaultdict[str, int] = defaultdict(int)
    for said in judgements:
        if said.kind != "pairwise" or said.trajectory_b is None or said.trajectory_a == said.trajectory_b:
            continue
        orders[said.trajectory_a, said.trajectory_b, said.judge, said.draw][said.swapped] = _POINTS.get(said.verdict)
        asked[said.trajectory_a] += 1
        asked[said.trajectory_b] += 1
    points: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])  # quarters of a point, pairs
    single: set[str] = set()
    for (first, second, _, _), said_of in orders.items():
        known = [value for value in said_of.values() if value is not None]
        if len(known) == 1:
            single |= {first, second}
        if len(known) < 2:
            continue
        for ident, won in ((first, sum(known)), (second, 4 - sum(known))):
            points[ident][0] += won
            points[ident][1] += 1
    return {
        ident: Judged(points[ident][0] / (4 * points[ident][1]), points[ident][1], n, None)
        if ident in points
        else Judged(None, 0, n, "one_order" if ident in single else "invalid")
        for ident, n in sorted(asked.items())
    }
