"""Columns of checked rows."""

from __future__ import annotations

import pyarrow as pa

from udfs.probes.item import PROBES, RESULTS, Checked
from udfs.verifiers.graded import storable

_TYPES: dict[str, pa.DataType] = {
    "occurrences": pa.int64(), "nearest": pa.int64(), "alternative": pa.bool_(), "overlap": pa.float64(), "contract_tried": pa.int64(), "base_rate": pa.float64(),
    "same_type": pa.int64(), "duplicate_of": pa.int64(), "siblings": pa.int64(), "siblings_told": pa.int64(),
}  # fmt: skip
#: What a checked row has beside the fields that it came with.
RESULT_FIELDS = (
    pa.field("state", pa.string()),
    pa.field("reasons", pa.list_(pa.string())),
    pa.field("grounded", pa.bool_()),
    pa.field("self_contained", pa.bool_()),
    pa.field("evidence", pa.struct([("start", pa.int64()), ("end", pa.int64()), ("hash", pa.string())])),
    pa.field("probes", pa.struct([(name, _TYPES.get(name, pa.string())) for name in PROBES])),
)


def checked_schema(schema: pa.Schema) -> pa.Schema:
    """Columns of a checked file, from those that it came with."""
    return pa.schema([*(field for field in schema if field.name not in RESULTS), *RESULT_FIELDS], schema.metadata)


def checked_batch(carried: pa.Table, found: list[Checked]) -> pa.RecordBatch:
    """Rows with their results.

    Args:
        carried: their columns, without those that results replace.
        found: one a row.
    """
    results = [
        [checked.state for checked in found],
        [list(checked.reasons) for checked in found],
        [checked.grounded for checked in found],
        [checked.self_contained for checked in found],
        [checked.evidence for checked in found],
        [{name: storable(value) if isinstance(value, str) else value for name, value in checked.probes.items()} for checked in found],
    ]
    (batch,) = carried.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], carried.schema)]
    arrays = [pa.array(values, field.type) for values, field in zip(results, RESULT_FIELDS, strict=True)]
    return pa.RecordBatch.from_arrays([*batch.columns, *arrays], schema=checked_schema(carried.schema))
