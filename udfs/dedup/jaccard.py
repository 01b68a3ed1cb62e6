"""Exact similarity of shingle sets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from udfs.dedup.kernel import KernelName, shared


class Similarity(NamedTuple):
    """How alike two sets A and B are."""

    jaccard: float  #: |A and B| / |A or B|
    containment: float  #: |A and B| / |A|


def shingle_set(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The distinct hashes, ascending: the form in which sets are compared."""
    ordered = np.sort(hashes)  # np.unique hashes first and sorts then, which is slower at the size of documents
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))] if len(ordered) else ordered


def similarity(member: NDArray[np.uint64], kept: NDArray[np.uint64], kernel: KernelName = "auto") -> Similarity:
    """Exact Jaccard of two ascending sets, and the share of ``member`` that ``kept`` holds.

    Two empty sets are equal (1, 1): exact duplicates without tokens. One empty set is contained in any other, at Jaccard 0.
    """
    if not len(member):
        return Similarity(0.0 if len(kept) else 1.0, 1.0)
    both = shared(member, kept, kernel)
    return Similarity(both / (len(member) + len(kept) - both), both / len(member))
