"""The compiled choice within units: the same as ``leader.Component`` makes document by document.

Rows come in chunks; what a chunk leaves behind (the kept sets, the buckets and who lies in them) stays in flat arrays, so that a unit may
have any size, and a chunk may hold many units or a part of one.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import IO, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from udfs.dedup.lanes import ones
from udfs.dedup.object_code import kept

#: Bytes of kept sets held in memory by one choice; beyond, they lie in a temporary file that is mapped.
MEMORY_BYTES = 256 << 20

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_ONE, _LOW, _SIX = np.uint64(1), np.uint64(63), np.uint64(6)


@numba.njit(cache=False, nogil=True)
def _shared(left, low, high, right, other, end, needed):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Members that ``left[low:high]`` and ``right[other:end]``, both ascending, have in common; less than ``needed`` as soon as that is sure."""
    found = 0
    while low < high and other < end:
        x, y = left[low], right[other]
        found += x == y
        low += x <= y
        other += y <= x
        if found + min(high - low, end - other) < needed:
            return found
    return found


@numba.njit(cache=False, nogil=True)
def _words(size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Words of the bitmap of a set: 8 to 16 bits a member, a power of two."""
    words = 1
    while words * 8 < size:
        words *= 2
    return words


@numba.njit(cache=False, nogil=True)
def _mark(sets, low, high, bits, at, words):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Set the bit of every member: the low bits of its hash say which, so that the two halves of a bitmap, united, are the next smaller one."""
    for word in range(at, at + words):
        bits[word] = 0
    mask = np.uint64(words - 1)
    for i in range(low, high):
        bits[at + np.int64(sets[i] & mask)] |= _ONE << ((sets[i] >> np.uint64(32)) & _LOW)


@numba.njit(cache=False, nogil=True)
def _folded(bits, at, words, word, few):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """A word of a bitmap brought down to ``few`` words."""
    found = np.uint64(0)
    for k in range(at + word, at + words, few):
        found |= bits[k]
    return found


@numba.njit(cache=False, nogil=True)
def _at_most(size, bits, words, their, their_bits, at, their_words):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Upper bound of what two sets have in common: a bit that one bitmap alone has stands for a member that one set alone has."""
    mine, others = 0, 0
    if words == their_words:
        for word in range(words):
            x, y = bits[word], their_bits[at + word]
            mine += ones(x & ~y)
            others += ones(y & ~x)
    else:
        few = min(words, their_words)
        for word in range(few):
            x, y = _folded(bits, 0, words, word, few), _folded(their_bits, at, their_words, word, few)
            mine += ones(x & ~y)
            others += ones(y & ~x)
    return min(size - mine, their - others)


@numba.njit(cache=False, nogil=True)
def _slot(table, keys, owners, key, unit):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Where a bucket stands in the table, or the free place where it would (linear probing; the length is a power of two)."""
    mask = len(table) - 1
    mixed = (np.uint64(key) ^ (np.uint64(unit) * _SPREAD)) * _SPREAD
    at = np.int64(mixed >> np.uint64(20)) & mask
    while table[at] >= 0 and (keys[table[at]] != key or owners[table[at]] != unit):
        at = (at + 1) & mask
    return at


@kept
@numba.njit(cache=False, nogil=True)
def _refill(table, keys, owners, count):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for bucket in range(count):
        table[_slot(table, keys, owners, keys[bucket], owners[bucket])] = bucket


@numba.njit(cache=False, nogil=True)
def _collect(mine, heads, after, members, most, hits, touched):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Count, for every kept document that shares a bucket, how many; how many such documents there are."""
    count = 0
    for bucket in mine:
        entry, seen = heads[bucket] if bucket >= 0 else -1, 0
        while entry >= 0 and seen < most:
            other = members[entry]
            if hits[other] == 0:
                touched[count] = other
                count += 1
            hits[other] += 1
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
def _decide(sets, offsets, keys, has_keys, units, fixed, first, rule, buckets, entries, store, scratch, counters, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Decide on every row of a chunk.

    Args:
        sets: ascending shingle sets of all rows, one after the other.
        offsets: row i has ``sets[offsets[i]:offsets[i + 1]]``.
        keys: band keys, int64[n, bands].
        has_keys: rows that have any.
        units: unit of every row, ascending runs; rows of a unit in rank order.
        fixed: rows that stay whatever they repeat.
        first: number of the first row.
        rule: threshold; comparisons in a unit that keeps more than the third, which is the number of kept documents up to which all that share
            a bucket are compared; kept documents that a bucket of a larger unit remembers.
        buckets: table, key and unit of each; its first and last entry, their number.
        entries: the next one of the same bucket, and whose it is.
        store: sets, offsets, bitmaps, their offsets, keys and row numbers of the kept.
        scratch: bucket of each band; bands in common with each kept document; those with any; bitmap.
        counters: buckets, entries, kept documents; unit of the last row and how many it keeps.
        out: number of the kept row that a row repeats, or -1; shingles and bands in common, and size of the kept one's set.
    """
    threshold, tries, exact, leaders = rule
    table, bucket_keys, owners, heads, tails, sizes = buckets
    after, members = entries
    held, bounds, held_bits, bit_bounds, held_keys, numbers = store
    mine, hits, touched, bits = scratch
    dup, both, matched, theirs = out
    rows, bands = keys.shape
    for row in range(rows):
        unit = units[row]
        if unit != counters[3]:
            counters[3], counters[4] = unit, 0
        in_unit, size = counters[4], offsets[row + 1] - offsets[row]
        words = _words(size)
        for band in range(bands):
            mine[band] = table[_slot(table, bucket_keys, owners, keys[row, band], unit)] if has_keys[row] else -1
        dup[row] = -1
        if not fixed[row]:
            many = in_unit > exact
            left = tries if many else exact
            count = _collect(mine, heads, after, members, leaders if many else exact, hits, touched)
            if count:
                _mark(sets, offsets[row], offsets[row + 1], bits, 0, words)
            while left > 0:
                at = _best(hits, touched, count)
                if at < 0:
                    break
                other = touched[at]
                hits[other] = 0
                their = bounds[other + 1] - bounds[other]
                if min(size, their) < threshold * max(size, their):
                    continue
                # Jaccard s / (a + b - s) >= t needs s >= t (a + b) / (1 + t); one less leaves the last word to the exact division.
                needed = np.int64(threshold * (size + their) / (1.0 + threshold)) - 1
                bit = bit_bounds[other]
                if _at_most(size, bits, words, their, held_bits, bit, bit_bounds[other + 1] - bit) < needed:
                    left -= 1
                    continue
                found = _shared(sets, offsets[row], offsets[row + 1], held, bounds[other], bounds[other + 1], needed)
                if found >= needed and found / (size + their - found) >= threshold:
                    dup[row], both[row], theirs[row], matched[row] = numbers[other], found, their, 0
                    for band in range(bands):
                        matched[row] += keys[row, band] == held_keys[other, band]
                    break
                left -= 1
            for i in range(count):
                hits[touched[i]] = 0
        if dup[row] >= 0:
            continue
        most, listed, me = leaders if in_unit >= exact else exact, False, counters[2]
        for band in range(bands if has_keys[row] else 0):
            at = _slot(table, bucket_keys, owners, keys[row, band], unit)
            bucket = table[at]
            if bucket < 0:
                bucket = counters[0]
                counters[0] += 1
                table[at], bucket_keys[bucket], owners[bucket] = bucket, keys[row, band], unit
                heads[bucket], sizes[bucket] = -1, 0
            if sizes[bucket] < most:
                entry = counters[1]
                counters[1] += 1
                members[entry], after[entry] = me, -1
                if heads[bucket] < 0:
                    heads[bucket] = entry
                else:
                    after[tails[bucket]] = entry
                tails[bucket] = entry
                sizes[bucket] += 1
                listed = True
        if listed or in_unit == 0:
            held[bounds[me] : bounds[me] + size] = sets[offsets[row] : offsets[row + 1]]
            bounds[me + 1], numbers[me], hits[me] = bounds[me] + size, first + row, 0
            _mark(sets, offsets[row], offsets[row + 1], held_bits, bit_bounds[me], words)
            bit_bounds[me + 1], held_keys[me] = bit_bounds[me] + words, keys[row]
            counters[2] += 1
            counters[4] += 1


class Chosen(NamedTuple):
    """By row of a chunk: number of the kept row that it repeats or -1, shingles and bands in common, size of the kept one's set."""

    dup: NDArray[np.int64]
    both: NDArray[np.int64]
    matched: NDArray[np.int64]
    theirs: NDArray[np.int64]


class _Sets:
    """A growing array of hashes: in memory, and in a mapped temporary file once it is larger than that allows."""

    def __init__(self, memory_bytes: int) -> None:
        self.values, self._memory = np.empty(1 << 10, np.uint64), memory_bytes
        self._file: IO[bytes] | None = None

    def room(self, used: int, more: int) -> None:
        """See to it that ``more`` hashes fit after ``used``."""
        if used + more <= len(self.values):
            return
        size = max(used + more, 2 * len(self.values))
        if size * 8 <= self._memory:
            grown = np.empty(size, np.uint64)
            grown[:used] = self.values[:used]
            self.values = grown
            return
        new = self._file is None
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="verilake-sets-")  # noqa: SIM115 -- lives as long as this
        os.posix_fallocate(self._file.fileno(), 0, size * 8)  # a full disk is an error here, not a signal when the page is written
        mapped = np.frombuffer(mmap.mmap(self._file.fileno(), size * 8), np.uint64)
        if new:
            mapped[:used] = self.values[:used]
        self.values = mapped

    def close(self) -> None:
        """Give the file back."""
        self.values = np.empty(0, np.uint64)
        if self._file is not None:
            self._file.close()


