"""Where answered rows go: stdout, or a file that takes its name only when it is whole."""

from __future__ import annotations

import fcntl
import gzip
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, cast

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from jobs.dedup.columns import conform, one_schema
from jobs.dedup.jsonl import tables
from jobs.dedup.source import Rows
from jobs.grade.errors import OutputRefusedError
from jobs.grade.source import LineSource, RowSource
from udfs.killpoints import reach
from udfs.readers.streams import decompress
from udfs.verifiers.chunks import Form

Format = Literal["lines", "gzip", "zstd", "parquet"]

#: Uncompressed bytes of a row group, and rows held in memory before they go to a file; fixed, so that files do not depend on the machine.
GROUP_BYTES, MEMORY_BYTES = 32 << 20, 64 << 20
MAX_GROUP_ROWS = 1 << 20
_NAMES: tuple[tuple[str, Format], ...] = (
    (r"\.(?:jsonl|ndjson|json)", "lines"),
    (r"\.(?:jsonl|ndjson|json)\.gz", "gzip"),
    (r"\.(?:jsonl|ndjson|json)\.zst", "zstd"),
    (r"\.(?:parquet|pq)", "parquet"),
)


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of answered rows.

    Attributes:
        results: those that the command adds.
        of: all of them, for a file with these columns.
    """

    results: tuple[pa.Field, ...]
    of: Callable[[pa.Schema], pa.Schema]


class Sink(Protocol):
    """Takes graded chunks in order."""

    #: What a chunk must be spelt in.
    form: Form

    def write(self, payload: bytes) -> None:
        """One chunk more."""
        ...


def format_of(out: Path) -> Format:
    """The format that a name's extension asks for.

    Raises:
        OutputRefusedError: it asks for none of ours.
    """
    for pattern, found in _NAMES:
        if re.search(pattern + r"\Z", out.name, re.IGNORECASE):
            return found
    raise OutputRefusedError.from_extension(str(out))


@contextmanager
def open_sink(out: Path | None, source: LineSource | RowSource, columns: Columns) -> Iterator[Sink]:
    """Stdout, or a file that is there, whole, when the block has ended well, and of which nothing is left when not.

    Args:
        out: its name; None: stdout.
        source: of the rows, whose columns go on.
        columns: of the answered rows.

    Raises:
        OutputRefusedError: there is something of that name, its extension is unknown, or another process writes it.
    """
    if out is None:
        yield _Lines(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    kind = format_of(out)
    with _partial(out) as path, ExitStack() as stack:
        if kind != "parquet":
            yield _Lines(stack.enter_context(_packed(path, kind)))
        elif source.schema is not None and isinstance(source, RowSource):
            yield stack.enter_context(_batches(path, columns.of(source.schema), source.row_bytes))
        else:
            yield stack.enter_context(_spooled(path, columns.results))
        stack.close()
        reach("grade_file/before_rename")
        if out.exists():
            raise OutputRefusedError.from_existing(str(out))
        path.rename(out)


@contextmanager
def _partial(out: Path) -> Iterator[Path]:
    """A file beside ``out`` that no other process writes, empty; what is left of it at the end goes."""
    if out.exists() or out.is_symlink():
        raise OutputRefusedError.from_existing(str(out))
    path = out.absolute().parent / f".{out.name}.partial"
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ours = path.exists() and os.path.samestat(os.fstat(descriptor), path.stat())
        except BlockingIOError:
            ours = False
        if not ours:  # locked, or finished and renamed since it was opened
            raise OutputRefusedError.from_second(str(out))
        os.truncate(descriptor, 0)  # of a run that was killed
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


class _Lines:
    form: Form = "lines"

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, payload: bytes) -> None:
        self._file.write(payload)


@contextmanager
def _packed(path: Path, kind: Format) -> Iterator[BinaryIO]:
    with path.open("wb") as raw:
        if kind == "gzip":
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as file:  # neither name nor day in it
                yield cast("BinaryIO", file)
        elif kind == "zstd":
            with zstandard.ZstdCompressor().stream_writer(raw, closefd=False) as file:
                yield cast("BinaryIO", file)
        else:
            yield raw


class _Batches:
    """Row groups of as many rows as hold about ``GROUP_BYTES`` by the source's own figures, however the rows arrive."""

    form: Form = "batch"

    def __init__(self, writer: pq.ParquetWriter, rows: int) -> None:
        self._writer, self._rows = writer, rows
        self._held: list[pa.Table] = []
        self._count = 0

    def write(self, payload: bytes) -> None:
        with pa.ipc.open_stream(payload) as stream:
            table = stream.read_all()
        self._held.append(table)
        self._count += table.num_rows
        while self._count >= self._rows:
            self.flush(self._rows)

    def flush(self, rows: int) -> None:
        """The first ``rows`` held as a row group."""
        table = pa.concat_tables(self._held)
        self._held, self._count = [table.slice(rows)], max(0, table.num_rows - rows)
        if table.num_rows:
            self._writer.write_table(table.slice(0, rows).combine_chunks(), row_group_size=rows)


@contextmanager
def _batches(path: Path, schema: pa.Schema, row_bytes: float) -> Iterator[Sink]:
    rows = min(MAX_GROUP_ROWS, max(1, int(GROUP_BYTES / row_bytes)))
    with pq.ParquetWriter(path, schema, compression="zstd", compression_level=1) as writer:
        sink = _Batches(writer, rows)
        yield sink
        sink.flush(rows)


@contextmanager
def _spooled(path: Path, results: tuple[pa.Field, ...]) -> Iterator[Sink]:
    """Lines first, for only the last one tells the types of all columns; then Parquet. Both depend on the lines alone, not on chunks."""
    folder = path.with_name(path.name + ".rows")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        with _packed(folder / "lines.zst", "zstd") as file:
            yield _Lines(file)
        rows = Rows(folder / "batches", MEMORY_BYTES)
        with (folder / "lines.zst").open("rb") as file:
            for table, bad in tables(decompress(file, "zstd")):
                if bad:
                    raise AssertionError(f"an answered row is no JSON: {bad[0]}")
                for batch in table.combine_chunks().to_batches():
                    rows.add(_typed(batch, results))
        _write(rows, path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _typed(batch: pa.RecordBatch, results: tuple[pa.Field, ...]) -> pa.RecordBatch:
    """Results in their own types: a batch without one reward would have a column of nulls."""
    types = {field.name: field for field in results}
    fields = [types.get(field.name, field) for field in batch.schema]
    return pa.RecordBatch.from_arrays(
        [column.cast(field.type) for column, field in zip(batch.columns, fields, strict=True)], schema=pa.schema(fields)
    )


def _write(rows: Rows, path: Path) -> None:
    schema = one_schema(rows)
    with pq.ParquetWriter(path, schema, compression="zstd", compression_level=1) as writer:
        held: list[pa.RecordBatch] = []
        size = 0
        for at in range(len(rows)):
            held.append(conform(rows.get(at), schema))
            size += held[-1].nbytes
            if size >= GROUP_BYTES or at == len(rows) - 1:
                writer.write_table(pa.Table.from_batches(held, schema))
                held, size = [], 0
