"""Rows leave a table: one DELETE under the table's lock, counted before and after, with metadata that says what is left of each slice.

Such a commit carries no fingerprint: slices stay what their job wrote, less the rows that were purged (``Lake.slices``), so that nothing
downstream becomes stale and no job thinks its work undone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

from jobs.context import code_hash
from jobs.lake.errors import VerifyError
from jobs.lake.layout import Lake
from jobs.lake.locks import exclusive
from jobs.lake.write import read_table
from schemas.bronze.rejects import REJECTS
from schemas.ids import canonical_json
from schemas.table import Table
from udfs.killpoints import reach

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

JOB = "takedown"
#: Values that one DELETE compares with; more of them are several commits.
AT_ONCE = 20_000
_APPEND_ONLY = "delta.appendOnly"
_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


def erase_rows(spark: SparkSession, lake: Lake, table: Table, column: str, values: Sequence[str], takedown_id: str) -> int:
    """Delete the rows whose ``column`` is one of ``values``; returns how many there were.

    Raises:
        VerifyError: afterwards the table does not hold what it held less these rows.
    """
    gone = 0
    with exclusive(lake.root / ".locks", table.name):
        for at in range(0, len(values), AT_ONCE):
            gone += _erase(spark, lake, table, column, list(values[at : at + AT_ONCE]), takedown_id)
    return gone


def update_rows(spark: SparkSession, lake: Lake, table: Table, wanted: Column, values: Mapping[str, Column], takedown_id: str) -> int:
    """Put other values into columns of rows that stay; returns how many rows there were."""
    from delta.tables import DeltaTable

    with exclusive(lake.root / ".locks", table.name):
        found = int(read_table(spark, lake, table).where(wanted).count())
        if found:
            with _appending_lifted(spark, lake, table), _said(spark, table, takedown_id, {}):
                DeltaTable.forPath(spark, str(lake.path(table))).update(wanted, dict(values))
            reach(f"{JOB}/blanked/{table.name}")
    return found


def blank_rejects(spark: SparkSession, lake: Lake, first_bytes: Sequence[bytes], takedown_id: str) -> int:
    """Empty the first bytes of rejected records that repeat a document; the records stay counted. Returns how many there were."""
    from pyspark.sql import functions as F

    wanted = F.hex("first_bytes").isin([value.hex().upper() for value in first_bytes if value])
    return update_rows(spark, lake, REJECTS, wanted, {"first_bytes": F.lit(b"")}, takedown_id) if first_bytes else 0


def protect(spark: SparkSession, lake: Lake, table: Table) -> None:
    """Give back a property that a purge which died had lifted."""
    if table.append_only and lake.delta(table).metadata().configuration.get(_APPEND_ONLY) != "true":
        with exclusive(lake.root / ".locks", table.name):
            _set_property(spark, lake, table, "true")


def _erase(spark: SparkSession, lake: Lake, table: Table, column: str, values: list[str], takedown_id: str) -> int:
    from delta.tables import DeltaTable
    from pyspark.sql import functions as F

    before, gone = _rows(lake, table), _rows(lake, table, column, values)
    if not gone:
        return 0
    left = {name: before[name] - count for name, count in sorted(gone.items())}
    with _appending_lifted(spark, lake, table), _said(spark, table, takedown_id, left):
        DeltaTable.forPath(spark, str(lake.path(table))).delete(F.col(column).isin(values))
    reach(f"{JOB}/erased/{table.name}")
    after = _rows(lake, table)
    if after != before - gone:  # a Counter leaves out what fell to 0, as a table does
        raise VerifyError.from_figures(table.name, "all slices", lake.delta(table).version(), str(dict(before - gone)), str(dict(after)))
    return gone.total()


def _rows(lake: Lake, table: Table, column: str | None = None, values: Sequence[str] = ()) -> Counter[str]:
    """Slice -> rows, counted by another reader than the one that deletes."""
    wanted = ds.field(column).isin(pa.array(values, pa.string())) if column is not None else None
    held = lake.dataset(table).to_table(columns=[str(table.partition)], filter=wanted)
    return Counter(str(value) for value in held.column(0).to_pylist())


@contextmanager
def _said(spark: SparkSession, table: Table, takedown_id: str, left: dict[str, int]) -> Iterator[None]:
    said: dict[str, Any] = {"job": JOB, "table": table.name, "takedown": takedown_id, "left": left, "code": code_hash()}
    spark.conf.set(_USER_METADATA, canonical_json(said))
    try:
        yield
    finally:
        spark.conf.unset(_USER_METADATA)


@contextmanager
def _appending_lifted(spark: SparkSession, lake: Lake, table: Table) -> Iterator[None]:
    if not table.append_only:
        yield
        return
    _set_property(spark, lake, table, "false")
    try:
        yield
    finally:
        _set_property(spark, lake, table, "true")


def _set_property(spark: SparkSession, lake: Lake, table: Table, value: str) -> None:
    # The path is ours; a backtick within it ends the identifier unless doubled.
    path = str(lake.path(table)).replace("`", "``")
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('{_APPEND_ONLY}' = '{value}')")
