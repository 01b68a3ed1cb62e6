"""A small writer of web archives for tests, sound ones and broken ones."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Iterable, Sequence

import zstandard

#: How the records of an archive are packed: a function from records to a file.
PACKINGS: dict[str, Callable[[Sequence[bytes]], bytes]] = {
    "plain": b"".join,
    "gzip each": lambda records: b"".join(gzip.compress(record, mtime=0) for record in records),
    "one gzip": lambda records: gzip.compress(b"".join(records), mtime=0),
    "gzip by three": lambda records: b"".join(gzip.compress(b"".join(records[i : i + 3]), mtime=0) for i in range(0, len(records), 3)),
    "zstd each": lambda records: b"".join(zstandard.compress(record) for record in records),
    "one zstd": lambda records: zstandard.compress(b"".join(records)),
    "mixed": lambda records: b"".join(
        (record, gzip.compress(record, mtime=0), zstandard.compress(record))[at % 3] for at, record in enumerate(records)
    ),
}


def record(kind: str, block: bytes, uri: str | None = None, *, length: int | None = None, **fields: str) -> bytes:
    """A WARC record; ``length`` is what it says of its block's size, right or wrong."""
    lines = ["WARC/1.0", f"WARC-Type: {kind}", "WARC-Date: 2026-01-02T03:04:05Z", f"WARC-Record-ID: <urn:uuid:{kind}-{len(block)}>"]
    if uri is not None:
        lines.append(f"WARC-Target-URI: {uri}")
    lines.extend(f"{name.replace('_', '-')}: {value}" for name, value in fields.items())
    lines.append(f"Content-Length: {len(block) if length is None else length}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def http(payload: bytes, media: str | None = "text/html; charset=utf-8", *, status: str = "200 OK", **fields: str) -> bytes:
    """An HTTP response."""
    lines = [f"HTTP/1.1 {status}", *([f"Content-Type: {media}"] if media else [])]
    lines.extend(f"{name.replace('_', '-')}: {value}" for name, value in fields.items())
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + payload


def response(uri: str, payload: bytes, media: str | None = "text/html; charset=utf-8", *, status: str = "200 OK", **fields: str) -> bytes:
    """A response record."""
    return record("response", http(payload, media, status=status, **fields), uri, Content_Type="application/http; msgtype=response")


def page(text: str, title: str = "A page") -> bytes:
    """A web page with some furniture around its text."""
    return f"<!doctype html><html><head><title>{title}</title></head><body><nav>Home</nav><main><p>{text}</p></main></body></html>".encode()


def conversion(uri: str, text: str) -> bytes:
    """A record of a WET file."""
    return record("conversion", text.encode(), uri, Content_Type="text/plain")


def crawl(count: int, seed: int = 0) -> list[bytes]:
    """Records as a crawler leaves them: warcinfo, then request, response and metadata of each page."""
    rng = random.Random(seed)
    records = [record("warcinfo", b"software: a test\r\n", Content_Type="application/warc-fields")]
    for at in range(count):
        uri = f"http://example.org/{at}"
        words = " ".join(f"word{rng.randrange(1000)}" for _ in range(rng.randrange(5, 400)))
        records += [
            record("request", b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n", uri, Content_Type="application/http; msgtype=request"),
            response(uri, page(f"Page {at}. {words}", f"Title {at}")),
            record("metadata", b"fetchTimeMs: 12\r\n", uri),
        ]
    return records


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The same bytes with one to three accidents: a cut, a hole, noise, a doubled piece."""
    broken = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(broken))
        size = rng.choice((1, 2, 30, 600, 5000))
        accident = rng.randrange(5)
        if accident == 0:
            del broken[at : at + size]
        elif accident == 1:
            broken[at : at + size] = bytes(len(broken[at : at + size]))
        elif accident == 2:
            broken[at : at + size] = rng.randbytes(len(broken[at : at + size]))
        elif accident == 3:
            broken[at:at] = broken[max(0, at - size) : at]
        elif len(broken) > 2 * size:
            del broken[-size:]
    return bytes(broken)


def texts(items: Iterable[object]) -> list[str]:
    """Texts of the documents, reasons of the rejects."""
    return [getattr(item, "text", None) or str(getattr(item, "reason", "")) for item in items]
