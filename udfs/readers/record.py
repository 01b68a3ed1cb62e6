"""A record that was read, a reject that was not, and the one way from a record's fields to either."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from schemas.conf import Ingest
from schemas.errors import VerilakeError
from schemas.ids import canonical_json

#: Why something could not be taken; what each means stands in ``REASONS``.
Reason = Literal[
    "not_json", "not_object", "duplicate_key", "too_deep",
    "no_text", "null_text", "empty_text", "text_not_string",
    "invalid_utf8", "lone_surrogate", "nul_bytes", "too_long", "bad_value",
    "truncated_gzip", "corrupt_gzip", "truncated_zstd", "corrupt_zstd", "compression_bomb",
    "no_text_column", "truncated_parquet", "corrupt_parquet",
    "empty_file", "unreadable", "binary", "unsupported_format", "duplicate_record",
    "corrupt_warc", "bad_header", "bad_length", "truncated_record", "bad_http", "bad_chunking", "bad_encoding", "bad_charset",
    "not_text", "not_document", "http_status",
]  # fmt: skip


class ReasonedError(VerilakeError):
    """Something that becomes a reject: its reason code, and what is wrong in words."""

    exit_code = 3

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason: Reason = reason
        self.detail = detail


REASONS: dict[Reason, str] = {
    "not_json": "the line is not JSON",
    "not_object": "the line is JSON, but no object",
    "duplicate_key": "an object names a key twice, so that its value is ambiguous",
    "too_deep": "arrays and objects are nested deeper than MAX_DEPTH",
    "no_text": "the record lacks the text field",
    "null_text": "the text field is null",
    "empty_text": "the text is empty or nothing but white space",
    "text_not_string": "the text field is not a string",
    "invalid_utf8": "the bytes are not UTF-8",
    "lone_surrogate": "an escape names half a surrogate pair, which UTF-8 cannot store",
    "nul_bytes": "text, address, title or licence holds U+0000",
    "too_long": "longer than ingest.max_document_bytes",
    "bad_value": "a value of the row cannot be converted",
    "truncated_gzip": "the stream ends within a gzip member; what came before was taken",
    "corrupt_gzip": "the gzip stream is damaged; what came before was taken",
    "truncated_zstd": "the stream ends within a zstd frame; what came before was taken",
    "corrupt_zstd": "the zstd stream is damaged; what came before was taken",
    "compression_bomb": "the stream unpacks to implausibly much; what came before was taken",
    "no_text_column": "the Parquet file lacks the text column",
    "truncated_parquet": "the Parquet file has no footer",
    "corrupt_parquet": "the Parquet file, or one of its row groups, cannot be decoded",
    "empty_file": "the file holds nothing",
    "unreadable": "the file cannot be opened or read",
    "binary": "neither text nor any known format",
    "unsupported_format": "a known format that verilake does not read",
    "duplicate_record": "equal source, uri and text: the first one was taken",
    "corrupt_warc": "bytes of a web archive where a record should begin; what follows was taken",
    "bad_header": "a record of a web archive whose header does not end or lacks its length",
    "bad_length": "a record of a web archive that does not end where its length says",
    "truncated_record": "the archive ends within a record",
    "bad_http": "a response record that holds no HTTP response",
    "bad_chunking": "the payload is not chunked as its HTTP header says",
    "bad_encoding": "the payload is not packed as its HTTP header says",
    "bad_charset": "under no charset do the bytes give sensible text",
    "not_text": "a payload that is neither HTML nor plain text",
    "not_document": "a record of a web archive that holds no document: warcinfo, request, metadata (all of a WAT file), revisit",
    "http_status": "an HTTP status that ingest.http_status does not take: redirects, errors",
}

#: Nesting that a record may have. Far below the interpreter's recursion limit, so that the verdict does not depend on the caller's stack.
MAX_DEPTH = 100
#: Bytes of a reject that are kept.
FIRST_BYTES = 200
#: Position of a reject that means the file as a whole.
WHOLE_FILE = -1

_CONTAINERS = (dict, list, tuple)


class Quoted(str):
    """A value that JSON cannot carry, as a string; never taken for text, address, title or licence."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Record:
    """A document as received; ``metadata`` is canonical JSON of all fields that have no attribute here."""

    position: int
    uri: str
    title: str | None
    text: str
    licence: str | None
    metadata: str


