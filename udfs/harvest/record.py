"""One document of the harvested corpus, and the three file formats in which it is written."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from schemas.ids import canonical_json

ZSTD_LEVEL = 6


@dataclass(frozen=True, slots=True)
class Record:
    """A document with the fields that ``[ingest]`` expects by default; ``extra`` becomes metadata."""

    id: str
    title: str
    text: str
    license: str
    extra: dict[str, str] = field(default_factory=dict)

    def fields(self) -> dict[str, str]:
        """The record as a flat row."""
        return {"id": self.id, "title": self.title, "text": self.text, "license": self.license, **self.extra}

    def storable(self) -> bool:
        """Whether the text can be written as UTF-8 (docstrings about Unicode may hold lone surrogates)."""
        try:
            (self.title + self.text).encode("utf-8")
        except UnicodeEncodeError:
            return False
        return bool(self.text.strip())


def _jsonl(records: Sequence[Record]) -> bytes:
    return "".join(canonical_json(record.fields()) + "\n" for record in records).encode("utf-8")


def write_jsonl_gz(path: Path, records: Sequence[Record]) -> None:
    """JSON Lines in gzip, without name or time in its header, so that equal records give equal bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as stream:
        stream.write(_jsonl(records))
    path.write_bytes(buffer.getvalue())


def write_jsonl_zst(path: Path, records: Sequence[Record]) -> None:
    """JSON Lines in zstandard."""
    path.write_bytes(zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(_jsonl(records)))


def write_parquet(path: Path, records: Sequence[Record]) -> None:
    """Parquet, one string column per field; fields that a record lacks are null."""
    names = list(dict.fromkeys(name for record in records for name in record.fields()))
    rows = [record.fields() for record in records]
    columns = {name: pa.array([row.get(name) for row in rows], pa.string()) for name in names}
    pq.write_table(pa.table(columns), path, compression="zstd")


Writer = Callable[[Path, Sequence[Record]], None]
