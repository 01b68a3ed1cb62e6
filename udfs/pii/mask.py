"""Placeholders for what was found, and the way back from an offset in the masked text to the text as received."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence

import pyarrow as pa

from udfs.pii.find import find_pii
from udfs.pii.kinds import KINDS, PLACEHOLDERS, Span
from udfs.text.buffers import text_buffer

#: One count a kind, and the spans as canonical JSON ``[[start, end, kind], ...]``.
PII = pa.schema([*((f"n_{kind}", pa.int32()) for kind in sorted(KINDS)), ("pii_spans", pa.string())])


def encode_spans(spans: Sequence[Span]) -> str:
    """Spans as canonical JSON, in order of place."""
    return json.dumps([list(span) for span in spans], separators=(",", ":"))


def decode_spans(text: str | None) -> list[Span]:
    """The reverse of ``encode_spans``; none for null."""
    return [Span(int(start), int(end), kind) for start, end, kind in json.loads(text or "[]")]


def mask(text: str, spans: Sequence[Span]) -> str:
    """``text`` with a placeholder of its kind in place of each span."""
    out, at = [], 0
    for span in spans:
        out += [text[at : span.start], PLACEHOLDERS[span.kind]]
        at = span.end
    return "".join([*out, text[at:]]) if out else text


def source_span(spans: Sequence[Span], start: int, end: int) -> tuple[int, int]:
    """Where code points ``start`` to ``end`` (exclusive) of a masked text stand in the text as received.

    An offset within a placeholder leads to the whole span that it stands for.
    """
    return _source(spans, start, after=False), _source(spans, end, after=True)


def _source(spans: Sequence[Span], offset: int, *, after: bool) -> int:
    # Begin of every placeholder in the masked text; with few spans a text this is quicker than keeping it.
    begins, shift = [], 0
    for span in spans:
        begins.append(span.start - shift)
        shift += (span.end - span.start) - len(PLACEHOLDERS[span.kind])
    # The end of a piece lies before a placeholder that begins there; its start lies in it.
    at = bisect_right(begins, offset - after) - 1
    if at < 0:
        return offset
    span = spans[at]
    beyond = offset - (begins[at] + len(PLACEHOLDERS[span.kind]))
    if beyond >= 0:
        return span.end + beyond
    return span.end if after else span.start


def pii_columns(column: pa.Array | pa.ChunkedArray) -> pa.RecordBatch:
    """Counts and spans of every row of a text column, columns as in ``PII``; null counts as empty."""
    buffer = text_buffer(column)
    found = [
        find_pii(buffer.data[s:e].tobytes().decode("utf-8", "replace"))
        for s, e in zip(buffer.starts.tolist(), buffer.ends.tolist(), strict=True)
    ]
    columns = [pa.array([sum(span.kind == kind for span in spans) for spans in found], pa.int32()) for kind in sorted(KINDS)]
    return pa.RecordBatch.from_arrays([*columns, pa.array([encode_spans(spans) for spans in found], pa.string())], schema=PII)


def masked_texts(texts: pa.Array, spans: pa.Array) -> pa.Array:
    """Texts with their spans (as ``encode_spans`` wrote them) masked; a null text stays null."""
    rows = zip(texts.to_pylist(), spans.to_pylist(), strict=True)
    return pa.array(
        [text if text is None or found in (None, "[]") else mask(text, decode_spans(found)) for text, found in rows], texts.type
    )
