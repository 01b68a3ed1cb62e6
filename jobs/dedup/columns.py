"""The columns that matter, and one schema for all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jobs.dedup.errors import FilesRefusedError
from jobs.dedup.jsonl import AS_JSON, as_json
from jobs.dedup.source import Rows


def text_of(batch: pa.RecordBatch, name: str) -> pa.Array:
    """The texts of a batch; where it has no such field, nulls.

    Raises:
        FilesRefusedError: the field holds something else than text.
    """
    at = batch.schema.get_field_index(name)
    if at < 0:
        return pa.nulls(batch.num_rows, pa.string())
    found = batch.schema.field(at)
    kind = found.type.value_type if pa.types.is_dictionary(found.type) else found.type
    if pa.types.is_null(kind):
        return pa.nulls(batch.num_rows, pa.string())
    textual = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_binary, pa.types.is_large_binary)
    if not any(fits(kind) for fits in textual) or _is_json(found):
        raise FilesRefusedError.from_field_type("text", name, "values of several types" if _is_json(found) else kind, "strings")
    return batch.column(at)


def ids_of(batch: pa.RecordBatch, name: str) -> pa.Array:
    """The ids of a batch as strings or 64-bit integers; nulls where it has no such field.

    Raises:
        FilesRefusedError: they are neither.
    """
    at = batch.schema.get_field_index(name)
    if at < 0 or pa.types.is_null(batch.schema.field(at).type):
        return pa.nulls(batch.num_rows)
    found, column = batch.schema.field(at), batch.column(at)
    if pa.types.is_dictionary(found.type):
        column = column.dictionary_decode()
    if pa.types.is_integer(column.type):
        return column if pa.types.is_uint64(column.type) else column.cast(pa.int64())
    if (pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type)) and not _is_json(
        found
    ):
        return column.cast(pa.large_string())
    raise FilesRefusedError.from_field_type(
        "id", name, "values of several types" if _is_json(found) else column.type, "strings or integers"
    )


def all_ids(parts: list[pa.Array], name: str, *, asked_for: bool, there: set[str]) -> pa.Array:
    """One id a row, unique; row numbers where no row has one and no field was asked for.

    Raises:
        FilesRefusedError: ids are missing, repeated, or of several types.
    """
    rows = sum(len(part) for part in parts)
    kinds = {part.type for part in parts} - {pa.null()}
    if not kinds:
        if asked_for and name not in there:
            raise FilesRefusedError.from_missing_field("id", name, "--id-field", there)
        return pa.array(np.arange(rows), pa.int64())
    if len(kinds) > 1:
        raise FilesRefusedError.from_field_type("id", name, " and ".join(sorted(map(str, kinds))), "one type in all files")
    (kind,) = kinds
    ids = pa.chunked_array([part.cast(kind) for part in parts], kind).combine_chunks()
    ids = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    if ids.null_count:
        raise FilesRefusedError.from_missing_id(name, ids.null_count, int(np.flatnonzero(np.asarray(ids.is_null()))[0]))
    if pc.count_distinct(ids).as_py() < rows:
        counted = pc.value_counts(ids)
        often = counted.filter(pc.greater(counted.field("counts"), 1)).field("values")
        raise FilesRefusedError.from_repeated_id(name, len(often), str(often[0]))
    return ids


def places(ids: pa.Array, tokens: NDArray[np.int64], keep: tuple[str, ...]) -> NDArray[np.int64]:
    """Ordinal of every row in the order of preference: longer ones first where ``keep`` names the length, then by id."""
    by_id = np.empty(len(ids), np.int64)
    by_id[np.asarray(pc.sort_indices(ids))] = np.arange(len(ids))
    order = np.lexsort((by_id, -tokens)) if "length" in keep else np.argsort(by_id)
    place = np.empty(len(ids), np.int64)
    place[order] = np.arange(len(ids))
    return place


def one_schema(rows: Rows) -> pa.Schema:
    """What all batches can be brought to: common types, and JSON text for fields that have none."""
    if len(rows.schemas) == 1:
        return rows.schemas[0]
    kinds: dict[str, list[pa.Field]] = {}
    for schema in rows.schemas:
        for found in schema:
            kinds.setdefault(found.name, []).append(found)
    fields = {name: _common(name, found) for name, found in kinds.items()}
    doubtful = [name for name, found in fields.items() if not _is_json(found) and any(f.type != found.type for f in kinds[name])]
    for at in range(len(rows) if doubtful else 0):  # types may fit where values do not
        batch = rows.get(at)
        for name in [name for name in doubtful if name in batch.schema.names]:
            try:
                batch.column(name).cast(fields[name].type)
            except pa.ArrowException:
                fields[name] = _json_field(name)
                doubtful.remove(name)
    return pa.schema(fields.values())


def conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch in the schema of all."""
    if batch.schema.equals(schema, check_metadata=True):
        return batch
    return pa.RecordBatch.from_arrays([_conformed(batch, wanted) for wanted in schema], schema=schema)


def _conformed(batch: pa.RecordBatch, wanted: pa.Field) -> pa.Array:
    at = batch.schema.get_field_index(wanted.name)
    if at < 0:
        return pa.nulls(batch.num_rows, wanted.type)
    column = batch.column(at)
    if _is_json(wanted) and not _is_json(batch.schema.field(at)):
        return as_json(wanted.name, column.to_pylist())[1]
    return column.cast(wanted.type)


def _common(name: str, found: list[pa.Field]) -> pa.Field:
    if any(_is_json(f) for f in found):
        return _json_field(name)
    try:
        (common,) = pa.unify_schemas([pa.schema([f.with_nullable(True)]) for f in found], promote_options="permissive")
    except pa.ArrowException:
        return _json_field(name)
    return common


def _json_field(name: str) -> pa.Field:
    return pa.field(name, pa.string(), metadata=AS_JSON)


def _is_json(found: pa.Field) -> bool:
    metadata: dict[Any, Any] = found.metadata or {}
    return all(metadata.get(key) == value for key, value in AS_JSON.items())
