"""Near duplicates within one component: in rank order, each document against the kept ones that share a band with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs.dedup.jaccard import Similarity, shingle_set, similarity
from udfs.dedup.kernel import KernelName, shingle_hashes
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
MAX_LEADERS = 32

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
        Rows of ``DUPLICATES``, one batch for each that comes in.
    """
    current, state = None, Component(rule, kernel)
    try:
        for batch in batches:
            hashes, offsets = shingle_hashes(batch.column("text"), rule.shingle, kernel)
            bands = _lists(batch.column("band_keys"))
            found: list[Duplicate] = []
            rows = zip(*(batch.column(name).to_pylist() for name in ("component", "doc_id", "fixed")), strict=True)
            for row, (component, doc_id, fixed) in enumerate(rows):
                if component != current:
                    state.store.close()
                    current, state = component, Component(rule, kernel)
                shingles = shingle_set(hashes[offsets[row] : offsets[row + 1]])
                if fixed:
                    state.keep(doc_id, bands[row], shingles)
                elif (duplicate := state.place(doc_id, bands[row], shingles)) is not None:
                    found.append(duplicate)
            yield _batch(found)
    finally:
        state.store.close()


def _lists(column: pa.Array) -> list[NDArray[np.int64]]:
    return [np.asarray(row.values, np.int64) if row.is_valid else np.zeros(0, np.int64) for row in column]


def _batch(found: list[Duplicate]) -> pa.RecordBatch:
    rows = [(d.doc_id, d.dup_of, d.similarity.jaccard, d.similarity.containment, d.bands_matched) for d in found]
    columns = zip(*rows, strict=True) if rows else ([] for _ in DUPLICATES)
    return pa.RecordBatch.from_arrays([pa.array(list(c), f.type) for c, f in zip(columns, DUPLICATES, strict=True)], schema=DUPLICATES)
