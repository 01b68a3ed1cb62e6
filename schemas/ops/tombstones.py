"""ops.tombstones: sources that were taken down."""

import pyarrow as pa

from schemas.table import TIMESTAMP, Table, column

TOMBSTONES = Table(
    name="ops.tombstones",
    comment="Append-only: one row a document that was taken down; it is never planned, trained on or published again.",
    schema=pa.schema(
        [
            column("event_id", pa.string(), "content_id(doc_id, state)"),
            column("takedown_id", pa.string(), "content_id over the selector: one takedown may hold many documents"),
            column("doc_id", pa.string(), "bronze.documents"),
            column("state", pa.string(), "tombstoned, purged"),
            column("selector", pa.string(), "canonical JSON: uri, doc, licence or source that was asked for"),
            column("reason", pa.string(), "why, as given"),
            column("at", TIMESTAMP, "when"),
        ]
    ),
    key=("event_id",),
    partition=None,
    volatile=("at",),
    writer="deltalake",
)
