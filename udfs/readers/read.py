"""The one reader: whatever a file holds, its records and its rejects, in bounded memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Literal

from schemas.conf import Ingest
from udfs.readers.jsonl import read_jsonl, read_jsonl_part
from udfs.readers.parquet import read_parquet
from udfs.readers.parts import WHOLE, Part, Reached
from udfs.readers.plaintext import read_text
from udfs.readers.record import WHOLE_FILE, Reason, Record, Reject, reject
from udfs.readers.sniff import Format, sniff_file
from udfs.readers.streams import decompress
from udfs.readers.warc.read import read_warc

_WHOLE: dict[str, Reason] = {"empty": "empty_file", "binary": "binary", "unsupported": "unsupported_format"}


def read(
    path: str | bytes | Path,
    conf: Ingest,
    *,
    relative: str | None = None,
    part: Part = WHOLE,
    told: Callable[[Reached], None] = lambda _reached: None,
) -> Iterator[Record | Reject]:
    """Every record of a file, or the reject that stands in its place; positions are unique within the file.

    Never raises for what the file holds or for the file itself: an error of the file system is a reject, too.

    Args:
        path: the file.
        conf: field names, unit of plain text, longest document.
        relative: the file's name in addresses; its base name where not given.
        part: the range of bytes in which a record must begin; a range only of files that ``splits`` allows.
        told: called at the end of a range of an archive with what was met, see :func:`udfs.readers.parts.joined`.
    """
    name = relative if relative is not None else os.fsdecode(os.path.basename(path))  # noqa: PTH119 - may be bytes
    last = WHOLE_FILE
    try:
        for item in _read(path, conf, name, part, told):
            last = item.position
            yield item
    except OSError as err:
        yield reject(WHOLE_FILE if last == WHOLE_FILE else last + 1, "unreadable", err.strerror or type(err).__name__)


def splits(path: str | bytes | Path) -> Literal["records", "lines"] | None:
    """Whether parts of a file can be read side by side: archives by their records, JSONL that is not packed by its lines."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - may be bytes
            found = sniff_file(file)
    except OSError:
        return None
    if found.kind == "warc":
        return "records"
    return "lines" if found == Format("jsonl") else None


def _read(
    path: str | bytes | Path, conf: Ingest, relative: str, part: Part, told: Callable[[Reached], None]
) -> Iterator[Record | Reject]:  # fmt: skip
    if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - may be bytes; opening a pipe would block for ever
        yield reject(WHOLE_FILE, "unreadable", "not a regular file")
        return
    with open(path, "rb") as file:  # noqa: PTH123 - may be bytes
        found = sniff_file(file)
        file.seek(0)
        if found.kind in _WHOLE:
            yield reject(WHOLE_FILE, _WHOLE[found.kind], found.detail or "no bytes", file.read(256))
            return
        if found.kind == "parquet":
            yield from read_parquet(file, conf, relative)
        elif found.kind == "warc":
            yield from read_warc(file, conf, relative, part, told)
        elif not part.whole:
            yield from read_jsonl_part(file, conf, relative, part)
        else:
            yield from _stream(file, found, conf, relative)


def _stream(file: BinaryIO, found: Format, conf: Ingest, relative: str) -> Iterator[Record | Reject]:
    pieces = decompress(file, found.compression)
    empty = True
    for item in read_jsonl(pieces, conf, relative) if found.kind == "jsonl" else read_text(pieces, conf, relative):
        empty = False
        yield item
    if empty:
        yield reject(WHOLE_FILE, "empty_file", "nothing but white space")
