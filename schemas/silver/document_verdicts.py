"""silver.document_verdicts: one state for every document received."""

import pyarrow as pa

from schemas.table import Table, column

DOCUMENT_VERDICTS = Table(
    name="silver.document_verdicts",
    comment="What became of every document of bronze: kept, duplicate or rejected; why, by which evidence.",
    schema=pa.schema(
        [
            column("doc_id", pa.string(), "bronze.documents"),
            column("ingest_id", pa.string(), "which ingest brought it"),
            column("source", pa.string(), "collection"),
            column("state", pa.string(), "kept, duplicate, rejected"),
            column("reason", pa.string(), "kept, exact_duplicate, near_duplicate, too_short, too_long, repetition, symbols, ..."),
            column("dup_of", pa.string(), "the kept document it repeats", null=True),
            column("jaccard", pa.float64(), "exact Jaccard of the shingle sets to dup_of", null=True),
            column("containment", pa.float64(), "share of its shingles that dup_of holds", null=True),
            column("bands_matched", pa.int32(), "MinHash bands it shares with dup_of", null=True),
            column("evidence", pa.string(), "canonical JSON: metric, value, threshold"),
            column("scheme", pa.string(), "name and version of shingling and signature, and of the heuristics"),
        ]
    ),
    key=("doc_id",),
    partition="ingest_id",
    checks={
        "state_known": "state IN ('kept','duplicate','rejected')",
        "duplicate_has_original": "(state = 'duplicate') = (dup_of IS NOT NULL)",
    },
)
