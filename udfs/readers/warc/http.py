"""The payload of an HTTP message: status and fields, transfer and content encoding undone, in bounded memory."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import zstandard
from fastwarc.stream_io import BrotliReader

from udfs.readers.record import ReasonedError
from udfs.readers.warc.headers import BLANK_LINE, MAX_HEADER, parse_headers

_STATUS = re.compile(rb"HTTP/\d(?:\.\d)? +(\d{3})\b[^\r\n]*\r?\n")
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]{0,4096})?\r?\n")
_PIECE = 1 << 20


class PayloadError(ReasonedError):
    """A message that does not hold what it says."""

    @classmethod
    def from_http(cls) -> PayloadError:
        """No status line, or no end of the header."""
        return cls("bad_http", "the block is no HTTP response")

    @classmethod
    def from_chunks(cls, offset: int, words: str) -> PayloadError:
        """Transfer-Encoding says chunked."""
        return cls("bad_chunking", f"Transfer-Encoding is chunked, but at byte {offset} of the payload {words}")

    @classmethod
    def from_encoding(cls, name: str, words: str) -> PayloadError:
        """Content-Encoding says that it is packed."""
        return cls("bad_encoding", f"Content-Encoding is {name[:40]!a}, but {words}")

    @classmethod
    def from_size(cls, limit: int) -> PayloadError:
        """Longer than a document may be."""
        return cls("too_long", f"the payload unpacks to more than ingest.max_document_bytes = {limit}")


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response; ``payload`` is packed still."""

    status: int
    fields: dict[str, str]
    payload: bytes


def parse_response(block: bytes) -> Response:
    """Split a message.

    Raises:
        PayloadError: it is none.
    """
    status = _STATUS.match(block)
    if status is None:
        raise PayloadError.from_http()
    # The blank line may follow the status line at once: search from its line end on.
    blank = BLANK_LINE.search(block, status.end() - 2, MAX_HEADER) or BLANK_LINE.search(block, max(0, status.end() - 1), MAX_HEADER)
    if blank is None:
        if len(block) >= MAX_HEADER:
            raise PayloadError.from_http()
        return Response(int(status[1]), parse_headers(block[status.end() :]), b"")
    return Response(int(status[1]), parse_headers(block[status.end() : blank.start()]), block[blank.end() :])


def unpack(response: Response, limit: int, *, cut: bool) -> bytes:
    """The payload with its encodings undone.

    Args:
        response: message.
        limit: most bytes to give.
        cut: the archive says that the payload was cut (``WARC-Truncated``): an early end is no damage.

    Raises:
        PayloadError: it is not encoded as it says, or too long.
    """
    payload = response.payload
    if "chunked" in response.fields.get("transfer-encoding", "").lower():
        payload = join_chunks(payload, cut=cut)
    for name in reversed(response.fields.get("content-encoding", "").lower().split(",")):
        payload = _decode(name.strip(), payload, limit, cut=cut)
    return payload


def join_chunks(payload: bytes, *, cut: bool) -> bytes:
    """Undo ``Transfer-Encoding: chunked`` (RFC 9112, section 7.1).

    Raises:
        PayloadError: a chunk has no size, is not as long as it says, or the last one is missing.
    """
    chunks: list[bytes] = []
    at = 0
    while at < len(payload):
        found = _CHUNK_SIZE.match(payload, at)
        if found is None:
            raise PayloadError.from_chunks(at, "there is no size of a chunk")
        size, start = int(found[1], 16), found.end()
        if size == 0:
            return b"".join(chunks)
        chunks.append(payload[start : start + size])
        at = start + size
        if at >= len(payload):
            break
        end = payload[at : at + 2]
        if end == b"\r\n" or end[:1] == b"\n":
            at += 2 if end == b"\r\n" else 1
        else:
            raise PayloadError.from_chunks(at, "a chunk is longer than its size")
    if payload and not cut:
        raise PayloadError.from_chunks(len(payload), "it ends before the last chunk")
    return b"".join(chunks)


def _decode(name: str, payload: bytes, limit: int, *, cut: bool) -> bytes:
    if name in ("", "identity", "none", "utf-8") or not payload:
        return payload
    try:
        if name in ("gzip", "x-gzip"):
            return _inflate(payload, 31, name, limit, cut=cut)
        if name == "deflate":
            try:
                return _inflate(payload, 15, name, limit, cut=cut)
            except zlib.error:
                # Many servers send deflate without the zlib header that RFC 9110 wants.
                return _inflate(payload, -15, name, limit, cut=cut)
        if name == "br":
            return _bounded(BrotliReader(io.BytesIO(payload)).read, limit)
        if name == "zstd":
            return _bounded(zstandard.ZstdDecompressor().stream_reader(payload, read_across_frames=True).read, limit)
    except (zlib.error, zstandard.ZstdError, OSError, ValueError) as err:
        raise PayloadError.from_encoding(name, f"it cannot be unpacked: {str(err)[:100]}") from err
    raise PayloadError.from_encoding(name, "that is not known here")


def _inflate(payload: bytes, wbits: int, name: str, limit: int, *, cut: bool) -> bytes:
    stream = zlib.decompressobj(wbits=wbits)
    out = bytearray()
    rest = payload
    while not stream.eof:
        piece = stream.decompress(rest, _PIECE)
        out += piece
        if len(out) > limit:
            raise PayloadError.from_size(limit)
        rest = stream.unconsumed_tail
        if not rest and not piece:
            break
    if not stream.eof and not cut:
        raise PayloadError.from_encoding(name, f"it ends within the stream, after {len(out)} unpacked bytes")
    return bytes(out)


def _bounded(read: Callable[[int], bytes], limit: int) -> bytes:
    out = bytearray()
    while piece := read(_PIECE):
        out += piece
        if len(out) > limit:
            raise PayloadError.from_size(limit)
    return bytes(out)
