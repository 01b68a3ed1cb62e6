"""The compiled lookup: one pass over the token hashes of a batch, a rolling n-gram hash, a bitmap, then a short search.

Most n-grams of most texts are in no benchmark: a bit of a table that fits the cache says so at once. ``cache=False`` as in udfs.dedup.
"""

from __future__ import annotations

import numba
import numpy as np

from udfs.decontamination.grams import I32, I64, U64
from udfs.dedup.mix import GRAM_BASE
from udfs.dedup.numba_kernel import fmix64

_ONE, _LOW = np.uint64(1), np.uint64(63)
_SIX = np.uint64(6)
#: Bits of the bitmap per n-gram, before rounding up to a power of two.
_SPARSE = 16


@numba.njit(cache=False, nogil=True)
def _mark(grams, shift, bits):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for gram in grams:
        low = gram >> shift
        bits[low >> _SIX] |= _ONE << (low & _LOW)


@numba.njit(cache=False, nogil=True)
def _find(tokens, offsets, n, leaving, grams, first, shift, narrow, bits, refs, reference, at, found):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Hits into ``at`` and ``found`` as long as they have room; how many there are."""
    count, room = 0, len(at)
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1]
        if end - start < n:
            continue
        h = np.uint64(0)
        for i in range(start, start + n - 1):
            h = h * GRAM_BASE + tokens[i]
        before = -2
        for i in range(start, end - n + 1):
            h = h * GRAM_BASE + tokens[i + n - 1]
            gram = fmix64(h)
            h -= tokens[i] * leaving
            low = gram >> shift
            if not (bits[low >> _SIX] >> (low & _LOW)) & _ONE:
                before = -2
                continue
            bucket = np.int64(gram >> narrow)
            k, stop = first[bucket], first[bucket + 1]
            while k < stop and grams[k] < gram:
                k += 1
            hit = k < stop and grams[k] == gram
            if hit:
                ref = refs[k]
                for j in range(n):
                    if tokens[i + j] != reference[ref + j]:
                        hit = False
                        break
            if hit and k != before:
                if count < room:
                    at[count], found[count] = i, k
                count += 1
            before = k if hit else -2
    return count


class Finder:
    """``grams.find`` with the tables of one list of n-grams made once."""

    def __init__(self, n: int, grams: U64, refs: I32, reference: U64) -> None:
        self.n, self._grams, self._refs, self._reference = n, grams, refs, reference
        size = max(1, len(grams))
        width = max(16, (_SPARSE * size - 1).bit_length())
        narrow = min(24, max(8, size.bit_length()))
        self._shift, self._narrow = np.uint64(64 - width), np.uint64(64 - narrow)
        self._bits = np.zeros(1 << (width - 6), np.uint64)
        _mark(grams, self._shift, self._bits)
        self._first = np.searchsorted(grams >> self._narrow, np.arange((1 << narrow) + 1, dtype=np.uint64)).astype(np.int64)
        self._leaving = np.uint64(pow(int(GRAM_BASE), n - 1, 1 << 64))

    def __call__(self, tokens: U64, offsets: I64) -> tuple[I64, I64]:
        """Token at which each hit begins, and its n-gram, in order."""
        room = 1 << 12
        while True:
            at, found = np.empty(room, np.int64), np.empty(room, np.int64)
            count = _find(
                tokens, offsets, self.n, self._leaving, self._grams, self._first, self._shift, self._narrow, self._bits, self._refs,
                self._reference, at, found,
            )  # fmt: skip
            if count <= room:
                return at[:count], found[:count]
            room = count