class Choice:
    """Takes chunks of rows, unit by unit and in rank order within each, and says of every row which kept one it repeats."""

    def __init__(self, bands: int, *, threshold: float, tries: int, exact: int, leaders: int, memory_bytes: int = MEMORY_BYTES) -> None:
        self.bands, self._rule = bands, (threshold, tries, exact, leaders)
        self._table = np.full(1 << 8, -1, np.int64)
        self._buckets = [np.empty(0, np.int64) for _ in range(5)]
        self._entries = [np.empty(0, np.int64) for _ in range(2)]
        self._sets, self._bits = _Sets(memory_bytes), _Sets(memory_bytes // 4)
        self._bit_bounds = np.zeros(1, np.int64)
        self._bounds, self._keys, self._numbers = np.zeros(1, np.int64), np.empty((0, bands), np.int64), np.empty(0, np.int64)
        self._hits, self._touched = np.zeros(0, np.int64), np.empty(bands * max(exact, leaders), np.int64)
        self._counters = np.array([0, 0, 0, -1, 0], np.int64)

    def close(self) -> None:
        """Give the file back, where one was needed."""
        self._sets.close()
        self._bits.close()

    def of(
        self, first: int, sets: list[NDArray[np.uint64]], keys: list[NDArray[np.int64]], units: NDArray[np.int64], fixed: NDArray[np.bool_]
    ) -> Chosen:
        """Decide on the next rows, which are numbered from ``first``.

        Args:
            first: greater than every number before.
            sets: ascending shingle sets.
            keys: band keys; one without has no bucket.
            units: of each row.
            fixed: rows that stay.
        """
        rows = len(sets)
        offsets = np.concatenate(([0], np.cumsum([len(s) for s in sets]))).astype(np.int64)
        has_keys = np.array([len(k) > 0 for k in keys], np.bool_)
        nothing = np.zeros(self.bands, np.int64)
        matrix = np.stack([k if len(k) else nothing for k in keys])
        flat = np.concatenate(sets)
        words = [1 << max(0, len(s) - 1 >> 3).bit_length() for s in sets]
        self._make_room(rows, len(flat), sum(words))
        out = tuple(np.zeros(rows, np.int64) for _ in range(4))
        _decide(
            flat, offsets, matrix, has_keys, units, fixed, first, self._rule, (self._table, *self._buckets), tuple(self._entries),
            (self._sets.values, self._bounds, self._bits.values, self._bit_bounds, self._keys, self._numbers),
            (np.empty(self.bands, np.int64), self._hits, self._touched, np.empty(max(words), np.uint64)), self._counters, out,
        )  # fmt: skip
        return Chosen(*out)

    def _make_room(self, rows: int, hashes: int, words: int) -> None:
        """For all that ``rows`` more kept documents may need."""
        buckets, entries, stays = self._counters[:3].tolist()
        self._sets.room(int(self._bounds[stays]), hashes)
        self._bits.room(int(self._bit_bounds[stays]), words)
        self._bit_bounds = _grown(self._bit_bounds, stays + 1, rows)
        self._buckets = [_grown(array, buckets, rows * self.bands) for array in self._buckets]
        self._entries = [_grown(array, entries, rows * self.bands) for array in self._entries]
        self._bounds, self._hits = _grown(self._bounds, stays + 1, rows), _grown(self._hits, stays, rows)
        self._keys, self._numbers = _grown(self._keys, stays, rows), _grown(self._numbers, stays, rows)
        size = len(self._table)
        while size < 2 * (buckets + rows * self.bands):
            size *= 2
        if size > len(self._table):
            self._table = np.full(size, -1, np.int64)
            _refill(self._table, self._buckets[0], self._buckets[1], buckets)


def _grown(array: NDArray[np.int64], used: int, more: int) -> NDArray[np.int64]:
    """The same array, or a larger copy, with room for ``more`` after ``used``."""
    if used + more <= len(array):
        return array
    out = np.zeros((max(used + more, 2 * len(array)), *array.shape[1:]), np.int64)
    out[:used] = array[:used]
    return out
