"""Near duplicates within one component: in rank order, each document against the kept ones that share a band with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs.dedup.jaccard import Similarity, shingle_set, similarity
from udfs.dedup.kernel import KernelName, compiled, shingle_hashes
from udfs.dedup.store import SetStore

#: One row a removed document.
DUPLICATES = pa.schema(
    [
        ("doc_id", pa.string()),
        ("dup_of", pa.string()),
        ("jaccard", pa.float64()),
        ("containment", pa.float64()),
        ("bands_matched", pa.int32()),
    ]
)

#: Kept documents of a unit up to which a document is compared with every one that shares a band: there the choice is exact.
EXACT_UNIT = 256
#: Beyond that, kept documents of a bucket that count, the best-ranked ones: so the work for a document does not grow with its buckets.
MAX_LEADERS = 16

#: Bytes of sets and keys after which the units at hand are decided, and beyond which a single one is decided document by document.
DECIDE_BYTES, HOLD_BYTES = 16 << 20, 256 << 20

Mode = Literal["verified", "components"]


@dataclass(frozen=True)
class Rule:
    """When a document is a near duplicate.

    Attributes:
        jaccard: at or above this exact Jaccard.
        tries: with how many kept documents a document of a large unit is compared at most.
        shingle: tokens a shingle.
        mode: ``verified``, or ``components``: all of a unit repeat its best-ranked document, whatever their Jaccard.
    """

    jaccard: float
    tries: int
    shingle: int
    mode: Mode = "verified"


class Duplicate(NamedTuple):
    """Why a document goes."""

    doc_id: str
    dup_of: str
    similarity: Similarity
    bands_matched: int


@dataclass
class Component:
    """Kept documents of one component so far, by ordinal (which is rank order), and the buckets in which they lie."""

    rule: Rule
    kernel: KernelName = "auto"
    store: SetStore = field(default_factory=SetStore)
    names: list[str] = field(default_factory=list)
    keys: list[NDArray[np.int64]] = field(default_factory=list)
    buckets: dict[int, list[int]] = field(default_factory=dict)

    def place(self, doc_id: str, keys: NDArray[np.int64], shingles: NDArray[np.uint64]) -> Duplicate | None:
        """Decide on the next document in rank order: a duplicate of a kept one, or None after it was added to the kept."""
        if self.rule.mode == "components":
            if self.names:
                return self._duplicate(doc_id, keys, 0, similarity(shingles, self.store.get(0), self.kernel))
            self.keep(doc_id, keys, shingles)
            return None
        tries = self.rule.tries if len(self.names) > EXACT_UNIT else EXACT_UNIT
        for leader in self._candidates(keys):
            sizes = sorted((len(shingles), self.store.size(leader)))
            if sizes[0] < self.rule.jaccard * sizes[1]:  # Jaccard is at most the ratio of the sizes
                continue
            found = similarity(shingles, self.store.get(leader), self.kernel)
            if found.jaccard >= self.rule.jaccard:
                return self._duplicate(doc_id, keys, leader, found)
            tries -= 1
            if not tries:
                break
        self.keep(doc_id, keys, shingles)
        return None

    def _candidates(self, keys: NDArray[np.int64]) -> list[int]:
        """Kept documents that share a band, those with the most in common first, then by rank."""
        most = MAX_LEADERS if len(self.names) > EXACT_UNIT else EXACT_UNIT
        met = [leader for key in keys.tolist() if (bucket := self.buckets.get(key)) for leader in bucket[:most]]
        counted = Counter(met)
        return sorted(counted, key=lambda leader: (-counted[leader], leader))

    def _duplicate(self, doc_id: str, keys: NDArray[np.int64], leader: int, found: Similarity) -> Duplicate:
        theirs = self.keys[leader]
        matched = int(np.count_nonzero(keys == theirs)) if len(keys) == len(theirs) else 0
        return Duplicate(doc_id, self.names[leader], found, matched)

    def keep(self, doc_id: str, keys: NDArray[np.int64], shingles: NDArray[np.uint64]) -> None:
        """Add a document to the kept ones; in a large unit it is forgotten where all its buckets remember enough better ones."""
        most, listed = MAX_LEADERS if len(self.names) >= EXACT_UNIT else EXACT_UNIT, False
        if self.rule.mode == "components" and self.names:
            return
        for key in keys.tolist():
            leaders = self.buckets.setdefault(key, [])
            if len(leaders) < most:
                leaders.append(len(self.names))
                listed = True
        if listed or not self.names:
            self.names.append(doc_id)
            self.keys.append(keys)
            self.store.add(shingles)


@dataclass
class Decider:
    """Takes documents unit by unit, in rank order within each, and tells duplicates; many small units are decided at once, compiled."""

    rule: Rule
    kernel: KernelName = "auto"
    new_store: Callable[[], SetStore] = SetStore
    _units: list[int] = field(default_factory=list)
    _rows: list[tuple[str, bool, NDArray[np.int64], NDArray[np.uint64]]] = field(default_factory=list)
    _bytes: int = 0
    _large: Component | None = None

    def add(self, unit: int, doc_id: str, keys: NDArray[np.int64], shingles: NDArray[np.uint64], *, fixed: bool) -> list[Duplicate]:
        """The next document; returns what is decided by now."""
        out: list[Duplicate] = []
        if not self._units or unit != self._units[-1]:
            if self._large is not None or self._bytes >= DECIDE_BYTES:
                out = self.finish()
        elif self._large is None and self._bytes >= HOLD_BYTES:
            first = self._units.index(unit)
            held = self._rows[first:]
            del self._units[first:], self._rows[first:]
            out = self.finish()  # the units before this one; from here on this one is decided document by document
            self._large = Component(self.rule, self.kernel, self.new_store())
            out += _placed(self._large, held)
        row = (doc_id, fixed, keys, shingles)
        if self._large is not None:
            self._units = [unit]
            return out + _placed(self._large, [row])
        self._units.append(unit)
        self._rows.append(row)
        self._bytes += shingles.nbytes + keys.nbytes
        return out

    def finish(self) -> list[Duplicate]:
        """Decide all that is left; ready for more afterwards."""
        self.close()
        rows, units = self._rows, np.array(self._units[: len(self._rows)], np.int64)
        self._units, self._rows, self._bytes = [], [], 0
        same = len({len(keys) for _, _, keys, _ in rows}) == 1
        if rows and same and self.rule.mode == "verified" and compiled(self.kernel):
            return self._chosen(rows, units)
        out: list[Duplicate] = []
        for _, group in groupby(zip(units.tolist(), rows, strict=True), key=lambda pair: pair[0]):
            component = Component(self.rule, self.kernel, self.new_store())
            out += _placed(component, [row for _, row in group])
            component.store.close()
        return out

    def close(self) -> None:
        """Remove the file of a large unit, where one was needed."""
        if self._large is not None:
            self._large.store.close()
            self._large = None

    def _chosen(self, rows: list[tuple[str, bool, NDArray[np.int64], NDArray[np.uint64]]], units: NDArray[np.int64]) -> list[Duplicate]:
        from udfs.dedup.numba_units import choose

        names, sets = [name for name, _, _, _ in rows], [shingles for _, _, _, shingles in rows]
        keys, fixed = np.stack([row[2] for row in rows]), np.array([row[1] for row in rows], np.bool_)
        dup, both = choose(
            sets, keys, units, fixed,
            threshold=self.rule.jaccard, tries=self.rule.tries, exact=EXACT_UNIT, leaders=MAX_LEADERS,
        )  # fmt: skip
        out = []
        for row in np.flatnonzero(dup >= 0).tolist():
            kept, common = int(dup[row]), int(both[row])
            alike = Similarity(common / (len(sets[row]) + len(sets[kept]) - common), common / len(sets[row]))
            out.append(Duplicate(names[row], names[kept], alike, int(np.count_nonzero(keys[row] == keys[kept]))))
        return out


def _placed(component: Component, rows: Iterable[tuple[str, bool, NDArray[np.int64], NDArray[np.uint64]]]) -> list[Duplicate]:
    out = []
    for doc_id, fixed, keys, shingles in rows:
        if fixed:
            component.keep(doc_id, keys, shingles)
        elif (found := component.place(doc_id, keys, shingles)) is not None:
            out.append(found)
    return out


def near_duplicates(batches: Iterator[pa.RecordBatch], *, rule: Rule, kernel: KernelName) -> Iterator[pa.RecordBatch]:
    """Find the near duplicates of documents that arrive component by component, in rank order within each.

    This is the greedy choice in rank order: a document goes if a kept, better-ranked one that shares a band with it is similar
    enough; those with the most bands in common are tried first. So every removed document has an exact Jaccard to a document
    that is itself kept, however long a chain of look-alikes is; and of two kept ones that share a band, none is similar enough, unless
    their unit keeps more than ``EXACT_UNIT``, where ``MAX_LEADERS`` and ``rule.tries`` bound the work.

    Args:
        batches: columns ``component`` (int64), ``doc_id``, ``fixed`` (kept by an earlier ingest: never removed), ``text``,
            ``band_keys`` (list of int64, one a band).
        rule: when a document is a duplicate.
        kernel: which implementation hashes.

    Yields:
        Rows of ``DUPLICATES``, one batch for each that comes in, and one more where something is left.
    """
    decider = Decider(rule, kernel)
    try:
        for batch in batches:
            hashes, offsets = shingle_hashes(batch.column("text"), rule.shingle, kernel)
            bands = _lists(batch.column("band_keys"))
            found: list[Duplicate] = []
            rows = zip(*(batch.column(name).to_pylist() for name in ("component", "doc_id", "fixed")), strict=True)
            for row, (component, doc_id, fixed) in enumerate(rows):
                found += decider.add(component, doc_id, bands[row], shingle_set(hashes[offsets[row] : offsets[row + 1]]), fixed=fixed)
            yield _batch(found)
        if last := decider.finish():
            yield _batch(last)
    finally:
        decider.close()


def _lists(column: pa.Array) -> list[NDArray[np.int64]]:
    return [np.asarray(row.values, np.int64) if row.is_valid else np.zeros(0, np.int64) for row in column]


def _batch(found: list[Duplicate]) -> pa.RecordBatch:
    rows = [(d.doc_id, d.dup_of, d.similarity.jaccard, d.similarity.containment, d.bands_matched) for d in found]
    columns = zip(*rows, strict=True) if rows else ([] for _ in DUPLICATES)
    return pa.RecordBatch.from_arrays([pa.array(list(c), f.type) for c, f in zip(columns, DUPLICATES, strict=True)], schema=DUPLICATES)
