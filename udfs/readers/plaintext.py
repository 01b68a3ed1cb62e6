"""Plain text: one document a file, or one a block of lines between blank lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from schemas.conf import Ingest
from udfs.readers.lines import split_lines
from udfs.readers.record import Place, Record, Reject, build_record, reject
from udfs.readers.streams import StreamFaultError


def read_text(pieces: Iterable[bytes], conf: Ingest, relative: str) -> Iterator[Record | Reject]:
    """Documents of a text stream, as ``conf.text_unit`` says; positions are ordinals of blocks from 0."""
    return _paragraphs(pieces, conf, relative) if conf.text_unit == "paragraph" else _whole(pieces, conf, relative)


def _whole(pieces: Iterable[bytes], conf: Ingest, relative: str) -> Iterator[Record | Reject]:
    kept: list[bytes] = []
    length = 0
    try:
        for piece in pieces:
            length += len(piece)
            if length > conf.max_document_bytes:
                detail = (
                    f'the file exceeds ingest.max_document_bytes = {conf.max_document_bytes}; text_unit = "paragraph" takes it in blocks'
                )
                yield reject(0, "too_long", detail, b"".join(kept) + piece)
                return
            kept.append(piece)
    except StreamFaultError as fault:
        yield reject(0, fault.reason, fault.detail, b"".join(kept))
        return
    yield _document(b"".join(kept).removeprefix(b"\xef\xbb\xbf"), conf, Place(relative, "block", 0))


def _paragraphs(pieces: Iterable[bytes], conf: Ingest, relative: str) -> Iterator[Record | Reject]:
    block: list[bytes] = []
    length = position = 0

    def finish() -> Record | Reject:
        data = b"\n".join(block)
        if length > conf.max_document_bytes:
            detail = f"a block of {length} bytes exceeds ingest.max_document_bytes = {conf.max_document_bytes}"
            return reject(position, "too_long", detail, data)
        return _document(data.removesuffix(b"\r"), conf, Place(relative, "block", position))

    for line in split_lines(pieces, conf.max_document_bytes):
        if line.fault is not None:
            block.append(line.data)
            yield reject(position, line.fault.reason, line.fault.detail, b"\n".join(block))
            return
        if line.too_long or line.data.strip():
            if length <= conf.max_document_bytes:
                block.append(line.data)
            length += line.length + (1 if length else 0)
        elif length:
            yield finish()
            position, length = position + 1, 0
            block.clear()
    if length:
        yield finish()


def _document(data: bytes, conf: Ingest, place: Place) -> Record | Reject:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as err:
        return reject(place.position, "invalid_utf8", f"byte {err.start}: {err.reason}", data)
    return build_record({conf.text_field: text}, conf, place, data)
