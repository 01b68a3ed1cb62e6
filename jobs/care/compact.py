"""Many small files of a closed slice become few: the same rows, proved by their logical checksum, in a commit that changes no data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from jobs.care.closed import Closed
from jobs.context import code_hash
from jobs.lake.checksum import Checksum, aggregates
from jobs.lake.errors import VerifyError
from jobs.lake.layout import Lake
from jobs.lake.locks import exclusive
from jobs.lake.write import read_table, sql_text
from schemas.ids import canonical_json
from schemas.table import Table
from udfs.killpoints import reach

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB = "maintain"
_MIB = 1 << 20


@dataclass(frozen=True)
class Compaction:
    """Slices of one table and their files, before and after (the same, where nothing was done yet)."""

    table: str
    slices: tuple[str, ...]
    files: int
    files_after: int


def small_slices(lake: Lake, table: Table, done: Closed, small_mb: int) -> Compaction:
    """Closed slices with more than one file below ``small_mb`` MiB."""
    added = pa.RecordBatchReader.from_stream(lake.delta(table).get_add_actions(flatten=True)).read_all()
    values = added.column(f"partition.{table.partition}").to_pylist() if table.partition else ["all"] * added.num_rows
    small: dict[str, int] = {}
    files: dict[str, int] = {}
    for value, size in zip(map(str, values), added.column("size_bytes").to_pylist(), strict=True):
        files[value] = files.get(value, 0) + 1
        small[value] = small.get(value, 0) + (size < small_mb * _MIB)
    wanted = tuple(sorted(v for v, count in small.items() if count > 1 and (table.partition is None or done.holds(table, v))))
    count = sum(files[value] for value in wanted)
    return Compaction(table.name, wanted, count, count)


def compact_slices(spark: SparkSession, lake: Lake, table: Table, done: Closed, small_mb: int) -> Compaction:
    """Compact them in one commit, under the table's lock; what another process did meanwhile is not done again.

    Raises:
        VerifyError: a slice has other rows afterwards.
    """
    from delta.tables import DeltaTable

    with exclusive(lake.root / ".locks", table.name):
        found = small_slices(lake, table, done, small_mb)
        if not found.slices:
            return found
        where = f"cast({table.partition} as string) IN ({', '.join(_literal(value) for value in found.slices)})"
        before = _checksums(spark, lake, table, where)
        with _settings(spark, table, small_mb):
            partition = _partition_filter(table, found.slices)
            DeltaTable.forPath(spark, str(lake.path(table))).optimize().where(partition).executeCompaction()
        reach(f"{JOB}/compacted/{table.name}")
        after = _checksums(spark, lake, table, where)
        for value, checksum in before.items():
            if after.get(value) != checksum:
                raise VerifyError.from_figures(table.name, value, lake.delta(table).version(), checksum, after.get(value, "nothing"))
        left = _files(lake, table, found.slices)
    return Compaction(table.name, found.slices, found.files, left)


def compact_ledger(lake: Lake, table: Table, small_mb: int) -> Compaction:
    """Compact a table of the ledger, without a JVM."""
    with exclusive(lake.root / ".locks", table.name):
        found = small_slices(lake, table, Closed(frozenset(), frozenset(), corpus=False), small_mb)
        if not found.slices:
            return found
        delta = lake.delta(table)
        before = sorted(lake.dataset(table).to_table(columns=["event_id"]).column(0).to_pylist())
        delta.optimize.compact()
        reach(f"{JOB}/compacted/{table.name}")
        after = sorted(lake.dataset(table).to_table(columns=["event_id"]).column(0).to_pylist())
        if before != after:
            raise VerifyError.from_figures(table.name, "all events", delta.version(), f"{len(before)} events", f"{len(after)} events")
        return Compaction(table.name, found.slices, found.files, len(lake.delta(table).file_uris()))


def _literal(value: str) -> str:
    return f"'{sql_text(value)}'"


def _partition_filter(table: Table, slices: tuple[str, ...]) -> str:
    """A filter on the partition column alone: OPTIMIZE takes no other."""
    number = str(table.schema.field(str(table.partition)).type) == "int32"
    return f"{table.partition} IN ({', '.join(str(int(v)) if number else _literal(v) for v in slices)})"


def _checksums(spark: SparkSession, lake: Lake, table: Table, where: str) -> Mapping[str, str]:
    from pyspark.sql import functions as F

    grouped = read_table(spark, lake, table).where(where).groupBy(F.col(str(table.partition)).cast("string").alias("slice"))
    return {row["slice"]: str(Checksum.from_row(row)) for row in grouped.agg(*aggregates(table)).collect()}


def _files(lake: Lake, table: Table, slices: tuple[str, ...]) -> int:
    added = pa.RecordBatchReader.from_stream(lake.delta(table).get_add_actions(flatten=True)).read_all()
    return sum(str(value) in slices for value in added.column(f"partition.{table.partition}").to_pylist())


@contextmanager
def _settings(spark: SparkSession, table: Table, small_mb: int) -> Iterator[None]:
    said: dict[str, Any] = {"job": JOB, "table": table.name, "code": code_hash()}
    settings = {
        "spark.databricks.delta.commitInfo.userMetadata": canonical_json(said),
        "spark.databricks.delta.optimize.minFileSize": str(small_mb * _MIB),
        "spark.databricks.delta.optimize.maxFileSize": str(max(small_mb, table.target_file_mb) * _MIB),
    }
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in settings:
            spark.conf.unset(key)
