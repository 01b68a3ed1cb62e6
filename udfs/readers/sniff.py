"""What a file is, by its first bytes; its name is never asked."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from udfs.readers.lines import BOM
from udfs.readers.streams import GZIP_MAGIC, ZSTD_MAGIC, Compression, StreamFaultError, decompress
from udfs.readers.warc.frames import MAGIC, begins_soon

Kind = Literal["jsonl", "parquet", "warc", "text", "empty", "binary", "unsupported"]

#: Bytes (unpacked) on which the verdict rests.
HEAD = 1 << 16
PARQUET_MAGIC = b"PAR1"
_SKIPPABLE_FRAME = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
_UNSUPPORTED: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"BZh", "bzip2: unpack it, or pack it with gzip or zstd"),
    (b"\xfd7zXZ\x00", "xz: unpack it, or pack it with gzip or zstd"),
    (b"\x04\x22\x4d\x18", "lz4: unpack it, or pack it with gzip or zstd"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"),
    (b"%PDF-", "a PDF: extract its text first"),
    (b"filedesc://", "an ARC archive: convert it to WARC first"),
    (b"ARROW1", "an Arrow file: write it as Parquet"),
    (b"PARE", "an encrypted Parquet file: decrypt it first"),
    (b"ORC", "an ORC file: write it as Parquet"),
    (b"\xff\xfe", "UTF-16: write it as UTF-8"),
    (b"\xfe\xff", "UTF-16: write it as UTF-8"),
    (b"Obj\x01", "an Avro file: write it as Parquet"),
)
#: An archive whose front is missing: a record behind the two empty lines that end the one before it.
_WARC_WITHIN = re.compile(rb"\r\n\r\nWARC/[01]\.\d{1,2}\r\n(?:WARC-|Content-)[A-Za-z-]+:")
_JSON_START = re.compile(rb'\s*\{\s*"')
_JSON_DOCUMENT = re.compile(rb'\s*(?:\[\s*\{\s*"|\{\s*\n\s*")')
#: Control bytes that text does hold: tab, line feed, form feed, carriage return, escape.
_TEXT_CONTROLS = frozenset(b"\t\n\x0c\r\x1b")


@dataclass(frozen=True, slots=True)
class Format:
    """What a file holds, inside which compression; ``detail`` says more about kinds that cannot be read."""

    kind: Kind
    compression: Compression = "none"
    detail: str = ""


def sniff(path: str | bytes | Path) -> Format:
    """Recognises a file by its first bytes, unpacked where it is compressed.

    Raises:
        OSError: the file cannot be opened or read.
    """
    with open(path, "rb") as file:  # noqa: PTH123 - names that are not UTF-8 come as bytes, which Path refuses
        return sniff_file(file)


def sniff_file(file: BinaryIO) -> Format:
    """Likewise, of an open file at its start; where the file stands afterwards is not defined."""
    start = file.read(len(b"WARC/") + 4)
    file.seek(0)
    if not start:
        return Format("empty")
    if start.startswith(PARQUET_MAGIC):
        return Format("parquet")
    if start.startswith(GZIP_MAGIC):
        return _packed(file, "gzip")
    if start.startswith(ZSTD_MAGIC) or _SKIPPABLE_FRAME.match(start):
        return _packed(file, "zstd")
    head = file.read(HEAD)
    return classify(head, whole=len(head) < HEAD)


def _packed(file: BinaryIO, compression: Compression) -> Format:
    """What is packed; where that cannot be told, for the start is damaged or needs a dictionary, whether an archive's record follows."""
    found, broken = _inside(file, compression)
    return Format("warc", compression) if broken and found.kind != "warc" and begins_soon(file) else found


def _inside(file: BinaryIO, compression: Compression) -> tuple[Format, bool]:
    """What is packed, and whether it breaks within its head."""
    head = b""
    broken = False
    whole = True
    try:
        for piece in decompress(file, compression):
            head += piece
            if len(head) >= HEAD:
                whole = False
                break
    except StreamFaultError:
        # The reader meets the fault again and reports it; without a single byte there is only the fault to report.
        if not head:
            return Format("text", compression), True
        whole, broken = False, True
    if not head:
        return Format("empty", compression), broken
    if head.startswith((GZIP_MAGIC, ZSTD_MAGIC)):
        return Format("unsupported", compression, "compressed twice: unpack it once"), broken
    if head.startswith(PARQUET_MAGIC):
        return Format("unsupported", compression, "Parquet inside a compressed stream: unpack it first"), broken
    found = classify(head[:HEAD], whole=whole and len(head) <= HEAD)
    return Format(found.kind, compression, found.detail), broken


def classify(head: bytes, *, whole: bool) -> Format:
    """Decides from the unpacked head.

    JSONL is what begins with a line that is, or starts like, a JSON object, or whose head holds at least as many such lines
    as lines that are no JSON at all: broken lines do not turn a file of records into one document of prose, and a quoted
    record does not turn prose into records.

    Args:
        head: first bytes.
        whole: the head is the whole file (else its last line may be cut).
    """
    for magic, words in _UNSUPPORTED:
        if head.startswith(magic):
            return Format("unsupported", detail=words)
    if head[257:262] == b"ustar":
        return Format("unsupported", detail="a tar archive: unpack it first")
    body = head.removeprefix(BOM)
    if body.lstrip().startswith(MAGIC) or _WARC_WITHIN.search(body):
        return Format("warc")
    if not body.strip():
        return Format("empty", detail="nothing but white space") if whole else Format("text")
    lines = body.split(b"\n")
    if not whole and len(lines) > 1:
        lines.pop()
    votes = [_vote(line) for line in lines if line.strip()]
    if votes and votes[0] == "other" and _JSON_DOCUMENT.match(body):
        return Format("unsupported", detail="one JSON value over several lines: write one object a line")
    if votes and (votes[0] == "record" or 0 < votes.count("record") >= votes.count("other")):
        return Format("jsonl")
    return Format("binary", detail="control bytes, and not UTF-8") if _is_binary(body) else Format("text")


def _vote(line: bytes) -> Literal["record", "other", "scalar"]:
    """``record``: a JSON object or array, or the start of an object; ``scalar``: any other JSON value."""
    if _JSON_START.match(line):
        return "record"
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return "other"
    return "record" if isinstance(value, (dict, list)) else "scalar"


def _is_binary(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as err:
        if err.start >= len(body) - 3:  # the head ends within a character
            return False
    else:
        return False
    controls = sum(1 for byte in body if byte < 0x20 and byte not in _TEXT_CONTROLS)
    return controls > len(body) // 50
