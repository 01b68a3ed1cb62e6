"""A chunk of Parquet rows graded: a batch or lines of JSON out."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from udfs.verifiers.chunks import Chunk, Tally
from udfs.verifiers.grade_lines import Begin, count, grade_one, spell
from udfs.verifiers.graded import Graded
from udfs.verifiers.registry import Verifier
from udfs.verifiers.rows import FIELDS, RESULTS

#: Columns of a graded row behind its id.
RESULT_FIELDS = (
    pa.field("verdict", pa.string()),
    pa.field("reward", pa.float64()),
    pa.field("extracted", pa.string()),
    pa.field("verifier_version", pa.string()),
    pa.field("flags", pa.list_(pa.string())),
)
#: Stands for a value that cannot be converted.
BROKEN = object()


def grade_batch(
    chunk: Chunk, table: Mapping[str, Verifier], begin: Begin, lost: Mapping[int, str], *, keep_inputs: bool
) -> tuple[pa.Table, list[Graded], Tally]:
    """Grade a chunk of form ``batch``.

    Args:
        chunk: the rows.
        table: the verifiers.
        begin: called before each row.
        lost: index of a row -> flag of its ``error``, see :func:`udfs.verifiers.grade_lines.grade_lines`.
        keep_inputs: keep the columns of the contract, not only the id and what is unknown.

    Returns:
        The columns that go on, the id first; what each row got; the counts.
    """
    with pa.ipc.open_stream(chunk.payload) as stream:
        rows = stream.read_all()
    known = {name: column_values(rows.column(name), known=True) for name in FIELDS if name in rows.column_names}
    tally, found = Tally(), []
    for index, place in enumerate(chunk.places):
        fields = {name: values[index] for name, values in known.items()}
        broken = [f"bad_value_{name}" for name, value in fields.items() if value is BROKEN]
        graded = grade_one(fields, broken, index, table, begin, lost)
        found.append(graded)
        count(tally, "row", place, fields, table, graded)
    return rows.select(carried_names(rows.column_names, keep_inputs=keep_inputs)), found, tally


def carried_names(names: list[str], *, keep_inputs: bool) -> list[str]:
    """Columns that go on: the id first, then those that no contract knows, in their order."""
    dropped = {*RESULTS, *(() if keep_inputs else FIELDS), "id"}
    return [name for name in names if name == "id"] + [name for name in names if name not in dropped]


def as_batch(carried: pa.Table, found: list[Graded]) -> pa.RecordBatch:
    """Carried columns with the verdicts between the id and the others."""
    results = [
        pa.array([graded.verdict for graded in found], pa.string()),
        pa.array([graded.reward for graded in found], pa.float64()),
        pa.array([graded.extracted for graded in found], pa.string()),
        pa.array([graded.by for graded in found], pa.string()),
        pa.array([list(graded.flags) for graded in found], pa.list_(pa.string())),
    ]
    (batch,) = carried.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], carried.schema)]
    schema = batch_schema(carried.schema)
    has_id = "id" in carried.column_names
    ident = batch.column("id") if has_id else pa.nulls(len(found), pa.string())
    return pa.RecordBatch.from_arrays([ident, *results, *batch.columns[int(has_id) :]], schema=schema)


def batch_schema(carried: pa.Schema) -> pa.Schema:
    """The schema of :func:`as_batch`."""
    ident = carried.field("id") if "id" in carried.names else pa.field("id", pa.string())
    return pa.schema([ident, *RESULT_FIELDS, *(field for field in carried if field.name != "id")])


def packed(batch: pa.RecordBatch) -> bytes:
    """A batch as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def as_lines(carried: pa.Table, found: list[Graded]) -> bytes:
    """Graded rows as lines of JSON."""
    values = {name: column_values(carried.column(name), known=False) for name in carried.column_names}
    idents = values.pop("id", [None] * len(found))
    out = [
        spell(graded, value_json(idents[at]), ((value_json(name), value_json(column[at])) for name, column in values.items()))
        for at, graded in enumerate(found)
    ]
    return "".join(out).encode("utf-8", "backslashreplace")


def value_json(value: Any) -> str:
    """A value of :func:`column_values` as JSON."""
    return json.dumps(None if value is BROKEN else value, ensure_ascii=False)


def column_values(column: pa.ChunkedArray, *, known: bool) -> list[Any]:
    """Values of a column as JSON has them; ``BROKEN`` for what cannot be converted.

    Args:
        column: of any type.
        known: it is a field of the contract: bytes are read as text, numbers stay what they are.
    """
    try:
        return [_plain(value, known=known) for value in column.to_pylist()]
    except (ValueError, OverflowError, pa.ArrowException):
        return [_value(cell, known=known) for cell in column]


def _value(cell: pa.Scalar, *, known: bool) -> Any:
    try:
        return _plain(cell.as_py(), known=known)
    except (ValueError, OverflowError, pa.ArrowException):
        return BROKEN


def _plain(value: Any, *, known: bool) -> Any:
    """A JSON value: dates in ISO 8601, decimals exactly; bytes as text where they are a field to grade, else as hexadecimal.

    Raises:
        ValueError: bytes to grade are not UTF-8.
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if known or math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(name): _plain(child, known=known) for name, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(child, known=known) for child in value]
    if isinstance(value, bytes):
        return value.decode("utf-8") if known else value.hex()
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) or not known else value
