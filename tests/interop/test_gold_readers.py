"""Every gold table holds the same values for deltalake, polars and DuckDB as for Spark."""

from __future__ import annotations

import duckdb
import polars as pl
import pytest

from jobs.lake.layout import Lake
from jobs.lake.write import read_table
from schemas.catalog import ALL_TABLES

pytestmark = [pytest.mark.spark, pytest.mark.interop]
GOLD = [table for table in ALL_TABLES if table.name.startswith("gold.")]


def canonical(rows, names):
    """Rows as tuples in one order; lists as tuples, so that they compare and sort."""
    values = [tuple(tuple(v) if isinstance(v, list) else v for v in (row[name] for name in names)) for row in rows]
    return sorted(values, key=repr)


@pytest.mark.parametrize("table", GOLD, ids=lambda t: t.name)
def test_values_are_equal_in_every_reader(spark, prepared, table):
    lake, names = Lake(prepared.root / "lake"), table.schema.names
    path = str(lake.path(table))
    wanted = canonical((row.asDict() for row in read_table(spark, lake, table).collect()), names)
    if table.name != "gold.alerts":  # a healthy small campaign raises none
        assert wanted, "an empty table would prove nothing"
    delta = lake.delta(table)
    assert canonical(delta.to_pyarrow_table().to_pylist(), names) == wanted
    assert canonical(pl.read_delta(path).to_dicts(), names) == wanted
    dataset = delta.to_pyarrow_dataset()  # noqa: F841  # DuckDB finds it by its name
    found = duckdb.sql(f"SELECT {', '.join(names)} FROM dataset").fetchall()
    assert canonical((dict(zip(names, row, strict=True)) for row in found), names) == wanted
