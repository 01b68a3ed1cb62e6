"""JSON lines as Arrow tables of some megabytes, by Arrow's own parser; line by line where that refuses a stretch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.json

#: Bytes that are parsed at once.
STRETCH = 16 << 20
#: Mark of a string field whose values are JSON text.
AS_JSON = {b"verilake": b"json"}


@dataclass(frozen=True)
class BadLine:
    """A line that is no record."""

    line: int
    reason: str
    first_bytes: bytes


def tables(pieces: Iterable[bytes]) -> Iterator[tuple[pa.Table, list[BadLine]]]:
    """Records of a byte stream, and the lines that are none; blank lines are skipped."""
    line = 1
    for stretch in _stretches(pieces):
        yield _parse(stretch, line)
        line += stretch.count(b"\n")


def _stretches(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The stream cut after line feeds."""
    held: list[bytes] = []
    size, first = 0, True
    for raw in pieces:
        piece = raw.removeprefix(b"\xef\xbb\xbf") if first else raw
        first = False
        held.append(piece)
        size += len(piece)
        if size >= STRETCH and b"\n" in piece:
            whole = b"".join(held)
            cut = whole.rindex(b"\n") + 1
            yield whole[:cut]
            held, size = [whole[cut:]], len(whole) - cut
    if size:
        yield b"".join(held)


def _parse(stretch: bytes, line: int) -> tuple[pa.Table, list[BadLine]]:
    if not stretch.strip():
        return pa.table({}), []
    try:
        table = _read(stretch, None)
        if any(_has_time(field.type) for field in table.schema):  # Arrow takes strings that look like dates for dates
            table = _read(stretch, pa.schema([field.with_type(_timeless(field.type)) for field in table.schema]))
    except pa.ArrowException:
        return _line_by_line(stretch, line)
    if len(set(table.schema.names)) < len(table.schema.names):
        return _line_by_line(stretch, line)
    return table, []


def _read(stretch: bytes, schema: pa.Schema | None) -> pa.Table:
    return pyarrow.json.read_json(
        pa.BufferReader(stretch),
        read_options=pyarrow.json.ReadOptions(block_size=len(stretch) + 1),
        parse_options=pyarrow.json.ParseOptions(explicit_schema=schema, newlines_in_values=False),
    )


def _has_time(kind: pa.DataType) -> bool:
    return pa.types.is_temporal(kind) or any(_has_time(kind.field(i).type) for i in range(kind.num_fields))


def _timeless(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_temporal(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([kind.field(i).with_type(_timeless(kind.field(i).type)) for i in range(kind.num_fields)])
    return pa.list_(kind.field(0).with_type(_timeless(kind.field(0).type))) if pa.types.is_list(kind) else kind


def _line_by_line(stretch: bytes, line: int) -> tuple[pa.Table, list[BadLine]]:
    records: list[dict[str, Any]] = []
    bad: list[BadLine] = []
    for number, raw in enumerate(stretch.split(b"\n"), line):
        if not raw.strip():
            continue
        try:
            value = json.loads(raw.decode("utf-8"))
        except UnicodeDecodeError:
            bad.append(BadLine(number, "invalid_utf8", raw[:200]))
            continue
        except (ValueError, RecursionError):
            bad.append(BadLine(number, "not_json", raw[:200]))
            continue
        if isinstance(value, dict):
            records.append(value)
        else:
            bad.append(BadLine(number, "not_object", raw[:200]))
    names = list(dict.fromkeys(name for record in records for name in record))
    columns = [_column(name, [record.get(name) for record in records]) for name in names]
    return pa.Table.from_arrays([array for _, array in columns], schema=pa.schema([field for field, _ in columns])), bad


def _column(name: str, values: list[Any]) -> tuple[pa.Field, pa.Array]:
    try:
        array = pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError, TypeError, ValueError):
        return as_json(name, values)
    return pa.field(name, array.type), array


def as_json(name: str, values: Iterable[Any]) -> tuple[pa.Field, pa.Array]:
    """A column whose values have no common type, as JSON text."""
    return pa.field(name, pa.string(), metadata=AS_JSON), pa.array([None if v is None else json.dumps(v) for v in values], pa.string())