@dataclass(frozen=True, slots=True)
class Reject:
    """What could not be taken, where, why, and its first bytes."""

    position: int
    reason: Reason
    detail: str
    first_bytes: bytes = b""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands: ``relative#<mark><position>`` is its address when it brings none of its own."""

    relative: str
    mark: str
    position: int

    @property
    def uri(self) -> str:
        """The address made from file and position."""
        return f"{self.relative}#{self.mark}{self.position}"


def reject(position: int, reason: Reason, detail: str, raw: bytes = b"") -> Reject:
    """A reject with its first bytes cut to ``FIRST_BYTES``."""
    return Reject(position, reason, detail, raw[:FIRST_BYTES])


def build_record(fields: Mapping[str, Any], conf: Ingest, place: Place, raw: bytes) -> Record | Reject:
    """Takes the named fields out of a record, and keeps all others as metadata.

    A named field whose value cannot be used (a title that is a number, an empty id) stays in the metadata: nothing is lost.

    Args:
        fields: JSON values by name: str, int, finite float, bool, None, list, dict.
        conf: names of the fields.
        place: where the record stands.
        raw: its bytes, for a reject.
    """
    if conf.text_field not in fields:
        return reject(place.position, "no_text", f"no field {conf.text_field!r}; there are: {_names(fields)}", raw)
    text = fields[conf.text_field]
    if text is None:
        return reject(place.position, "null_text", f"field {conf.text_field!r} is null", raw)
    if not isinstance(text, str) or isinstance(text, Quoted):
        detail = f"field {conf.text_field!r} holds {text if isinstance(text, Quoted) else type(text).__name__}"
        return reject(place.position, "text_not_string", detail[:FIRST_BYTES], raw)
    if not text.strip():
        return reject(place.position, "empty_text", f"field {conf.text_field!r} is empty", raw)
    used = {conf.text_field}
    uri = _first_address(fields, (conf.id_field, conf.uri_field), used) or place.uri
    title = _string(fields, conf.title_field, used)
    licence = _string(fields, conf.licence_field, used)
    try:
        metadata = canonical_json({name: value for name, value in fields.items() if name not in used})
    except RecursionError:
        return reject(place.position, "too_deep", f"nested deeper than {MAX_DEPTH}", raw)
    return checked(Record(place.position, uri, title, text, licence, metadata), conf, raw)


def checked(record: Record, conf: Ingest, raw: bytes) -> Record | Reject:
    """The record, or the reason why the lake cannot hold it: too long, half a surrogate pair, NUL."""
    text = record.text
    if len(text) > conf.max_document_bytes or (
        4 * len(text) > conf.max_document_bytes and len(text.encode("utf-8", "surrogatepass")) > conf.max_document_bytes
    ):
        return reject(record.position, "too_long", f"text exceeds ingest.max_document_bytes = {conf.max_document_bytes}", raw)
    named = (("text", text), ("address", record.uri), ("title", record.title), ("licence", record.licence), ("metadata", record.metadata))
    for name, value in named:
        if value is None:
            continue
        if _half_pair(value):
            return reject(record.position, "lone_surrogate", f"{name} holds half a surrogate pair", raw)
        if "\0" in value:
            return reject(record.position, "nul_bytes", f"{name} holds U+0000", raw)
    return record


def _half_pair(value: str) -> bool:
    """Whether a string holds half a surrogate pair: then, and only then, it has no UTF-8; encoding is ten times a search's speed."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def too_deep(value: Any) -> bool:
    """Whether containers are nested deeper than ``MAX_DEPTH``; walks level by level, never by recursion."""
    level = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return False
        level = [child for outer in level for child in _children(outer) if isinstance(child, _CONTAINERS)]
    return bool(level)


def _children(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value


def _first_address(fields: Mapping[str, Any], names: tuple[str, ...], used: set[str]) -> str | None:
    """The first usable id or address: a string with something in it, or a number."""
    for name in names:
        value = fields.get(name) if name and name not in used else None
        if isinstance(value, (bool, Quoted)) or not isinstance(value, (str, int, float)):
            continue
        address = value if isinstance(value, str) else canonical_json(value)
        if address.strip():
            used.add(name)
            return address
    return None


def _string(fields: Mapping[str, Any], name: str, used: set[str]) -> str | None:
    value = fields.get(name) if name and name not in used else None
    if isinstance(value, str) and not isinstance(value, Quoted) and value.strip():
        used.add(name)
        return value
    return None


def _names(fields: Mapping[str, Any]) -> str:
    shown = [repr(name[:40]) for name in sorted(fields)[:8]]
    return ", ".join(shown) + (" ..." if len(fields) > len(shown) else "") if shown else "none"
