"""Requests to a conversion engine: what is asked, under which hash."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from schemas.handoff import CONVERT_SHARD
from schemas.ids import content_id

#: Version of the shape in which a reply is expected (the columns of silver.qa that an engine knows).
OUTPUT_SCHEMA = "qa_items@1"

#: A document to be asked about: ``earlier_reply`` where one was paid for, ``draw`` = failures of this request so far.
TO_ASK = pa.schema([field for field in CONVERT_SHARD if field.name != "request_hash"])


def template_of(engine: str, version: str, max_items: int) -> str:
    """Name of the rule set or template of a request, with what it was asked for."""
    return f"{engine}@{version}+max_items={max_items}"


def requests(batches: Iterator[pa.RecordBatch], engine: str, version: str, template: str) -> Iterator[pa.RecordBatch]:
    """``TO_ASK`` -> ``CONVERT_SHARD``: each document with the hash of its request.

    The hash covers engine and revision, everything the engine is shown, template, output schema and the ordinal of the draw.
    """
    shown = ("doc_id", "source", "uri", "title", "text", "metadata")
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in (*shown, "draw")]
        hashes = [
            content_id(engine, version, values[:-1], template, OUTPUT_SCHEMA, {}, values[-1]) for values in zip(*columns, strict=True)
        ]
        arrays = {name: batch.column(name) for name in batch.schema.names} | {"request_hash": pa.array(hashes, pa.string())}
        yield pa.RecordBatch.from_arrays(
            [arrays[name].cast(CONVERT_SHARD.field(name).type) for name in CONVERT_SHARD.names], schema=CONVERT_SHARD
        )
