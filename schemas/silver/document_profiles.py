"""silver.document_profiles: what curation computes from a text alone."""

import pyarrow as pa

from schemas.table import Table, column

#: The heuristics' figures: profiled for every document, carried along by the kept ones.
METRICS = (
    column("n_chars", pa.int64(), "code points"),
    column("n_words", pa.int64(), "word tokens"),
    column("mean_word_length", pa.float64(), "code points per word"),
    column("symbol_ratio", pa.float64(), "share of code points that are neither letters, digits nor white space"),
    column("top_word_share", pa.float64(), "share of the commonest word"),
    column("dup_line_share", pa.float64(), "share of code points in lines that occurred before"),
    column("dup_5gram_share", pa.float64(), "share of word 5-grams that occurred before"),
)

DOCUMENT_PROFILES = Table(
    name="silver.document_profiles",
    comment="Metrics, digest and MinHash band keys of every document of bronze: a changed threshold reads these and no text.",
    schema=pa.schema(
        [
            column("doc_id", pa.string(), "bronze.documents"),
            column("ingest_id", pa.string(), "which ingest brought it"),
            column("ingest_seq", pa.int32(), "ordinal of the ingest"),
            *METRICS,
            column("digest", pa.binary(), "128 bits of the text in normal form, white space squeezed"),
            column("band_keys", pa.list_(pa.field("element", pa.int64(), nullable=True)), "64-bit MinHash band keys; empty without words"),
            column("scheme", pa.string(), "name and version of metrics, digest, shingling and signature"),
        ]
    ),
    key=("doc_id",),
    partition="ingest_id",
)
