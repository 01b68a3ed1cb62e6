"""Decontamination over Arrow batches: what Spark maps over documents, questions and tasks, and over the matches they gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from schemas.ids import canonical_json
from udfs.decontamination.index import Index
from udfs.decontamination.offsets import original_spans
from udfs.decontamination.score import Match, Matcher, without_common
from udfs.dedup.kernel import KernelName

Batches = Iterator[pa.RecordBatch]

_LONGS = pa.list_(pa.field("element", pa.int64(), nullable=True))
#: A match, or (``row_id`` null) how often an n-gram stands in rows of a batch that hold none of its items.
RAW = pa.schema(
    [
        pa.field("row_id", pa.string()),
        pa.field("doc_id", pa.string()),
        pa.field("field", pa.int64()),
        pa.field("part", pa.string()),
        pa.field("coverage", pa.float64()),
        pa.field("matched", pa.int32()),
        pa.field("counted", pa.int32()),
        pa.field("start", pa.int64()),
        pa.field("end", pa.int64()),
        pa.field("grams", _LONGS),
        pa.field("held", _LONGS),
        pa.field("gram", pa.int64()),
        pa.field("rows", pa.int64()),
    ]
)
#: A match as it goes on: the item by name.
FOUND = pa.schema(
    [
        pa.field("row_id", pa.string(), nullable=False),
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("benchmark", pa.string(), nullable=False),
        pa.field("item_id", pa.string(), nullable=False),
        pa.field("part", pa.string(), nullable=False),
        pa.field("coverage", pa.float64(), nullable=False),
        pa.field("matched_tokens", pa.int32(), nullable=False),
        pa.field("item_tokens", pa.int32(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("end", pa.int64(), nullable=False),
        pa.field("evidence", pa.string(), nullable=False),
    ]
)

#: One matcher a process and index: its tables are made once, not once a task.
_MATCHERS: dict[tuple[int, str], tuple[Index, Matcher]] = {}


def _matcher(index: Index, kernel: KernelName) -> Matcher:
    held = _MATCHERS.get((id(index), kernel))
    if held is None or held[0] is not index:
        _MATCHERS.clear()
        held = _MATCHERS[id(index), kernel] = index, Matcher(index, kernel)
    return held[1]


def raw_batches(batches: Batches, *, index: Callable[[], Index], kernel: KernelName = "auto") -> Batches:
    """Rows (row_id, doc_id, text) -> ``RAW``.

    Args:
        batches: texts; a null text matches nothing.
        index: gives the index in this process.
        kernel: which implementation runs; same results.
    """
    matcher = _matcher(index(), kernel)
    stray: Counter[int] = Counter()
    for batch in batches:
        matches = matcher(batch.column("text"))
        for gram, rows in zip(*(side.tolist() for side in matches.stray), strict=True):
            stray[gram] += rows
        rows = _raw_rows(batch, matches.found)
        if rows:
            yield pa.RecordBatch.from_pylist(rows, schema=RAW)
    if stray:
        yield pa.RecordBatch.from_pylist([{"gram": gram, "rows": rows} for gram, rows in sorted(stray.items())], schema=RAW)


def _raw_rows(batch: pa.RecordBatch, found: Sequence[Match]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    held: tuple[int, list[tuple[int, int]]] = (-1, [])
    for match in found:
        if held[0] != match.row:
            held = match.row, original_spans(batch.column("text")[match.row].as_py())
        spans = held[1]
        out.append({
            "row_id": batch.column("row_id")[match.row].as_py(), "doc_id": batch.column("doc_id")[match.row].as_py(), "field": match.field,
            "part": match.part, "coverage": match.coverage, "matched": match.matched, "counted": match.counted,
            "start": spans[match.start][0], "end": spans[match.end - 1][1], "grams": list(match.grams), "held": list(match.held),
        })  # fmt: skip
    return out


def found_batches(batches: Batches, *, index: Callable[[], Index], common: Sequence[int]) -> Batches:
    """Matches of ``RAW`` -> ``FOUND``, measured again without common phrases; what falls short then is no match."""
    held, without = index(), np.array(sorted(common), np.int64)
    for batch in batches:
        rows = [row for raw in batch.to_pylist() if (row := _found_row(held, raw, without)) is not None]
        if rows:
            yield pa.RecordBatch.from_pylist(rows, schema=FOUND)


def _found_row(index: Index, raw: dict[str, Any], common: np.ndarray[Any, np.dtype[np.int64]]) -> dict[str, Any] | None:
    matched, counted, coverage = raw["matched"], raw["counted"], raw["coverage"]
    if raw["grams"] and len(common):
        left = without_common(index, raw["field"], np.array(raw["grams"], np.int64), np.array(raw["held"], np.int64), common)
        if left is None:
            return None
        coverage, matched, counted = left
    item = int(index.item[raw["field"]])
    evidence = {
        "benchmark": index.sets[item],
        "item": index.item_ids[item],
        "part": raw["part"],
        "coverage": round(coverage, 4),
        "start": raw["start"],
        "end": raw["end"],
    }
    return {
        "row_id": raw["row_id"], "doc_id": raw["doc_id"], "benchmark": index.sets[item], "item_id": index.item_ids[item], "part": raw["part"],
        "coverage": coverage, "matched_tokens": matched, "item_tokens": counted, "start": raw["start"], "end": raw["end"],
        "evidence": canonical_json(evidence),
    }  # fmt: skip
