"""Names and order of the whole numbers from which every figure is divided: both kernels fill these, bit for bit alike."""

from __future__ import annotations

#: Counts over a text's bytes and lines. A line is what stands between line feeds, stripped; blank ones are none. A paragraph is
#: a run of lines without a blank one between. A field is a run without white space.
LINE_COUNTS = (
    "chars", "symbols", "newlines", "hashes", "ellipses", "braces", "lorem", "fields", "alpha_fields", "lines", "line_chars", "dup_lines", "dup_line_chars",
    "paragraphs", "dup_paragraphs", "dup_paragraph_chars", "bullet_lines", "ellipsis_lines", "terminal_lines", "short_lines", "long_lines",
    "c4_sentences", "c4_strict_sentences",
)  # fmt: skip

#: Counts over a text's word tokens: sums of code points where the name ends in ``chars``.
GRAM_COUNTS = (
    "words", "word_chars", "top_word", "top_2_chars", "top_3_chars", "top_4_chars", "dup_5", "dup_5_chars", "dup_6_chars", "dup_7_chars",
    "dup_8_chars", "dup_9_chars", "dup_10_chars", "stop_words",
)  # fmt: skip

#: Code points up to which a line is short (FineWeb), and from which it is long (mC4).
SHORT_LINE, LONG_LINE = 30, 200
#: A line that C4 keeps has at least so many fields, none longer than so many code points.
MIN_LINE_FIELDS, MAX_FIELD = 3, 1000
#: Words of the longest n-gram that is looked at; tops are taken of 2 to 4, repeats of 5 to 10.
LONGEST_GRAM, FIRST_TOP, LAST_TOP, FIRST_DUP = 10, 2, 4, 5
