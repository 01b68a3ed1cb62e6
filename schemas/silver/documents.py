"""silver.documents: kept documents with their metrics."""

import pyarrow as pa

from schemas.silver.document_profiles import METRICS
from schemas.table import Table, column

DOCUMENTS = Table(
    name="silver.documents",
    comment="Documents that curation kept, with metrics, near-duplicate cluster and split.",
    schema=pa.schema(
        [
            column("doc_id", pa.string(), "bronze.documents"),
            column("ingest_id", pa.string(), "which ingest brought it"),
            column("ingest_seq", pa.int32(), "ordinal of the ingest"),
            column("source", pa.string(), "collection"),
            column("uri", pa.string(), "address"),
            column("title", pa.string(), "title where known", null=True),
            column("text", pa.string(), "the document, unchanged: evidence offsets point into it"),
            column("licence", pa.string(), "licence where known", null=True),
            column("metadata", pa.string(), "canonical JSON"),
            column("cluster_id", pa.string(), "doc_id of the kept member of its near-duplicate cluster (its own where alone)"),
            column("split", pa.string(), "train or eval, by cluster_id"),
            *METRICS,
        ]
    ),
    key=("doc_id",),
    partition="ingest_id",
)
