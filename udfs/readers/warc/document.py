"""A record of an archive to a document, or to the reason why it is none."""

from __future__ import annotations

import re
from typing import Any

from schemas.conf import Ingest
from schemas.ids import canonical_json
from udfs.readers.charset import decode
from udfs.readers.html import TooManyTagsError, extract
from udfs.readers.record import FIRST_BYTES, Place, Record, Reject, checked, reject
from udfs.readers.warc.frames import Frame
from udfs.readers.warc.headers import split_media_type
from udfs.readers.warc.http import PayloadError, Response, parse_response, unpack

HTML = frozenset(("text/html", "application/xhtml+xml"))
PLAIN = "text/plain"
_HTML_START = re.compile(rb"\s*(?:<!doctype\s+html|<html[\s>])", re.IGNORECASE)
#: First bytes of what servers like to call text.
_NOT_TEXT: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "a PDF"), (b"\x89PNG", "a PNG image"), (b"GIF8", "a GIF image"), (b"\xff\xd8\xff", "a JPEG image"), (b"RIFF", "a RIFF file"),
    (b"PK\x03\x04", "a zip archive"), (b"\x1f\x8b\x08", "a gzip stream"), (b"\xd0\xcf\x11\xe0", "an Office file"), (b"wOFF", "a font"), (b"wOF2", "a font"),
    (b"\x00\x00\x01\x00", "an icon"), (b"\x28\xb5\x2f\xfd", "a zstd stream"), (b"\x7fELF", "a program"), (b"Rar!", "a rar archive"), (b"ID3", "an MP3 file"),
)  # fmt: skip
#: Fields of the record that are kept, by the name that they get.
_KEPT = {
    "record_id": "warc-record-id", "date": "warc-date", "payload_digest": "warc-payload-digest", "truncated": "warc-truncated",
    "refers_to": "warc-refers-to",
}  # fmt: skip


def to_item(frame: Frame, conf: Ingest, relative: str) -> Record | Reject:
    """The document of a record: of a response its page as text, of a conversion its text as it is."""
    kind = frame.headers.get("warc-type", "").lower()
    if kind in ("response", "resource", "conversion"):
        try:
            return _document(frame, kind, conf, relative)
        except PayloadError as error:
            return reject(frame.position, error.reason, error.detail, frame.block)
    shown = ascii(kind[:40]) if kind not in _OTHERS else kind
    return reject(frame.position, "not_document", f"a {shown} record: it holds no document")


_OTHERS = frozenset(("warcinfo", "request", "metadata", "revisit", "continuation"))


def _document(frame: Frame, kind: str, conf: Ingest, relative: str) -> Record | Reject:
    headers = frame.headers
    media, declared = split_media_type(headers.get("content-type", ""))
    facts: dict[str, Any] = {"warc_type": kind}
    facts |= {name: headers[field] for name, field in _KEPT.items() if headers.get(field)}
    payload, language = frame.block, headers.get("warc-identified-content-language")
    if kind == "response" and (media in ("application/http", "") or payload.startswith(b"HTTP/")):
        response = parse_response(payload)
        facts["http_status"] = response.status
        refused = _refused(frame, response, conf)
        if refused is not None:
            return refused
        payload = unpack(response, conf.max_document_bytes, cut="warc-truncated" in headers)
        media, declared = split_media_type(response.fields.get("content-type", ""))
        language = response.fields.get("content-language") or language
    elif kind == "response":
        # A look-up of a name, say, which crawlers record, too.
        return reject(frame.position, "not_text", f"a response of media type {media[:60]!a}, not HTTP", payload)
    media = media or headers.get("warc-identified-payload-type", "").lower()
    return _text(frame, payload, (media, declared), facts | ({"language": language} if language else {}), conf, relative)


def _refused(frame: Frame, response: Response, conf: Ingest) -> Reject | None:
    code = f"{response.status:03d}"
    if any(code.startswith(pattern.rstrip("x")) for pattern in conf.http_status):
        return None
    where = response.fields.get("location")
    detail = f"HTTP status {code}{f', to {where[:200]}' if where else ''}; ingest.http_status takes {', '.join(conf.http_status)}"
    return reject(frame.position, "http_status", detail, frame.block)


def _text(
    frame: Frame, payload: bytes, kind: tuple[str, str | None], facts: dict[str, Any], conf: Ingest, relative: str
) -> Record | Reject:  # fmt: skip
    media, declared = kind
    if not payload.strip():
        return reject(frame.position, "empty_text", f"an empty payload ({media or 'no media type'})", frame.block)
    found = next((words for magic, words in _NOT_TEXT if payload.startswith(magic)), None)
    html = media in HTML or (not media and _HTML_START.match(payload) is not None)
    if not html and media != PLAIN:
        return reject(frame.position, "not_text", f"media type {ascii(media[:100]) if media else 'not given'}", payload)
    if found is not None:
        return reject(frame.position, "not_text", f"{media} by its header, {found} by its bytes", payload)
    decoded = decode(payload, declared, html=html)
    if decoded is None:
        return reject(
            frame.position, "bad_charset", f"no charset fits; the header names {ascii(declared[:40]) if declared else 'none'}", payload
        )
    facts |= {"mime": media, "charset": decoded.charset, "charset_from": decoded.how}
    if decoded.broken:
        facts["broken_characters"] = decoded.broken
    if declared is not None and decoded.how != "header":
        facts["charset_declared"] = declared
    title, text = None, decoded.text
    if html:
        try:
            page = extract(decoded.text, conf.html_text)
        except TooManyTagsError as error:
            return reject(frame.position, "too_long", str(error), payload)
        title, text = page.title, page.text
        facts["extracted"] = page.scope
    if not text.strip():
        return reject(frame.position, "empty_text", "a page without text", payload)
    place = Place(relative, "W", frame.position)
    uri = frame.headers.get("warc-target-uri", "").strip().removeprefix("<").removesuffix(">") or place.uri
    record = Record(frame.position, uri, title, text, None, canonical_json(facts))
    return checked(record, conf, frame.block[:FIRST_BYTES])
