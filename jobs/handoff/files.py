"""Files that tasks write and the driver promotes: a task may run twice, so its files carry names of their own (DESIGN section 6)."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from udfs.store.file_store import FileStore

#: Below a run's root; removed once the driver has promoted what it lists.
ATTEMPTS = ".attempts"


def write_attempt(folder: str, table: pa.Table) -> str:
    """Write a table under a fresh name in ``folder``; returns the path. Runs in tasks."""
    path = Path(folder) / f"{uuid.uuid4().hex}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="zstd")
    return str(path)


def promote(store: FileStore, path: str, name: str) -> None:
    """Give a task's file its name; durable when this returns."""
    store.publish(Path(path), name)


def clear(store: FileStore) -> None:
    """Remove what tasks that ran twice, or an earlier driver, left."""
    shutil.rmtree(store.path(ATTEMPTS), ignore_errors=True)
