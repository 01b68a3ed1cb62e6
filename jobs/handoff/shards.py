"""Shards: which item lies in which, and their files. Items come as a frame, or as an Arrow table where they are few: then no Spark is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.handoff.files import ATTEMPTS, promote, write_attempt
from udfs.store.run import HandoffRun, shard_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Items that one task ranks; beyond it the ranking is split, so that no task sorts all keys of a large corpus.
RANKED_TOGETHER = 1_000_000
_LAID = "sid string, n long, path string"


def assign_shards(items: DataFrame, key: str, size: int) -> DataFrame:
    """Items with the column ``sid``: rank by ``key``, cut into runs of ``size``.

    The rank is a total order of the keys alone, so that neither partitions nor cores nor the order of input matter.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    buckets = -(-items.count() // RANKED_TOGETHER)
    bucket = F.pmod(F.xxhash64(key), F.lit(max(1, buckets))).cast("int")
    rank = F.row_number().over(Window.partitionBy("bucket").orderBy(key)) - 1
    number = F.floor(rank / F.lit(size)).cast("int")
    ranked = items.withColumn("bucket", bucket).withColumn("number", number)
    return ranked.withColumn("sid", F.format_string("%04d-%06d", "bucket", "number")).drop("bucket", "number")


def lay_shards(run: HandoffRun, items: DataFrame | pa.Table, schema: pa.Schema, key: str, size: int) -> dict[str, int]:
    """Write one file a shard, sorted by ``key``; returns shard -> items, in order of the shards."""
    folder = str(run.files.path(ATTEMPTS))
    if isinstance(items, pa.Table):
        return _lay_table(run, items.select(schema.names).cast(schema).sort_by(key), size)

    # A function with type hints, not a partial: Spark tells by them which form of Arrow function it is.
    def write(group: pa.Table) -> pa.Table:
        ordered = group.sort_by(key)
        path = write_attempt(folder, ordered.select(schema.names).cast(schema))
        return pa.table({"sid": ordered.column("sid").slice(0, 1), "n": [group.num_rows], "path": [path]})

    laid = assign_shards(items, key, size).groupBy("sid").applyInArrow(write, _LAID).collect()
    for row in sorted(laid, key=lambda row: row["sid"]):
        promote(run.files, row["path"], shard_name(row["sid"]))
    return {row["sid"]: int(row["n"]) for row in sorted(laid, key=lambda row: row["sid"])}


def _lay_table(run: HandoffRun, ordered: pa.Table, size: int) -> dict[str, int]:
    """The shards that :func:`assign_shards` would make of one bucket."""
    laid = {}
    for number, begin in enumerate(range(0, ordered.num_rows, size)):
        part, sid = ordered.slice(begin, size), f"0000-{number:06d}"
        promote(run.files, write_attempt(str(run.files.path(ATTEMPTS)), part), shard_name(sid))
        laid[sid] = part.num_rows
    return laid
