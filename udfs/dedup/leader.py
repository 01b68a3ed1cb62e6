"""Near duplicates within one component: in rank order, each document against the kept ones that share a band with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs.dedup.jaccard import Similarity, shingle_sets, similarity
from udfs.dedup.kernel import KernelName, compiled, shingle_hashes
from udfs.dedup.store import SetStore

if TYPE_CHECKING:
    from udfs.dedup.numba_units import Choice

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

#: Bytes of sets and keys after which the documents at hand are decided on.
DECIDE_BYTES = 16 << 20

#: A document that waits for its decision: id, whether it stays anyhow, band keys, shingle set.
Row: TypeAlias = tuple[str, bool, NDArray[np.int64], NDArray[np.uint64]]

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
    """Takes documents unit by unit, in rank order within each, and tells duplicates; compiled where the kernel is, a chunk at a time."""

    rule: Rule
    kernel: KernelName = "auto"
    new_store: Callable[[], SetStore] = SetStore
    _units: list[int] = field(default_factory=list)
    _rows: list[Row] = field(default_factory=list)
    _bytes: int = 0
    _last: int | None = None  #: unit of the last document that was decided on
    _open: Component | Choice | None = None  #: what knows the kept documents of that unit
    _names: list[str] = field(default_factory=list)  #: of the documents that the choice at hand numbers

    def add(self, unit: int, doc_id: str, keys: NDArray[np.int64], shingles: NDArray[np.uint64], *, fixed: bool) -> list[Duplicate]:
        """The next document; returns what is decided by now."""
        self._units.append(unit)
        self._rows.append((doc_id, fixed, keys, shingles))
        self._bytes += shingles.nbytes + keys.nbytes
        return self._decided() if self._bytes >= DECIDE_BYTES else []

    def finish(self) -> list[Duplicate]:
        """Decide all that is left; ready for more afterwards."""
        out = self._decided()
        self.close()
        return out

    def close(self) -> None:
        """Forget the unit at hand, and remove its file, where one was needed."""
        if isinstance(self._open, Component):
            self._open.store.close()
        elif self._open is not None:
            self._open.close()
        self._open, self._last, self._names = None, None, []

    def _decided(self) -> list[Duplicate]:
        rows, units, out = self._rows, self._units, list[Duplicate]()
        if not rows:
            return out
        self._rows, self._units, self._bytes = [], [], 0
        if units[0] != self._last:
            self.close()
        if self._open is None and self.rule.mode == "verified" and compiled(self.kernel):
            self._open = self._new_choice(rows)
        if self._open is not None and not isinstance(self._open, Component):
            out = self._chosen(self._open, rows, np.array(units, np.int64))
        else:
            for unit, group in groupby(zip(units, rows, strict=True), key=lambda pair: pair[0]):
                if not isinstance(self._open, Component) or unit != self._last:
                    self.close()
                    self._open, self._last = Component(self.rule, self.kernel, self.new_store()), unit
                out += _placed(self._open, [row for _, row in group])
        self._last = units[-1]
        return out

    def _new_choice(self, rows: list[Row]) -> Choice | None:
        """None where no document has keys: there is nothing to compile for, nor are the bands known."""
        from udfs.dedup.numba_units import Choice

        rule, bands = self.rule, max(len(keys) for _, _, keys, _ in rows)
        if not bands:
            return None
        return Choice(bands, threshold=rule.jaccard, tries=rule.tries, exact=EXACT_UNIT, leaders=MAX_LEADERS)

    def _chosen(self, choice: Choice, rows: list[Row], units: NDArray[np.int64]) -> list[Duplicate]:
        first, names, sets = len(self._names), [name for name, _, _, _ in rows], [shingles for _, _, _, shingles in rows]
        self._names += names
        found = choice.of(first, sets, [row[2] for row in rows], units, np.array([row[1] for row in rows], np.bool_))
        out = []
        for row in np.flatnonzero(found.dup >= 0).tolist():
            size, common = len(sets[row]), int(found.both[row])
            alike = Similarity(common / (size + int(found.theirs[row]) - common), common / size)
            out.append(Duplicate(names[row], self._names[int(found.dup[row])], alike, int(found.matched[row])))
        return out


def _placed(component: Component, rows: Iterable[Row]) -> list[Duplicate]:
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
            sets = shingle_sets(*shingle_hashes(batch.column("text"), rule.shingle, kernel))
            bands = _lists(batch.column("band_keys"))
            found: list[Duplicate] = []
            rows = zip(*(batch.column(name).to_pylist() for name in ("component", "doc_id", "fixed")), strict=True)
            for row, (component, doc_id, fixed) in enumerate(rows):
                found += decider.add(component, doc_id, bands[row], sets[row], fixed=fixed)
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
