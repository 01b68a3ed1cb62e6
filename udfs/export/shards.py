"""Writes the Parquet files of a set: equal rows in equal order give equal bytes, on any machine with the same writer versions."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from udfs.export.checksum import RowChecksum
from udfs.export.rows import canonical, plain_schema, row_groups

#: Columns that the engine adds to a set's own: which file a row belongs to, and its hash.
SEGMENT, BUCKET, HASH = "_segment", "_bucket", "_hash"
#: Bytes of values in one row group at most: what a reader must hold at once.
MAX_GROUP_BYTES = 64 << 20
#: Raised with any change below that may alter a byte.
FORMAT = "1"

#: What a task tells of each file that it wrote.
WRITTEN = pa.schema(
    [
        pa.field("segment", pa.int32()), pa.field("bucket", pa.int32()), pa.field("attempt", pa.string()), pa.field("rows", pa.int64()),
        pa.field("bytes", pa.int64()), pa.field("sha256", pa.string()), pa.field("md5", pa.string()), pa.field("checksum", pa.string()),
    ]
)  # fmt: skip


def writer_versions(row_group_rows: int) -> dict[str, str]:
    """What decides the bytes besides the rows."""
    return {"format": FORMAT, "pyarrow": pa.__version__, "row_group_rows": str(row_group_rows), "row_group_bytes": str(MAX_GROUP_BYTES)}


@dataclass(frozen=True)
class Shape:
    """How files are written: columns, row group bound, and where to."""

    schema: pa.Schema
    row_group_rows: int
    folder: str


class _Hashing:
    """A file that hashes what passes through it; sha256 for the manifest, md5 because DVC's cache is addressed by it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.sha256, self.md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
        self.closed, self._size = False, 0

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._file.write(view)
        self.sha256.update(view)
        self.md5.update(view)
        self._size += len(view)
        return len(view)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self.closed = True


class ShardWriter:
    """One file under a name of this attempt's own; removed again unless :meth:`finish` was reached."""

    def __init__(self, shape: Shape) -> None:
        self._shape, self._schema = shape, plain_schema(shape.schema)
        self.attempt = f"{uuid.uuid4().hex}.parquet"
        self._path = Path(shape.folder) / self.attempt
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("xb")
        self._hashing = _Hashing(self._file)
        self._checksum = RowChecksum()
        self._finished = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()
        if not self._finished:
            self._path.unlink(missing_ok=True)

    def write(self, batches: Iterable[pa.RecordBatch]) -> dict[str, Any]:
        """Write all rows, durably; returns rows, bytes, hashes and the logical checksum.

        Raises:
            OSError: the disk is full, or worse.
        """
        writer = pq.ParquetWriter(
            self._hashing, self._schema, compression="zstd", compression_level=3, version="2.6", data_page_version="1.0", use_dictionary=True,
            write_statistics=True, store_schema=False, write_batch_size=1024, data_page_size=1 << 20, write_page_index=False,
        )  # fmt: skip
        try:
            for group in row_groups(self._canonical(batches), self._shape.row_group_rows, MAX_GROUP_BYTES):
                writer.write_table(group, row_group_size=group.num_rows)
        finally:
            writer.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._finished = True
        return {
            "attempt": self.attempt, "rows": self._checksum.rows, "bytes": self._hashing.tell(), "sha256": self._hashing.sha256.hexdigest(),
            "md5": self._hashing.md5.hexdigest(), "checksum": str(self._checksum),
        }  # fmt: skip

    def _canonical(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        for batch in batches:
            self._checksum.add(batch.column(batch.schema.get_field_index(HASH)).to_numpy())
            yield canonical(batch, self._schema)


def write_shards(batches: Iterator[pa.RecordBatch], shape: Shape) -> Iterator[pa.RecordBatch]:
    """The body of a task: batches sorted by segment and bucket become one file for each of these pairs.

    Args:
        batches: rows with the set's columns, :data:`SEGMENT` (its ordinal), :data:`BUCKET` and :data:`HASH`.
        shape: columns, bounds, folder.

    Yields:
        One batch of :data:`WRITTEN`, also where there was no row.
    """
    done = []
    runs = _Runs(batches)
    while (key := runs.next_key()) is not None:
        with ShardWriter(shape) as writer:
            done.append({"segment": key[0], "bucket": key[1], **writer.write(runs.rows_of(key))})
    yield pa.RecordBatch.from_pylist(done, schema=WRITTEN)


class _Runs:
    """Batches as runs of equal (segment, bucket)."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._rest: pa.RecordBatch | None = None

    def next_key(self) -> tuple[int, int] | None:
        """Of the next row; None at the end."""
        while self._rest is None or self._rest.num_rows == 0:
            self._rest = next(self._batches, None)
            if self._rest is None:
                return None
        return _keys(self._rest)[0][0], _keys(self._rest)[1][0]

    def rows_of(self, key: tuple[int, int]) -> Iterator[pa.RecordBatch]:
        """The rows up to the end of this key's run."""
        while self._rest is not None or self.next_key() == key:
            batch = self._rest
            if batch is None:
                return
            segments, buckets = _keys(batch)
            other = np.flatnonzero((segments != key[0]) | (buckets != key[1]))
            end = int(other[0]) if len(other) else batch.num_rows
            if end:
                yield batch.slice(0, end)
            if end < batch.num_rows:
                self._rest = batch.slice(end)
                return
            self._rest = None


def _keys(batch: pa.RecordBatch) -> tuple[Any, Any]:
    return batch.column(batch.schema.get_field_index(SEGMENT)).to_numpy(), batch.column(batch.schema.get_field_index(BUCKET)).to_numpy()
