"""What is written: kept rows as they came, one row a duplicate, a summary; all under a temporary name first."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from jobs.dedup.columns import conform
from jobs.dedup.errors import OutputExistsError
from jobs.dedup.source import Rejected, Rows
from udfs.killpoints import reach

#: Bytes of rows in a file of kept rows, and in a row group of it; fixed, so that files do not depend on the machine.
PART_BYTES, GROUP_BYTES = 256 << 20, 32 << 20


@contextmanager
def staging(out: Path) -> Iterator[Path]:
    """A folder beside ``out`` that takes its name when all went well, and goes when not.

    Raises:
        OutputExistsError: there is something of that name.
    """
    if out.exists() or out.is_symlink():
        raise OutputExistsError.from_path(str(out))
    folder = out.absolute().parent / f".{out.name}.partial"
    shutil.rmtree(folder, ignore_errors=True)  # of a run that was killed
    folder.mkdir(parents=True)
    try:
        yield folder
        reach("dedup_files/before_rename")
        if out.exists():
            raise OutputExistsError.from_path(str(out))
        folder.rename(out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_kept(rows: Rows, keep: NDArray[np.bool_], schema: pa.Schema, folder: Path, pool: Executor) -> None:
    """kept/part-NNNNN.parquet: the kept rows in their order."""
    folder.mkdir()
    parts: list[list[tuple[int, int]]] = [[]]
    first, size = 0, 0
    for at in range(len(rows)):
        batch = rows.get(at)
        if size >= PART_BYTES:
            parts.append([])
            size = 0
        parts[-1].append((at, first))
        first, size = first + batch.num_rows, size + batch.nbytes
    done = [pool.submit(_write_part, rows, part, keep, schema, folder / f"part-{n:05d}.parquet") for n, part in enumerate(parts)]
    for future in done:
        future.result()


def _write_part(rows: Rows, part: list[tuple[int, int]], keep: NDArray[np.bool_], schema: pa.Schema, path: Path) -> None:
    with pq.ParquetWriter(path, schema, compression="zstd", compression_level=1) as writer:
        held: list[pa.RecordBatch] = []
        size = 0
        for at, first in part:
            batch = rows.get(at)
            mask = keep[first : first + batch.num_rows]
            held.append(conform(batch if mask.all() else batch.filter(pa.array(mask)), schema))
            size += held[-1].nbytes
            if size >= GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(held, schema))
                held, size = [], 0
        if held:
            writer.write_table(pa.Table.from_batches(held, schema))


def write_rejected(rejected: list[Rejected], folder: Path) -> None:
    """rejects.parquet, where there is any: path, line, reason, first bytes."""
    if rejected:
        rows = [{"path": r.path, "line": r.bad.line, "reason": r.bad.reason, "first_bytes": r.bad.first_bytes} for r in rejected]
        schema = pa.schema([("path", pa.string()), ("line", pa.int64()), ("reason", pa.string()), ("first_bytes", pa.binary())])
        pq.write_table(pa.Table.from_pylist(rows, schema), folder / "rejects.parquet")


def write_summary(summary: dict[str, Any], folder: Path) -> None:
    """summary.json."""
    (folder / "summary.json").write_text(json.dumps(summary, indent=2, sort_keys=True) + "\n")
