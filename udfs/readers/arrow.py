"""The reader as a stream of Arrow batches: a list of files in, their records and rejects out. Spark only maps it over partitions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from schemas.conf import Ingest
from schemas.errors import VerilakeError
from schemas.ids import canonical_json, content_id
from udfs.readers.files import InputFile, file_digest, file_state
from udfs.readers.parts import Part, Reached, counted_range, line_feeds
from udfs.readers.read import read
from udfs.readers.record import FIRST_BYTES, Record, Reject

FILES = pa.schema([
    pa.field("location", pa.binary(), nullable=False),
    pa.field("relative", pa.string(), nullable=False),
    pa.field("source", pa.string(), nullable=False),
    pa.field("size", pa.int64(), nullable=False),
    pa.field("digest", pa.string()),
])  # fmt: skip

#: Ranges of files, which the tasks read.
PARTS = pa.schema([
    *FILES,
    pa.field("modified", pa.int64(), nullable=False),
    pa.field("begin", pa.int64(), nullable=False),
    pa.field("end", pa.int64(), nullable=False),
    pa.field("line", pa.int64(), nullable=False),
])  # fmt: skip

#: In place of a reason: no reject, but what the reader of a part has met, for the driver alone.
REACHED = "reached"

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


def parts_table(parts: Iterable[tuple[InputFile, str, Part]]) -> pa.Table:
    """Files with their digests and ranges, as Spark spreads them over its tasks."""
    rows = [
        {
            "location": f.location, "relative": f.relative, "source": f.source, "size": f.size, "digest": digest, "modified": f.modified,
            "begin": part.begin, "end": part.end, "line": part.line,
        }
        for f, digest, part in parts
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=PARTS)


def read_batches(batches: Iterable[pa.RecordBatch], conf: Ingest) -> Iterator[pa.RecordBatch]:
    """``PARTS`` in, ``ITEMS`` out, in bounded memory; within a part in order of position.

    The end of each part of an archive is a row whose reason is ``REACHED``.

    Raises:
        InputChangedError: a file's bytes are not those that the ingest's id was made of.
    """
    pending: list[dict[str, Any]] = []
    held = 0
    for batch in batches:
        for file in batch.to_pylist():
            part = Part(file["begin"], file["end"], file["line"])
            reached: list[Reached] = []
            for item in read(file["location"], conf, relative=file["relative"], part=part, told=reached.append):
                pending.append(_row(item, file))
                held += len(item.text) if isinstance(item, Record) else FIRST_BYTES
                if len(pending) >= BATCH_ROWS or held >= BATCH_BYTES:
                    yield pa.RecordBatch.from_pylist(pending, schema=ITEMS)
                    pending, held = [], 0
            _check_unchanged(file, part)
            if not part.whole:
                pending.extend(_reached_row(found, file) for found in reached)
    if pending:
        yield pa.RecordBatch.from_pylist(pending, schema=ITEMS)


def reached_of(row: dict[str, Any]) -> Reached:
    """The other way: from a row whose reason is ``REACHED``."""
    return Reached(**json.loads(row["detail"]))


def _reached_row(found: Reached, file: dict[str, Any]) -> dict[str, Any]:
    return {
        "path": file["relative"], "position": file["begin"], "source": file["source"], "reason": REACHED,
        "detail": canonical_json(asdict(found)), "first_bytes": b"",
    }  # fmt: skip


def _check_unchanged(file: dict[str, Any], part: Part) -> None:
    """A whole file by its bytes; a part by size and time, for each task would have to read all of the file."""
    if part.whole:
        digest = file_digest(file["location"])
        same, gone = digest == file["digest"], digest == "unreadable"
    else:
        state = file_state(file["location"])
        same, gone = state == (file["size"], file["modified"]), state[0] < 0
    if not same:
        raise InputChangedError.from_file(file["relative"], "cannot be read" if gone else "has changed")


def line_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """``PARTS`` in and out, with the line feeds of each part's ``counted_range`` as ``line``; -1 where the file cannot be read."""
    for batch in batches:
        counts = []
        for row in batch.to_pylist():
            try:
                with open(row["location"], "rb") as file:  # noqa: PTH123 - bytes
                    counts.append(line_feeds(file, *counted_range(Part(row["begin"], row["end"]))))
            except OSError:
                counts.append(-1)
        yield pa.RecordBatch.from_arrays([*batch.columns[:-1], pa.array(counts, pa.int64())], schema=PARTS)


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
