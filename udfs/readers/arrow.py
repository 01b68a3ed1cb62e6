"""The reader as a stream of Arrow batches: a list of files in, their records and rejects out. Spark only maps it over partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from schemas.conf import Ingest
from schemas.errors import VerilakeError
from schemas.ids import content_id
from udfs.readers.files import InputFile, file_digest
from udfs.readers.read import read
from udfs.readers.record import FIRST_BYTES, Record, Reject

FILES = pa.schema([
    pa.field("location", pa.binary(), nullable=False),
    pa.field("relative", pa.string(), nullable=False),
    pa.field("source", pa.string(), nullable=False),
    pa.field("size", pa.int64(), nullable=False),
    pa.field("digest", pa.string()),
])  # fmt: skip

#: A record where ``reason`` is null, else a reject.
ITEMS = pa.schema([
    pa.field("path", pa.string(), nullable=False),
    pa.field("position", pa.int64(), nullable=False),
    pa.field("source", pa.string(), nullable=False),
    pa.field("doc_id", pa.string()),
    pa.field("uri", pa.string()),
    pa.field("title", pa.string()),
    pa.field("text", pa.string()),
    pa.field("licence", pa.string()),
    pa.field("metadata", pa.string()),
    pa.field("reason", pa.string()),
    pa.field("detail", pa.string()),
    pa.field("first_bytes", pa.binary(), nullable=False),
])  # fmt: skip

#: A batch goes out once it holds so many rows or so many bytes of text, whichever comes first.
BATCH_ROWS = 2000
BATCH_BYTES = 1 << 23


class InputChangedError(VerilakeError):
    """A file is not what it was when the ingest listed it."""

    exit_code = 3

    @classmethod
    def from_file(cls, relative: str, detail: str) -> InputChangedError:
        """The file grew, shrank, changed or is not there (on this machine)."""
        return cls(
            f"{relative}: {detail} since the ingest listed it. Nothing was written; run it again once the files are at rest. "
            "On a cluster every node must see the files under the same path."
        )


def files_table(files: Iterable[InputFile], digests: Iterable[str]) -> pa.Table:
    """The list of files as Spark spreads it over its tasks."""
    rows = [
        {"location": f.location, "relative": f.relative, "source": f.source, "size": f.size, "digest": digest}
        for f, digest in zip(files, digests, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=FILES)


def read_batches(batches: Iterable[pa.RecordBatch], conf: Ingest) -> Iterator[pa.RecordBatch]:
    """``FILES`` in, ``ITEMS`` out, in bounded memory; within a file in order of position.

    Raises:
        InputChangedError: a file's bytes are not those that the ingest's id was made of.
    """
    pending: list[dict[str, Any]] = []
    held = 0
    for batch in batches:
        for file in batch.to_pylist():
            for item in read(file["location"], conf, relative=file["relative"]):
                pending.append(_row(item, file))
                held += len(item.text) if isinstance(item, Record) else FIRST_BYTES
                if len(pending) >= BATCH_ROWS or held >= BATCH_BYTES:
                    yield pa.RecordBatch.from_pylist(pending, schema=ITEMS)
                    pending, held = [], 0
            digest = file_digest(file["location"])
            if digest != file["digest"]:
                raise InputChangedError.from_file(file["relative"], "cannot be read" if digest == "unreadable" else "has changed")
    if pending:
        yield pa.RecordBatch.from_pylist(pending, schema=ITEMS)


def digest_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """``FILES`` in and out, with the digest filled in."""
    for batch in batches:
        digests = [file_digest(location) for location in batch.column("location").to_pylist()]
        yield pa.RecordBatch.from_arrays([*batch.columns[:-1], pa.array(digests, pa.string())], schema=FILES)


def _row(item: Record | Reject, file: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"path": file["relative"], "position": item.position, "source": file["source"]}
    if isinstance(item, Reject):
        return row | {"reason": item.reason, "detail": item.detail, "first_bytes": item.first_bytes}
    return row | {
        "doc_id": content_id(file["source"], item.uri, item.text),
        "uri": item.uri, "title": item.title, "text": item.text, "licence": item.licence, "metadata": item.metadata,
        "first_bytes": item.text[:FIRST_BYTES].encode()[:FIRST_BYTES],
    }  # fmt: skip
