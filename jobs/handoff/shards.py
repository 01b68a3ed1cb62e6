"""Shards: which item lies in which, and their files."""

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


def lay_shards(run: HandoffRun, items: DataFrame, schema: pa.Schema, key: str, size: int) -> dict[str, int]:
    """Write one file a shard, sorted by ``key``; returns shard -> items, in order of the shards."""
    folder = str(run.store.path(ATTEMPTS))

    # A function with type hints, not a partial: Spark tells by them which form of Arrow function it is.
    def write(group: pa.Table) -> pa.Table:
        ordered = group.sort_by(key)
        path = write_attempt(folder, ordered.select(schema.names).cast(schema))
        return pa.table({"sid": ordered.column("sid").slice(0, 1), "n": [group.num_rows], "path": [path]})

    laid = assign_shards(items, key, size).groupBy("sid").applyInArrow(write, _LAID).collect()
    for row in sorted(laid, key=lambda row: row["sid"]):
        promote(run.store, row["path"], shard_name(row["sid"]))
    return {row["sid"]: int(row["n"]) for row in sorted(laid, key=lambda row: row["sid"])}
