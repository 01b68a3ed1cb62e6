"""What a list of removed rows is worth: recall by Jaccard beside the theoretical curve, removals without a reason, groups without a survivor."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tests.benchmarks.curation.truth import Pairs

BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0001)


@dataclass(frozen=True)
class Expected:
    """Bands, rows and verified threshold of a setting; 0 bands: not an LSH of the truth's shingles, so that no curve is due."""

    bands: int = 0
    rows: int = 1
    verified: float = 0.0

    def curve(self, jaccard: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability that such a pair is joined: 1 - (1 - j^r)^b (Leskovec et al., MMDS, ch. 3), nothing below the verified threshold."""
        return np.where(jaccard >= self.verified, 1 - (1 - jaccard**self.rows) ** self.bands, 0.0)


@dataclass(frozen=True)
class Quality:
    """Figures of one run.

    Attributes:
        alone: by bin (pairs, found, theory) of pairs whose rows have no other neighbour: here "one of the two went" is "the pair was joined".
        every: the same of every pair, where a pair counts as found unless both rows stayed.
        unreasoned: of the removed, those whose best kept neighbour has J below 0.8, 0.7, 0.5 and 0.2.
        lost: groups none of whose rows stayed. Both are None for a tool that flags every row of a pair and does not say which one stays.
    """

    removed: int
    alone: list[tuple[int, float, float]]
    every: list[tuple[int, float, float]]
    unreasoned: dict[float, int] | None
    lost: int | None
    groups: int
    by_edit: dict[str, tuple[int, int]]


def groups_of(pairs: Pairs, rows: int, least: float) -> NDArray[np.int64]:
    """Component of every row in the graph of pairs of at least ``least``."""
    near = pairs.jaccard >= least
    graph = coo_array((np.ones(int(near.sum())), (pairs.first[near], pairs.second[near])), shape=(rows, rows))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


def _bins(pairs: Pairs, chosen: NDArray[np.bool_], found: NDArray[np.bool_], expected: Expected) -> list[tuple[int, float, float]]:
    out = []
    for low, high in pairwise(BINS):
        here = chosen & (pairs.jaccard >= low) & (pairs.jaccard < high)
        theory = float(expected.curve(pairs.jaccard[here]).mean()) if here.any() and expected.bands else float("nan")
        out.append((int(here.sum()), float(found[here].mean()) if here.any() else float("nan"), theory))
    return out


def quality(
    removed_rows: list[int], rows: int, pairs: Pairs, group: NDArray[np.int64], expected: Expected, edits: list[str] | None = None,
    *, flags: bool = False,
) -> Quality:  # fmt: skip
    """Figures of one run against the exact pairs (J >= 0.2) and groups of a corpus."""
    removed = np.zeros(rows, np.bool_)
    removed[removed_rows] = True
    one, two = removed[pairs.first], removed[pairs.second]
    found = (one & two) if flags else (one | two)
    degree = np.bincount(np.concatenate([pairs.first, pairs.second]), minlength=rows)
    lonely = (degree[pairs.first] == 1) & (degree[pairs.second] == 1)
    best = np.zeros(rows)
    for one, two in ((pairs.first, pairs.second), (pairs.second, pairs.first)):
        stays = ~removed[two]
        np.maximum.at(best, one[stays], pairs.jaccard[stays])
    sizes, gone = np.bincount(group), np.bincount(group, weights=removed)
    edit = Counter[str]()
    caught = Counter[str]()
    if edits:
        for a, b, alike, hit in zip(pairs.first.tolist(), pairs.second.tolist(), pairs.jaccard.tolist(), found.tolist(), strict=True):
            if alike >= 0.8 and "base" in (edits[a], edits[b]) and group[a] == group[b]:
                name = edits[b] if edits[a] == "base" else edits[a]
                edit[name] += 1
                caught[name] += hit
    return Quality(
        int(removed.sum()),
        _bins(pairs, lonely, found, expected),
        _bins(pairs, np.ones(len(pairs), np.bool_), found, expected),
        None if flags else {low: int((removed & (best < low)).sum()) for low in (0.8, 0.7, 0.5, 0.2)},
        None if flags else int(((gone == sizes) & (sizes > 0)).sum()),
        int((sizes > 1).sum()),
        {name: (caught[name], edit[name]) for name in edit},
    )
