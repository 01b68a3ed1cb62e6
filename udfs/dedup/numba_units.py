"""The compiled choice within whole units: the same as ``leader.Component`` makes document by document."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from udfs.dedup.object_code import kept


@numba.njit(cache=False, nogil=True)
def _shared(sets, low, high, other, end, needed):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Members that two ascending sets have in common; less than ``needed`` as soon as that cannot be reached."""
    found = 0
    while low < high and other < end:
        x, y = sets[low], sets[other]
        found += x == y
        low += x <= y
        other += y <= x
        if found + min(high - low, end - other) < needed:
            return found
    return found


@numba.njit(cache=False, nogil=True)
def _collect(buckets, row, heads, after, members, most, hits, touched):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Count, for every kept document that shares a bucket, how many; how many such documents there are."""
    count = 0
    for band in range(buckets.shape[1]):
        entry, seen = heads[buckets[row, band]], 0
        while entry >= 0 and seen < most:
            kept = members[entry]
            if hits[kept] == 0:
                touched[count] = kept
                count += 1
            hits[kept] += 1
            entry, seen = after[entry], seen + 1
    return count


@numba.njit(cache=False, nogil=True)
def _best(hits, touched, count):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Place in ``touched`` of the document with the most buckets in common, the best-ranked of equals; -1 where none is left."""
    found = -1
    for i in range(count):
        h = hits[touched[i]]
        if h > 0 and (found < 0 or h > hits[touched[found]] or (h == hits[touched[found]] and touched[i] < touched[found])):
            found = i
    return found


@kept
@numba.njit(cache=False, nogil=True)
def decide(sets, offsets, buckets, n_buckets, units, fixed, threshold, tries, exact, leaders):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """For every row the kept row that it repeats, or -1, and how many shingles they share.

    Args:
        sets: ascending shingle sets of all rows, one after the other, uint64.
        offsets: row i has ``sets[offsets[i]:offsets[i + 1]]``.
        buckets: ordinal of the bucket of every row and band, int64[n, bands].
        n_buckets: how many there are.
        units: unit of every row, ascending runs; rows of a unit in rank order.
        fixed: rows that stay whatever they repeat.
        threshold: Jaccard.
        tries: comparisons in a unit that keeps more than ``exact``.
        exact: kept documents up to which all that share a bucket are compared.
        leaders: kept documents that a bucket of a larger unit remembers.
    """
    rows, bands = buckets.shape
    dup, both = np.full(rows, -1, np.int64), np.zeros(rows, np.int64)
    heads, tails, sizes = np.full(n_buckets, -1, np.int64), np.full(n_buckets, -1, np.int64), np.zeros(n_buckets, np.int64)
    after, members = np.full(rows * bands, -1, np.int64), np.empty(rows * bands, np.int64)
    hits, touched = np.zeros(rows, np.int64), np.empty(bands * max(exact, leaders), np.int64)
    entries, kept = 0, 0
    for row in range(rows):
        if row == 0 or units[row] != units[row - 1]:
            kept = 0
        if not fixed[row]:
            many = kept > exact
            left = tries if many else exact
            count = _collect(buckets, row, heads, after, members, leaders if many else exact, hits, touched)
            size = offsets[row + 1] - offsets[row]
            while left > 0:
                at = _best(hits, touched, count)
                if at < 0:
                    break
                other = touched[at]
                hits[other] = 0
                their = offsets[other + 1] - offsets[other]
                if min(size, their) < threshold * max(size, their):
                    continue
                # Jaccard s / (a + b - s) >= t needs s >= t (a + b) / (1 + t); one less leaves the last word to the exact division.
                needed = np.int64(threshold * (size + their) / (1.0 + threshold)) - 1
                found = _shared(sets, offsets[row], offsets[row + 1], offsets[other], offsets[other + 1], needed)
                if found >= needed and found / (size + their - found) >= threshold:
                    dup[row], both[row] = other, found
                    break
                left -= 1
            for i in range(count):
                hits[touched[i]] = 0
        if dup[row] < 0:
            most = leaders if kept >= exact else exact
            listed = False
            for band in range(bands):
                bucket = buckets[row, band]
                if sizes[bucket] < most:
                    members[entries] = row
                    if heads[bucket] < 0:
                        heads[bucket] = entries
                    else:
                        after[tails[bucket]] = entries
                    tails[bucket] = entries
                    sizes[bucket] += 1
                    entries += 1
                    listed = True
            if listed or kept == 0:
                kept += 1
    return dup, both


def choose(
    sets: list[NDArray[np.uint64]],
    keys: NDArray[np.int64],
    units: NDArray[np.int64],
    fixed: NDArray[np.bool_],
    *,
    threshold: float,
    tries: int,
    exact: int,
    leaders: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """``decide`` from sets and keys: buckets are numbered within their unit, so that units do not see each other."""
    offsets = np.concatenate(([0], np.cumsum([len(s) for s in sets]))).astype(np.int64)
    flat = np.concatenate(sets) if sets else np.zeros(0, np.uint64)
    part = np.cumsum(np.concatenate(([False], units[1:] != units[:-1]))).astype(np.int64)
    spread = np.repeat(part, keys.shape[1])
    order = np.lexsort((keys.ravel(), spread))
    values, parts = keys.ravel()[order], spread[order]
    heads = np.ones(len(order), np.bool_)
    heads[1:] = (values[1:] != values[:-1]) | (parts[1:] != parts[:-1])
    buckets = np.empty(len(order), np.int64)
    buckets[order] = np.cumsum(heads) - 1
    found: tuple[NDArray[np.int64], NDArray[np.int64]] = decide(
        flat, offsets, buckets.reshape(keys.shape), int(heads.sum()), units, fixed, threshold, tries, exact, leaders
    )
    return found
