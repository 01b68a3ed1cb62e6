"""The figures of documents after Gopher, C4 and FineWeb: counted in one pass over bytes and one over tokens, then divided.

Sources: Gopher (Rae et al. 2021, appendix A.1.1, tables A1 and A2), C4 (Raffel et al. 2020, section 2.2), mC4 (Xue et al. 2021, section 3.1), FineWeb
(Penedo et al. 2024, section 3.6). Where a paper leaves a choice, ``schemas.silver.document_profiles`` says for each column what is meant here.

On one core (``tests/benchmarks/profile_figures.py``, WikiText): compiled 84 MB/s on ASCII and 50 MB/s on other text, plain 3 MB/s; version 1, which
had seven of the figures, ran at 2.6 MB/s. Bytes and lines take half of it, tokens and their n-grams the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from types import ModuleType

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs.dedup.kernel import COMPILE_AFTER_BYTES, KernelName, KernelUnavailableError, token_hashes
from udfs.quality.counts import FIRST_DUP, GRAM_COUNTS, LINE_COUNTS
from udfs.text.buffers import TextBuffer, ascii_rows, text_buffer

#: Version of the figures, written beside every verdict.
METRICS_SCHEME = "metrics/v2"

_INT, _SHARE = pa.int64(), pa.float64()
#: One column a figure; see ``schemas.silver.document_profiles`` for what each says. The first seven go with every kept document.
METRICS = pa.schema(
    [
        ("n_chars", _INT), ("n_words", _INT), ("mean_word_length", _SHARE), ("symbol_ratio", _SHARE), ("top_word_share", _SHARE), ("dup_line_share", _SHARE),
        ("dup_5gram_share", _SHARE),
        ("n_lines", _INT), ("n_paragraphs", _INT), ("alpha_word_share", _SHARE), ("hash_ratio", _SHARE), ("ellipsis_ratio", _SHARE), ("newline_ratio", _SHARE),
        ("bullet_line_share", _SHARE), ("ellipsis_line_share", _SHARE), ("terminal_line_share", _SHARE), ("short_line_share", _SHARE),
        ("repeated_line_share", _SHARE), ("repeated_paragraph_share", _SHARE), ("dup_paragraph_share", _SHARE),
        ("top_2gram_share", _SHARE), ("top_3gram_share", _SHARE), ("top_4gram_share", _SHARE),
        *((f"dup_{n}gram_chars", _SHARE) for n in range(FIRST_DUP, 11)),
        ("n_stop_words", _INT), ("n_braces", _INT), ("n_lorem_ipsum", _INT), ("n_sentences", _INT), ("n_full_sentences", _INT), ("n_long_lines", _INT),
    ]
)  # fmt: skip

_measured_bytes = 0


def _counter(name: KernelName, text: TextBuffer) -> ModuleType:
    """The module that counts; ``auto`` chooses by cost, as ``udfs.dedup.kernel`` does.

    Raises:
        KernelUnavailableError: numba is asked for and missing, or the name is none of ours.
    """
    global _measured_bytes  # noqa: PLW0603 -- what this process has done so far; it changes cost, never results
    _measured_bytes += int((text.ends - text.starts).sum())
    available = find_spec("numba") is not None
    if name == "numpy" or (name == "auto" and not (available and _measured_bytes >= COMPILE_AFTER_BYTES)):
        from udfs.quality import plain_counts

        return plain_counts
    if name not in ("auto", "numba") or not available:
        raise KernelUnavailableError.from_name(name)
    from udfs.quality import numba_counts

    return numba_counts


def _valid(text: TextBuffer) -> TextBuffer:
    """The same rows as valid UTF-8: what is none becomes U+FFFD. Nothing is copied where all rows are valid."""
    repaired = {}
    for row in np.flatnonzero(~ascii_rows(text)).tolist():
        raw = text.data[text.starts[row] : text.ends[row]].tobytes()
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError:
            repaired[row] = np.frombuffer(raw.decode("utf-8", "replace").encode(), np.uint8)
    if not repaired:
        return text
    starts, ends, size = text.starts.copy(), text.ends.copy(), len(text.data)
    for row, piece in repaired.items():
        starts[row], ends[row] = size, size + len(piece)
        size += len(piece)
    return TextBuffer(np.concatenate([text.data, *repaired.values()]), starts, ends)


def _stop_lists(
    stop_words: Mapping[str, Sequence[str]], languages: Sequence[str | None], kernel: KernelName
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Hashes of all lists, the part of them that each row is held against, and which rows have one."""
    names = sorted(stop_words)
    words = [word for name in names for word in sorted(set(stop_words[name]))]
    hashes, _, offsets = token_hashes(pa.array(words, pa.string()), "numpy" if kernel == "auto" else kernel)
    bounds = np.cumsum([0, *(len(set(stop_words[name])) for name in names)])
    place = {name: (int(offsets[bounds[i]]), int(offsets[bounds[i + 1]])) for i, name in enumerate(names)}
    spans = np.array([place.get(language or "", (0, 0)) for language in languages], np.int64).reshape(-1, 2)
    return hashes, spans[:, 0].copy(), spans[:, 1].copy(), np.array([language in place for language in languages], np.bool_)


