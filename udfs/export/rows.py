"""Rows in one spelling, and cut into row groups by a rule that looks at the rows alone.

How an engine cuts its batches decides, without care, where a Parquet file's row groups and pages begin, and so its bytes (L§6.12).
Here a row group ends after a fixed number of rows or before the row that would make it larger than a fixed number of bytes, whatever
the batches were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema without metadata of its own or of its columns: comments do not belong into files.

    Raises:
        TypeError: a column's type has more than one spelling for one value (maps, floats inside of lists).
    """
    for field in schema:
        if not (_is_text(field.type) or pa.types.is_primitive(field.type) or _is_plain_list(field.type)):
            raise TypeError(f"column {field.name}: no canonical form for {field.type}")
    return pa.schema([pa.field(field.name, field.type, field.nullable) for field in schema])


def canonical(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """The columns of ``schema`` in its order and types; -0.0 is 0.0 and every NaN the same one.

    Args:
        batch: rows, with the columns of ``schema`` and perhaps others.
        schema: a :func:`plain_schema`.

    Raises:
        ValueError: a column that is never null holds null.
    """
    columns = []
    for field in schema:
        column = batch.column(batch.schema.get_field_index(field.name)).cast(field.type)
        if not field.nullable and column.null_count:
            raise ValueError(f"column {field.name} is never null and holds {column.null_count} nulls")
        columns.append(_canonical_floats(column) if pa.types.is_floating(field.type) else column)
    return pa.Table.from_arrays(columns, schema=schema)


def row_groups(tables: Iterable[pa.Table], max_rows: int, max_bytes: int) -> Iterator[pa.Table]:
    """Cut a sequence of rows into groups; which ones depends on the rows and the two bounds, not on how ``tables`` are cut.

    Args:
        tables: rows in order, all of one schema.
        max_rows: rows of a group.
        max_bytes: bytes of its values; a single larger row is a group of its own.

    Yields:
        Groups, each in one contiguous chunk: pages, too, must not begin where a batch happened to begin.
    """
    held: list[pa.Table] = []
    rows = size = 0
    for table in tables:
        sizes, start = row_bytes(table), 0
        for number, added in enumerate(sizes.tolist()):
            if rows and (rows == max_rows or size + added > max_bytes):
                held.append(table.slice(start, number - start))
                yield _joined(held)
                held, rows, size, start = [], 0, 0, number
            rows, size = rows + 1, size + added
        held.append(table.slice(start))
    if rows:
        yield _joined(held)


def row_bytes(table: pa.Table) -> npt.NDArray[np.int64]:
    """Bytes of each row's values: text by its UTF-8, fixed types by their width, list elements likewise; shape (rows,)."""
    sizes = np.zeros(table.num_rows, np.int64)
    for column in table.columns:
        if _is_text(column.type):
            sizes += pc.fill_null(pc.binary_length(column), 0).to_numpy().astype(np.int64)
        elif pa.types.is_list(column.type):
            elements = pc.list_value_length(column)
            sizes += 8 * pc.fill_null(elements, 0).to_numpy().astype(np.int64)
            if _is_text(column.type.value_type):
                sizes += _text_in_lists(column)
        else:
            sizes += max(1, column.type.bit_width // 8)
    return sizes


def _text_in_lists(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    parents = pc.list_parent_indices(column.combine_chunks()).to_numpy()
    lengths = pc.fill_null(pc.binary_length(pc.list_flatten(column.combine_chunks())), 0).to_numpy()
    return np.bincount(parents, weights=lengths, minlength=len(column)).astype(np.int64)


def _joined(tables: list[pa.Table]) -> pa.Table:
    return pa.concat_tables([table for table in tables if table.num_rows]).combine_chunks()


def _canonical_floats(column: pa.Array) -> pa.Array:
    zero, nan = pa.scalar(0.0, column.type), pa.scalar(float("nan"), column.type)
    # -0.0 equals 0.0; if_else keeps null, because a null condition gives null.
    without = pc.if_else(pc.equal(column, zero), zero, column)
    return pc.if_else(pc.is_nan(without), nan, without)


def _is_text(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or pa.types.is_binary(dtype))


def _is_plain_list(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_list(dtype) and (_is_text(dtype.value_type) or pa.types.is_integer(dtype.value_type)))
