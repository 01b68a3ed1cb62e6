"""silver.documents: kept documents with their metrics. Personal data is masked here and not in bronze; ``n_chars`` is that of the masked text."""

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
            column("text", pa.string(), "the document as received but for what masked names: evidence offsets point into this text"),
            column("licence", pa.string(), "licence where known", null=True),
            column("metadata", pa.string(), "canonical JSON"),
            column("cluster_id", pa.string(), "doc_id of the kept member of its near-duplicate cluster (its own where alone)"),
            column("split", pa.string(), "train or eval, by cluster_id"),
            *METRICS,
            column("language", pa.string(), "ISO 639 code, und where undetermined; null in rows of schema version 2", null=True),
            column("language_score", pa.float64(), "the model's probability of it", null=True),
            column(
                "masked",
                pa.string(),
                "spans of bronze's text that placeholders stand for, as in silver.document_profiles; null where nothing is masked",
                null=True,
            ),
        ]
    ),
    key=("doc_id",),
    partition="ingest_id",
)
