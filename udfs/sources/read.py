"""The records of one file, each an object with its place; what is none is a reject as an ingest writes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from udfs.readers.jsonl import read_object
from udfs.readers.lines import split_lines
from udfs.readers.parquet import MAX_BATCH_ROWS, json_value
from udfs.readers.record import WHOLE_FILE, Place, Reject, reject, too_deep
from udfs.readers.sniff import sniff_file
from udfs.readers.streams import decompress


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One record.

    Attributes:
        place: file and position; its address where the item has no id.
        fields: JSON values by name.
        raw: its bytes, for a reject; empty for a row of Parquet.
    """

    place: Place
    fields: dict[str, Any]
    raw: bytes = b""


def read_records(path: Path, max_bytes: int) -> Iterator[SourceRecord | Reject]:
    """Every record of a file, or the reject that stands in its place, in order of position.

    Args:
        path: JSON lines (plain, gzip, zstd) or Parquet, told apart by content.
        max_bytes: longest line (``ingest.max_document_bytes``).
    """
    try:
        with path.open("rb") as file:
            found = sniff_file(file)
            file.seek(0)
            if found.kind == "parquet":
                yield from _parquet(file, path.name)
            elif found.kind == "jsonl":
                yield from _lines(file, found.compression, path.name, max_bytes)
            elif found.kind == "empty":
                yield reject(WHOLE_FILE, "empty_file", "no bytes")
            else:
                yield reject(
                    WHOLE_FILE, "unsupported_format", f"{found.kind}: give JSON lines (plain, gzip, zstd) or Parquet", file.read(256)
                )
    except OSError as error:
        yield reject(WHOLE_FILE, "unreadable", error.strerror or type(error).__name__)


def _lines(file: BinaryIO, compression: Any, name: str, max_bytes: int) -> Iterator[SourceRecord | Reject]:
    for line in split_lines(decompress(file, compression), max_bytes):
        if line.fault is not None:
            yield reject(line.number, line.fault.reason, line.fault.detail, line.data)
        elif line.too_long or line.data.strip():
            value = read_object(line, max_bytes)
            yield value if isinstance(value, Reject) else SourceRecord(Place(name, "L", line.number), value, line.data)


def _parquet(file: BinaryIO, name: str) -> Iterator[SourceRecord | Reject]:
    position = 0
    try:
        for batch in pq.ParquetFile(file).iter_batches(batch_size=MAX_BATCH_ROWS, use_threads=False):
            for fields in batch.to_pylist():
                value = json_value(fields)
                place = Place(name, "row", position)
                yield reject(position, "too_deep", "nested too deep") if too_deep(value) else SourceRecord(place, value)
                position += 1
    except (pa.ArrowException, ValueError) as error:
        yield reject(position or WHOLE_FILE, "corrupt_parquet", (str(error).splitlines() or [type(error).__name__])[0][:300])
