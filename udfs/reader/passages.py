"""Passages: documents cut into pieces of whole sentences, as the retrieval policy reads them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pyarrow as pa

from schemas.ids import content_id
from udfs.reader.words import WORD, sentence_spans, terms

#: Words a passage may hold; one sentence that is longer is cut into windows.
MAX_WORDS = 100

PASSAGES = pa.schema([
    pa.field("passage_id", pa.string(), nullable=False),
    pa.field("doc_id", pa.string(), nullable=False),
    pa.field("title", pa.string(), nullable=False),
    pa.field("text", pa.string(), nullable=False),
    pa.field("terms", pa.list_(pa.field("element", pa.string())), nullable=False),
])  # fmt: skip


def split(text: str) -> Iterator[str]:
    """Runs of whole sentences of at most ``MAX_WORDS`` words, in order; together they hold every word."""
    held: list[str] = []
    words = 0
    for start, end in sentence_spans(text):
        for piece in _windows(text[start:end]):
            count = sum(1 for _ in WORD.finditer(piece))
            if held and words + count > MAX_WORDS:
                yield "".join(held).strip()
                held, words = [], 0
            held.append(piece)
            words += count
    if held and words:
        yield "".join(held).strip()


def passages_of(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Passages of a batch of documents (columns doc_id, title, text)."""
    rows: list[dict[str, object]] = []
    for doc_id, title, text in zip(*(batch.column(name).to_pylist() for name in ("doc_id", "title", "text")), strict=True):
        head = title or ""
        head_terms = terms(head)
        rows.extend(
            {"passage_id": content_id(doc_id, k), "doc_id": doc_id, "title": head, "text": piece, "terms": head_terms + terms(piece)}
            for k, piece in enumerate(split(text or ""))
        )
    return pa.RecordBatch.from_pylist(rows, schema=PASSAGES)


def _windows(sentence: str) -> Iterator[str]:
    starts = [match.start() for match in WORD.finditer(sentence)]
    if len(starts) <= MAX_WORDS:
        yield sentence
        return
    cuts = [0, *(starts[k] for k in range(MAX_WORDS, len(starts), MAX_WORDS)), len(sentence)]
    for a, b in pairwise(cuts):
        yield sentence[a:b]
