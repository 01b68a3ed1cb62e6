"""Length, symbol and repetition figures of documents, after Gopher's filters (Rae et al. 2021, appendix A.1.1)."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs.dedup.kernel import KernelName, token_hashes
from udfs.text.buffers import text_buffer
from udfs.text.charclass import symbol_table

#: Version of the figures, written beside every verdict.
METRICS_SCHEME = "metrics/v1"

#: Words of the n-grams whose repetition is measured.
GRAM = 5

_GRAM_BASE = np.uint64(0xD6E8FEB86659FD93)

#: One column a figure; see ``schemas.silver.documents`` for what each says.
METRICS = pa.schema(
    [
        ("n_chars", pa.int64()),
        ("n_words", pa.int64()),
        ("mean_word_length", pa.float64()),
        ("symbol_ratio", pa.float64()),
        ("top_word_share", pa.float64()),
        ("dup_line_share", pa.float64()),
        ("dup_5gram_share", pa.float64()),
    ]
)

_LINES = re.compile(r"[^\n]+")


def symbol_counts(raw: bytes) -> tuple[int, int]:
    """Code points of a UTF-8 text, and how many of them are symbols; bytes that are not UTF-8 count as U+FFFD, a symbol."""
    table = symbol_table()
    if raw.isascii():
        return len(raw), int(np.count_nonzero(table[np.frombuffer(raw, np.uint8)]))
    points = np.frombuffer(raw.decode("utf-8", "replace").encode("utf-32-le"), np.uint32)
    return len(points), int(np.count_nonzero(table[points]))


def duplicate_line_share(text: str) -> float:
    """Share of the code points of a text's lines that stand in lines which occurred before.

    Lines are stripped and empty ones skipped, so that neither indentation nor blank lines count; 0 for a text without lines.
    """
    seen: set[str] = set()
    total = repeated = 0
    for found in _LINES.finditer(text):
        line = found.group().strip()
        total += len(line)
        if line in seen:
            repeated += len(line)
        else:
            seen.add(line)
    return repeated / total if total else 0.0


def _run_lengths(values: NDArray[np.uint64]) -> NDArray[np.int64]:
    """How often each distinct value occurs; by sorting, which beats numpy's hash table at the size of documents."""
    ordered = np.sort(values)
    edges = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1], [True])))
    return np.diff(edges)


def top_word_share(tokens: NDArray[np.uint64]) -> float:
    """Share of the commonest token; 0 where there is none."""
    return int(_run_lengths(tokens).max()) / len(tokens) if len(tokens) else 0.0


def duplicate_gram_share(tokens: NDArray[np.uint64], n: int = GRAM) -> float:
    """Share of the token n-grams that occurred before in the text; 0 where there are fewer than n tokens."""
    count = len(tokens) - n + 1
    if count < 1:
        return 0.0
    grams = np.zeros(count, np.uint64)
    for i in range(n):
        grams = grams * _GRAM_BASE + tokens[i : i + count]
    return (count - len(_run_lengths(grams))) / count


def document_metrics(column: pa.Array | pa.ChunkedArray, kernel: KernelName = "auto") -> pa.RecordBatch:
    """All figures of a text column.

    Words are the tokens of ``udfs.text.tokens``, so that a Chinese or Thai text counts code points as words. Null counts as empty,
    and every share of nothing is 0. Time is linear in the text but for one sort of its tokens.

    Returns:
        One row a text, columns as in ``METRICS``.
    """
    text = text_buffer(column)
    hashes, chars, offsets = token_hashes(column, kernel)
    rows = []
    for row, (start, end) in enumerate(zip(text.starts.tolist(), text.ends.tolist(), strict=True)):
        raw = text.data[start:end].tobytes()
        low, high = int(offsets[row]), int(offsets[row + 1])
        tokens = hashes[low:high]
        n_chars, n_symbols = symbol_counts(raw)
        rows.append(
            (
                n_chars,
                len(tokens),
                int(chars[low:high].sum()) / len(tokens) if len(tokens) else 0.0,
                n_symbols / n_chars if n_chars else 0.0,
                top_word_share(tokens),
                duplicate_line_share(raw.decode("utf-8", "replace")),
                duplicate_gram_share(tokens),
            )
        )
    columns = zip(*rows, strict=True) if rows else ([] for _ in METRICS)
    return pa.RecordBatch.from_arrays([pa.array(list(c), f.type) for c, f in zip(columns, METRICS, strict=True)], schema=METRICS)
