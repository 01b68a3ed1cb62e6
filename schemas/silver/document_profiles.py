"""silver.document_profiles: what curation computes from a text alone."""

import pyarrow as pa

from schemas.table import Table, column

#: The figures that kept documents carry along.
METRICS = (
    column("n_chars", pa.int64(), "code points"),
    column("n_words", pa.int64(), "word tokens"),
    column("mean_word_length", pa.float64(), "code points per word"),
    column("symbol_ratio", pa.float64(), "share of code points that are neither letters, digits nor white space"),
    column("top_word_share", pa.float64(), "share of the commonest word"),
    column("dup_line_share", pa.float64(), "share of code points in lines that occurred before"),
    column("dup_5gram_share", pa.float64(), "share of word 5-grams that occurred before"),
)

_WORD_CHARS = "share of the words' code points in"

#: The other figures of Gopher, C4 and FineWeb. Words are word tokens (no punctuation); a field is a run without white space; a line is what stands between
#: line feeds, stripped, and blank lines are none; a paragraph is a run of lines without a blank one between. Every share of nothing is 0.
WEB_METRICS = (
    column("n_lines", pa.int64(), "lines that are not blank"),
    column("n_paragraphs", pa.int64(), "paragraphs"),
    column("alpha_word_share", pa.float64(), "share of fields with a letter (Gopher)"),
    column("hash_ratio", pa.float64(), "# per word (Gopher)"),
    column("ellipsis_ratio", pa.float64(), "... and its one-character form per word (Gopher)"),
    column("newline_ratio", pa.float64(), "line feeds per word (FineWeb)"),
    column("bullet_line_share", pa.float64(), "share of lines that begin with a bullet or a hyphen (Gopher, marks of datatrove)"),
    column("ellipsis_line_share", pa.float64(), "share of lines that end with an ellipsis (Gopher)"),
    column("terminal_line_share", pa.float64(), "share of lines that end, citations apart, with a mark that ends a sentence (FineWeb)"),
    column("short_line_share", pa.float64(), "share of lines of 30 code points or fewer (FineWeb)"),
    column("repeated_line_share", pa.float64(), "share of lines that occurred before (Gopher)"),
    column("repeated_paragraph_share", pa.float64(), "share of paragraphs that occurred before (Gopher)"),
    column("dup_paragraph_share", pa.float64(), "share of code points in paragraphs that occurred before (Gopher)"),
    *(
        column(
            f"top_{n}gram_share",
            pa.float64(),
            f"{_WORD_CHARS} the commonest {n}-gram where it occurs twice, the longest of equally common (Gopher)",
        )
        for n in (2, 3, 4)
    ),
    *(
        column(f"dup_{n}gram_chars", pa.float64(), f"{_WORD_CHARS} {n}-grams that occurred before, overlaps counted once (Gopher)")
        for n in range(5, 11)
    ),
    column(
        "n_stop_words",
        pa.int64(),
        "how many of its language's stop words occur (Gopher); null where curate.stop_words has no list",
        null=True,
    ),
    column("n_braces", pa.int64(), "opening curly brackets (C4)"),
    column("n_lorem_ipsum", pa.int64(), "occurrences of lorem ipsum, any case (C4)"),
    column(
        "n_sentences",
        pa.int64(),
        "sentences in lines of 3 fields or more, none over 1000 code points, without a notice (C4 as FineWeb runs it)",
    ),
    column("n_full_sentences", pa.int64(), "those in lines that also end in a terminal mark but an ellipsis (C4)"),
    column("n_long_lines", pa.int64(), "lines of 200 code points or more (mC4)"),
)

LANGUAGE = (
    column("language", pa.string(), "ISO 639 code; und where the text is too short or in several scripts"),
    column("language_score", pa.float64(), "the model's probability of it, 0 for und"),
)

PII = (
    *(
        column(f"n_{kind}", pa.int32(), f"{what} found")
        for kind, what in (
            ("card", "payment cards"),
            ("email", "mail addresses"),
            ("ip", "public network addresses"),
            ("key", "keys and tokens"),
            ("phone", "telephone numbers"),
        )
    ),
    column("pii_spans", pa.string(), "canonical JSON [[start, end, kind], ...]: code points of bronze's text, in order, none overlapping"),
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
            *WEB_METRICS,
            *LANGUAGE,
            *PII,
            column("digest", pa.binary(), "128 bits of the text in normal form, white space squeezed"),
            column("band_keys", pa.list_(pa.field("element", pa.int64(), nullable=True)), "64-bit MinHash band keys; empty without words"),
            column(
                "signature",
                pa.binary(),
                "MinHash values, little-endian uint32, one a permutation; datasketch's affine32 over the upper half of shingle hashes",
            ),
            column("scheme", pa.string(), "name and version of metrics, language, finders, digest, shingling and signature"),
        ]
    ),
    key=("doc_id",),
    partition="ingest_id",
)
