"""bronze.rejects: what could not be read."""

import pyarrow as pa

from schemas.table import TIMESTAMP, Table, column

REJECTS = Table(
    name="bronze.rejects",
    comment="What an ingest could not read: where, why, and the first bytes.",
    schema=pa.schema(
        [
            column("ingest_id", pa.string(), "which ingest met it"),
            column("source", pa.string(), "name of the collection"),
            column("path", pa.string(), "file, relative to the argument of the ingest"),
            column("position", pa.int64(), "line, row, block or byte offset within the file; -1 where the file as a whole is meant"),
            column(
                "reason",
                pa.string(),
                "not_json, not_object, no_text, empty_text, text_not_string, invalid_utf8, truncated_gzip, truncated_zstd, ...",
            ),
            column("detail", pa.string(), "the reader's own words"),
            column("first_bytes", pa.binary(), "at most 200 bytes of the record"),
            column("rejected_at", TIMESTAMP, "when it was met"),
        ]
    ),
    key=("ingest_id", "path", "position"),
    partition="ingest_id",
    volatile=("rejected_at",),
    append_only=True,
)
