"""bronze.documents: text as received."""

import pyarrow as pa

from schemas.table import TIMESTAMP, Table, column

DOCUMENTS = Table(
    name="bronze.documents",
    comment="Documents as received, one row per record that could be read; append by ingest.",
    schema=pa.schema(
        [
            column("doc_id", pa.string(), "content_id(source, uri, text)"),
            column("ingest_id", pa.string(), "which ingest brought it"),
            column("ingest_seq", pa.int32(), "ordinal of the ingest in this lake; earlier ingests win over later ones in curation"),
            column("source", pa.string(), "name of the collection, as given on the command line or the file's stem"),
            column("uri", pa.string(), "the record's own address where it has one, else relative-path#position"),
            column("title", pa.string(), "title field where the record has one", null=True),
            column("text", pa.string(), "the document"),
            column("licence", pa.string(), "licence field where the record has one", null=True),
            column("metadata", pa.string(), "all other fields of the record as canonical JSON"),
            column("path", pa.string(), "file it was read from, relative to the argument of the ingest"),
            column(
                "position",
                pa.int64(),
                "line (JSONL, from 1), row (Parquet, from 0), block (text, from 0) or byte offset (WARC, of the packed member) within the file",
            ),
            column("fetched_at", TIMESTAMP, "when it was ingested"),
        ]
    ),
    key=("doc_id",),
    partition="ingest_id",
    volatile=("fetched_at",),
)