def document_metrics(
    column: pa.Array | pa.ChunkedArray,
    kernel: KernelName = "auto",
    stop_words: Mapping[str, Sequence[str]] | None = None,
    languages: Sequence[str | None] | None = None,
) -> pa.RecordBatch:
    """All figures of a text column.

    Words are the tokens of ``udfs.text.tokens``, so that a Chinese or Thai text counts code points as words. Null counts as empty,
    and every share of nothing is 0. Time is linear in the text.

    Args:
        column: text, n_rows.
        kernel: which implementation runs; both give the same bits.
        stop_words: language -> its stop words, each one token.
        languages: of the rows; ``n_stop_words`` is null where a row's language has no list.

    Returns:
        One row a text, columns as in ``METRICS``.
    """
    text = _valid(text_buffer(column))
    counter = _counter(kernel, text)
    tokens, sizes, offsets = token_hashes(column, kernel)
    stops, firsts, lasts, listed = _stop_lists(stop_words or {}, languages or [None] * len(text), kernel)
    counts = dict(zip(LINE_COUNTS, counter.line_counts(text).T, strict=True))
    counts |= dict(zip(GRAM_COUNTS, counter.gram_counts(tokens, sizes, offsets, stops, firsts, lasts).T, strict=True))
    figures = _figures(counts)
    figures["n_stop_words"] = pa.array(counts["stop_words"], mask=~listed)
    return pa.RecordBatch.from_arrays([pa.array(figures[f.name], f.type) for f in METRICS], schema=METRICS)


def _figures(c: dict[str, NDArray[np.int64]]) -> dict[str, NDArray[np.int64] | NDArray[np.float64] | pa.Array]:
    def of(above: str, below: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.divide(c[above], below, out=np.zeros(len(below)), where=below > 0)

    words, lines, word_chars = c["words"], c["lines"], c["word_chars"]
    return {
        "n_chars": c["chars"], "n_words": words, "mean_word_length": of("word_chars", words), "symbol_ratio": of("symbols", c["chars"]),
        "top_word_share": of("top_word", words), "dup_line_share": of("dup_line_chars", c["line_chars"]), "dup_5gram_share": of("dup_5", words - 4),
        "n_lines": lines, "n_paragraphs": c["paragraphs"], "alpha_word_share": of("alpha_fields", c["fields"]), "hash_ratio": of("hashes", words),
        "ellipsis_ratio": of("ellipses", words), "newline_ratio": of("newlines", words), "bullet_line_share": of("bullet_lines", lines),
        "ellipsis_line_share": of("ellipsis_lines", lines), "terminal_line_share": of("terminal_lines", lines), "short_line_share": of("short_lines", lines),
        "repeated_line_share": of("dup_lines", lines), "repeated_paragraph_share": of("dup_paragraphs", c["paragraphs"]),
        "dup_paragraph_share": of("dup_paragraph_chars", c["line_chars"]),
        **{f"top_{n}gram_share": of(f"top_{n}_chars", word_chars) for n in (2, 3, 4)},
        **{f"dup_{n}gram_chars": of(f"dup_{n}_chars", word_chars) for n in range(FIRST_DUP, 11)},
        "n_braces": c["braces"], "n_lorem_ipsum": c["lorem"], "n_sentences": c["c4_sentences"], "n_full_sentences": c["c4_strict_sentences"],
        "n_long_lines": c["long_lines"],
    }  # fmt: skip
