"""Parquet: one row a record, row group by row group, in batches sized by the file's own figures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.conf import Ingest
from udfs.readers.record import MAX_DEPTH, WHOLE_FILE, Place, Quoted, Reason, Record, Reject, build_record, reject, too_deep
from udfs.readers.sniff import PARQUET_MAGIC

#: Uncompressed bytes that one batch should hold, so that memory does not grow with the file.
BATCH_BYTES = 1 << 24
MAX_BATCH_ROWS = 4096


def read_parquet(file: BinaryIO, conf: Ingest, relative: str) -> Iterator[Record | Reject]:
    """Records of a Parquet file; positions are row numbers from 0.

    A file that cannot be used as a whole is one reject; a row group that cannot be decoded is one reject at its first row
    that was not given, and the next row group goes on.
    """
    try:
        source = pq.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20)
        names = source.schema_arrow.names
    except (pa.ArrowException, OSError) as err:
        yield _broken(file, err)
        return
    if conf.text_field not in names:
        yield reject(WHOLE_FILE, "no_text_column", f"no column {conf.text_field!r}; there are: {', '.join(map(repr, names[:12]))}")
        return
    if len(set(names)) < len(names):
        yield reject(WHOLE_FILE, "duplicate_key", "two columns have the same name")
        return
    if not source.metadata.num_rows:
        yield reject(WHOLE_FILE, "empty_file", "a Parquet file without rows")
        return
    start = 0
    for group in range(source.num_row_groups):
        rows = source.metadata.row_group(group).num_rows
        yield from _group(source, group, start, conf, relative)
        start += rows


def _group(source: pq.ParquetFile, group: int, start: int, conf: Ingest, relative: str) -> Iterator[Record | Reject]:
    meta = source.metadata.row_group(group)
    size = max(1, min(MAX_BATCH_ROWS, BATCH_BYTES * meta.num_rows // max(1, meta.total_byte_size)))
    position = start
    try:
        for batch in source.iter_batches(batch_size=size, row_groups=[group], use_threads=False):
            yield from _rows(batch, position, conf, relative)
            position += batch.num_rows
    except (pa.ArrowException, OSError) as err:
        end = start + meta.num_rows - 1
        yield reject(position, "corrupt_parquet", f"row group {group}: rows {position} to {end} cannot be decoded: {_first_line(err)}")


def _rows(batch: pa.RecordBatch, start: int, conf: Ingest, relative: str) -> Iterator[Record | Reject]:
    index = batch.schema.get_field_index(conf.text_field)
    texts = _as_bytes(batch.column(index))
    others = {name: _values(batch.column(at)) for at, name in enumerate(batch.schema.names) if at != index or texts is None}
    for row in range(batch.num_rows):
        place = Place(relative, "row", start + row)
        raw: bytes | None = texts[row].as_py() if texts is not None else None
        shown = raw or b""
        fields = {name: values[row] for name, values in others.items()}
        broken = next((value for value in fields.values() if isinstance(value, Exception)), None)
        if broken is not None:
            reason: Reason = "invalid_utf8" if isinstance(broken, UnicodeDecodeError) else "bad_value"
            yield reject(place.position, reason, _first_line(broken), shown)
            continue
        if texts is not None:
            try:
                fields[conf.text_field] = None if raw is None else raw.decode("utf-8")
            except UnicodeDecodeError as err:
                yield reject(place.position, "invalid_utf8", f"byte {err.start}: {err.reason}", shown)
                continue
        if too_deep(fields):
            yield reject(place.position, "too_deep", f"nested deeper than {MAX_DEPTH}", shown)
            continue
        yield build_record(fields, conf, place, shown)


def _values(column: pa.Array) -> list[Any]:
    """JSON values of a column; in place of one that cannot be converted, the exception."""
    try:
        return [json_value(value) for value in column.to_pylist()]
    except (ValueError, OverflowError, pa.ArrowException):
        return [_value(column, at) for at in range(len(column))]


def _value(column: pa.Array, at: int) -> Any:
    try:
        return json_value(column[at].as_py())
    except (ValueError, OverflowError, pa.ArrowException) as err:
        return err


def _as_bytes(column: pa.Array) -> pa.Array | None:
    """The text column as bytes, for a Parquet string is not always UTF-8; None where it is neither string nor binary."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.large_binary())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return column
    return None


def json_value(value: Any) -> Any:
    """A JSON value of an Arrow value: what JSON lacks becomes a string (dates in ISO 8601, decimals exactly, bytes as hexadecimal)."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else Quoted({math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN"))
    if isinstance(value, dict):
        return {str(name): json_value(child) for name, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(child) for child in value]
    if isinstance(value, bytes):
        return Quoted(value.hex())
    return Quoted(value.isoformat() if hasattr(value, "isoformat") else value)


def _broken(file: BinaryIO, err: Exception) -> Reject:
    file.seek(0, 2)
    size = file.tell()
    file.seek(max(0, size - len(PARQUET_MAGIC)))
    whole = file.read() == PARQUET_MAGIC and size > 2 * len(PARQUET_MAGIC)
    return reject(WHOLE_FILE, "corrupt_parquet" if whole else "truncated_parquet", _first_line(err), PARQUET_MAGIC)


def _first_line(err: Exception) -> str:
    return (str(err).splitlines() or [type(err).__name__])[0][:300]
