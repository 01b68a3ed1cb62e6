"""Rows of plain files as Arrow batches, held in memory up to a bound and beyond it in files of the staging folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.dedup.errors import FilesRefusedError
from jobs.dedup.jsonl import BadLine, tables
from schemas.errors import InputRefusedError
from udfs.readers.files import list_files
from udfs.readers.sniff import sniff_file
from udfs.readers.streams import StreamFaultError, decompress

#: Bytes of rows that are held in memory between the passes.
MEMORY_BYTES = 1 << 30
#: Uncompressed bytes that one batch of a Parquet file should hold.
BATCH_BYTES = 16 << 20


@dataclass
class Rejected:
    """A line that is no record, and its file."""

    path: str
    bad: BadLine


@dataclass
class Rows:
    """All rows in order of file and place, to be gone through more than once."""

    folder: Path
    memory_bytes: int = MEMORY_BYTES
    schemas: list[pa.Schema] = field(default_factory=list)
    _held: list[pa.RecordBatch | Path] = field(default_factory=list)
    _bytes: int = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""
        if batch.schema not in self.schemas:
            self.schemas.append(batch.schema)
        self._bytes += batch.nbytes
        if self._bytes <= self.memory_bytes:
            self._held.append(batch)
            return
        self.folder.mkdir(exist_ok=True)
        path = self.folder / f"{len(self._held):08d}.arrow"
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
            writer.write_batch(batch)
        self._held.append(path)

    def __len__(self) -> int:
        return len(self._held)

    def get(self, at: int) -> pa.RecordBatch:
        """A batch by its ordinal; one that lies in a file is mapped, not read."""
        held = self._held[at]
        return pa.ipc.open_file(pa.memory_map(str(held))).get_batch(0) if isinstance(held, Path) else held


def batches(source: Path, rejected: list[Rejected]) -> Iterator[pa.RecordBatch]:
    """Every row of a file, or of the files of a folder in order of their names, as it is; lines that are no record go to ``rejected``.

    Raises:
        InputRefusedError: the path does not exist.
        FilesRefusedError: a file is of another format or breaks off.
    """
    for file in list_files([source]):
        name = os.fsdecode(file.location)
        try:
            with open(file.location, "rb") as opened:  # noqa: PTH123 -- names that are not UTF-8 are bytes
                found = sniff_file(opened)
                opened.seek(0)
                if found.kind == "parquet":
                    yield from parquet_batches(pq.ParquetFile(opened, pre_buffer=False))
                elif found.kind == "jsonl":
                    for table, bad in tables(decompress(opened, found.compression)):
                        rejected.extend(Rejected(file.relative, line) for line in bad)
                        yield from (batch for batch in table.combine_chunks().to_batches() if batch.num_rows)
                elif found.kind != "empty":
                    raise FilesRefusedError.from_unusable(name, found.detail or f"it holds {found.kind}")
        except (pa.ArrowException, StreamFaultError) as error:
            raise FilesRefusedError.from_unusable(name, (str(error).splitlines() or [type(error).__name__])[0]) from error
        except OSError as error:
            raise InputRefusedError(f"{name}: {error.strerror or error}") from error


def parquet_batches(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    """All rows of a file in order, in batches of about ``BATCH_BYTES``; no batch spans two row groups."""
    for group in range(file.num_row_groups):
        meta = file.metadata.row_group(group)
        size = max(1, BATCH_BYTES * meta.num_rows // max(1, meta.total_byte_size))
        yield from file.iter_batches(batch_size=size, row_groups=[group])
