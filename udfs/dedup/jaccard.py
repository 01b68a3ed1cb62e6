"""Exact similarity of shingle sets."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from udfs.dedup.kernel import KernelName, shared


class Similarity(NamedTuple):
    """How alike two sets A and B are."""

    jaccard: float  #: |A and B| / |A or B|
    containment: float  #: |A and B| / |A|


def shingle_sets(hashes: NDArray[np.uint64], offsets: NDArray[np.int64]) -> list[NDArray[np.uint64]]:
    """The distinct hashes of every row, ascending: the form in which sets are compared. ``hashes`` is sorted in place."""
    bounds = offsets.tolist()
    for low, high in pairwise(bounds):
        hashes[low:high].sort()
    fresh = np.ones(len(hashes), np.bool_)
    fresh[1:] = hashes[1:] != hashes[:-1]
    fresh[offsets[:-1][offsets[:-1] < offsets[1:]]] = True  # a row may begin with what the one before ends with
    flat, ends = hashes[fresh], np.concatenate(([0], np.cumsum(fresh)))[offsets].tolist()
    return [flat[low:high] for low, high in pairwise(ends)]


def similarity(member: NDArray[np.uint64], kept: NDArray[np.uint64], kernel: KernelName = "auto") -> Similarity:
    """Exact Jaccard of two ascending sets, and the share of ``member`` that ``kept`` holds.

    Two empty sets are equal (1, 1): exact duplicates without tokens. One empty set is contained in any other, at Jaccard 0.
    """
    if not len(member):
        return Similarity(0.0 if len(kept) else 1.0, 1.0)
    both = shared(member, kept, kernel)
    return Similarity(both / (len(member) + len(kept) - both), both / len(member))
