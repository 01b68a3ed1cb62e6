"""Rows of gold.worker_metrics: figures by worker and time window, and how far each worker lies from the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.check.metrics import MACHINE_SLICES, OF_TRAJECTORIES, figures
from schemas.gold.worker_metrics import WORKER_METRICS
from udfs.stats.outliers import StratumCount, worker_z

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def machine_figures(rows: DataFrame, *, round_no: int) -> DataFrame:
    """All figures of gold.worker_metrics for the rows of :func:`jobs.check.metrics.facts`."""
    return figures(rows, OF_TRAJECTORIES, MACHINE_SLICES, round_no=round_no, everything=False).unionByName(_outliers(rows, round_no))


def _outliers(rows: DataFrame, round_no: int) -> DataFrame:
    """The z of every worker (udfs.stats.outliers); what is brought here are sums: workers x task types x group sizes, however many samples."""
    from pyspark.sql import functions as F

    parts = (
        rows.where("valid = 1").groupBy("worker", "task_type", "group_id").agg(F.sum("valid").alias("size"), F.sum("correct").alias("k"))
    )
    sums = parts.groupBy("worker", "task_type", "size").agg(
        F.count("*").alias("groups"), F.sum("k").alias("k"), F.sum(F.col("k") * F.col("k")).alias("k2")
    )
    counts = [StratumCount(r["worker"], r["task_type"], r["size"], r["groups"], r["k"], r["k2"]) for r in sums.collect()]
    table = [
        {
            "round": round_no, "name": "worker_z", "slice_kind": "worker", "slice": worker, "value": z,
            "numerator": sum(c.k for c in counts if c.worker == worker), "denominator": sum(c.size * c.groups for c in counts if c.worker == worker),
        }
        for worker, z in sorted(worker_z(counts).items())
    ]  # fmt: skip
    return rows.sparkSession.createDataFrame(pa.Table.from_pylist(table, schema=WORKER_METRICS.schema))
