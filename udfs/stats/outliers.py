"""Workers whose results differ from the others' by more than chance and their share of tasks explain.

The samples of one prompt rise and fall together, so counting them as independent would raise false alarms: eight equal
answers are one observation. The unit is therefore the group. Given which groups exist, a worker that differs in
nothing holds a random draw of them within each stratum (task type and group size), and the sum S of its groups'
correct counts has, over the draws of m of M groups without replacement (finite population; the stratified permutation
test), in every stratum::

    E[S] = m * mean,   Var[S] = m * (M - m) / (M - 1) * (population variance of the groups' counts)

The strata add up to z = (S - E) / sqrt(Var). Only integers are summed; one square root ends it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """One worker's part of one group.

    Attributes:
        worker: who made it.
        stratum: task type.
        n: valid samples.
        k: correct ones.
    """

    worker: str
    stratum: str
    n: int
    k: int


@dataclass(frozen=True, slots=True)
class StratumCount:
    """One worker's groups of one stratum, as sums: what is needed of them, however many they are.

    Attributes:
        worker: who made them.
        stratum: task type.
        size: valid samples per group.
        groups: how many groups.
        k: sum of their correct counts.
        k_squared: sum of the squares of their correct counts.
    """

    worker: str
    stratum: str
    size: int
    groups: int
    k: int
    k_squared: int


def count_strata(parts: Iterable[WorkerGroup]) -> list[StratumCount]:
    """Fold single groups into sums, in the order of worker, stratum and size; groups without a valid sample say nothing."""
    sums: defaultdict[tuple[str, str, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for part in parts:
        if part.n > 0:
            entry = sums[(part.worker, part.stratum, part.n)]
            entry[0] += 1
            entry[1] += part.k
            entry[2] += part.k * part.k
    return [StratumCount(*key, *sums[key]) for key in sorted(sums)]


def worker_z(counts: Iterable[StratumCount]) -> dict[str, float | None]:
    """The z of every worker; None where its strata hold no variance (one worker alone, or all groups equal).

    Args:
        counts: sums per worker, stratum and group size, each combination once.
    """
    rows = sorted(counts, key=lambda c: (c.worker, c.stratum, c.size))
    totals: defaultdict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in rows:
        total = totals[(row.stratum, row.size)]
        total[0] += row.groups
        total[1] += row.k
        total[2] += row.k_squared
    excess: defaultdict[str, list[float]] = defaultdict(list)
    variance: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        groups, k, k_squared = totals[(row.stratum, row.size)]
        excess[row.worker].append((row.k * groups - row.groups * k) / groups)
        if groups > 1:
            spread = (k_squared * groups - k * k) / (groups * groups)
            variance[row.worker].append(row.groups * (groups - row.groups) * spread / (groups - 1))
    result: dict[str, float | None] = {}
    for worker, parts in excess.items():
        total_variance = math.fsum(variance[worker])
        result[worker] = math.fsum(parts) / math.sqrt(total_variance) if total_variance > 0 else None
    return result
