"""JSONL: one JSON object a line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import takewhile
from typing import Any, BinaryIO

from schemas.conf import Ingest
from udfs.readers.lines import BOM, Line, split_lines
from udfs.readers.parts import Part
from udfs.readers.record import MAX_DEPTH, Place, Quoted, Record, Reject, build_record, reject, too_deep
from udfs.readers.streams import CHUNK

#: Longer integers stay strings: Python itself refuses to convert them (its limit is 4300 digits).
MAX_INT_DIGITS = 4000


class _DuplicateKeyError(ValueError):
    """An object names a key twice."""


def read_jsonl(pieces: Iterable[bytes], conf: Ingest, relative: str) -> Iterator[Record | Reject]:
    """Records of a stream; positions are line numbers from 1; blank lines are no records."""
    return _records(split_lines(pieces, conf.max_document_bytes), conf, relative)


def read_jsonl_part(file: BinaryIO, conf: Ingest, relative: str, part: Part) -> Iterator[Record | Reject]:
    """Records of the lines that begin in a range of a file that is not packed; positions as if it were read whole."""
    file.seek(part.begin)
    if part.begin:
        # The line that the range begins within is another's; one that begins right here follows a line feed.
        file.seek(part.begin - 1)
        start = _behind_line_feed(file, part.begin - 1)
    else:
        start = len(BOM) if file.read(len(BOM)) == BOM else 0
    file.seek(start)
    # The first line begins where the file does, in front of its byte order mark.
    lines = split_lines(iter(partial(file.read, CHUNK), b""), conf.max_document_bytes, offset=start, number=part.line)
    return _records(takewhile(lambda line: part.end < 0 or line.number == 1 or line.start < part.end, lines), conf, relative)


def _behind_line_feed(file: BinaryIO, offset: int) -> int:
    while piece := file.read(CHUNK):
        found = piece.find(b"\n")
        if found >= 0:
            return offset + found + 1
        offset += len(piece)
    return offset


def _records(lines: Iterable[Line], conf: Ingest, relative: str) -> Iterator[Record | Reject]:
    for line in lines:
        if line.fault is not None:
            yield reject(line.number, line.fault.reason, line.fault.detail, line.data)
        elif line.too_long or line.data.strip():
            yield parse_line(line, conf, relative)


def parse_line(line: Line, conf: Ingest, relative: str) -> Record | Reject:
    """One line to a record, or to the reason why it is none."""
    value = read_object(line, conf.max_document_bytes)
    return value if isinstance(value, Reject) else build_record(value, conf, Place(relative, "L", line.number), line.data)


def read_object(line: Line, max_bytes: int) -> dict[str, Any] | Reject:
    """The JSON object of one line, or the reason why it holds none.

    Args:
        line: the line.
        max_bytes: longest line that is taken (``ingest.max_document_bytes``).
    """
    if line.too_long:
        detail = f"a line of {line.length} bytes exceeds ingest.max_document_bytes = {max_bytes}"
        return reject(line.number, "too_long", detail, line.data)
    try:
        source = line.data.decode("utf-8")
    except UnicodeDecodeError as err:
        return reject(line.number, "invalid_utf8", f"byte {err.start} of the line: {err.reason}", line.data)
    if "\0" in source:
        return reject(line.number, "nul_bytes", f"character {source.index(chr(0))} of the line is NUL", line.data)
    try:
        value = _DECODER.decode(source)
    except _DuplicateKeyError as err:
        return reject(line.number, "duplicate_key", str(err), line.data)
    except RecursionError:
        return reject(line.number, "too_deep", f"nested deeper than {MAX_DEPTH}", line.data)
    except json.JSONDecodeError as err:
        return reject(line.number, "not_json", f"{err.msg} at character {err.pos}", line.data)
    if not isinstance(value, dict):
        return reject(line.number, "not_object", f"the line holds {_kind(value)}", line.data)
    if too_deep(value):
        return reject(line.number, "too_deep", f"nested deeper than {MAX_DEPTH}", line.data)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                shown = ascii(name[:60])
                raise _DuplicateKeyError(f"the key {shown} occurs twice in one object")
            seen.add(name)
    return value


def _float(literal: str) -> float | str:
    """A float; where the literal overflows, the literal itself, for JSON has no infinity."""
    value = float(literal)
    return value if math.isfinite(value) else Quoted(literal)


def _int(literal: str) -> int | str:
    return int(literal) if len(literal) <= MAX_INT_DIGITS else Quoted(literal)


#: NaN and the infinities, which are no JSON but which many writers emit, become strings of their names.
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_int=_int, parse_constant=Quoted)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return {list: "an array", str: "a string", bool: "a boolean"}.get(type(value), "a number")
