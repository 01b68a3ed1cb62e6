"""A readable sample of a published set: a few rows as JSON lines and as a small table, texts cut. Rows are data: nothing in them is rendered."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.views.visible import visible

#: Characters kept of a text, in JSON lines and in the table.
_LINE, _CELL = 2000, 300


def sample_rows(files: Iterable[Path], wanted: int) -> list[dict[str, Any]]:
    """The first rows of files that are evenly spaced: rows are sorted by content hashes, so the first are as good as any.

    Args:
        files: Parquet files of one set, in the order of its manifest.
        wanted: most rows to return.
    """
    paths = list(files)
    if not paths or wanted <= 0:
        return []
    chosen = [paths[index * len(paths) // min(wanted, len(paths))] for index in range(min(wanted, len(paths)))]
    rows: list[dict[str, Any]] = []
    for ordinal, path in enumerate(chosen):
        share = -(-(wanted - len(rows)) // (len(chosen) - ordinal))
        with pq.ParquetFile(path) as held:
            batch = next(held.iter_batches(batch_size=max(share, 1)), None)
        if batch is not None:
            rows += pa.Table.from_batches([batch]).slice(0, share).to_pylist()
    return rows[:wanted]


def as_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """JSON lines; every character beyond ASCII is escaped, so that no viewer is steered by what a document says."""
    return "".join(json.dumps({key: _cut(value, _LINE) for key, value in row.items()}, default=str) + "\n" for row in rows)


def as_table(rows: list[dict[str, Any]], columns: list[str]) -> str:
    """The form in which MLflow shows a table: columns and data."""
    data = [[_cell(row.get(name)) for name in columns] for row in rows]
    return json.dumps({"columns": columns, "data": data}, default=str)


def _cell(value: Any) -> Any:
    if isinstance(value, list | dict):
        value = json.dumps(value, default=str, ensure_ascii=False)
    return visible(value, _CELL) if isinstance(value, str) else _known(value)


def _cut(value: Any, limit: int) -> Any:
    if isinstance(value, str) and len(value) > limit:
        return f"{value[:limit]} ... ({len(value) - limit} characters more)"
    return _known(value)


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
