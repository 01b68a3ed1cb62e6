"""Tasks of documents that were taken down: their next version is retired, so that no later round plans them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from schemas.gold.tasks import TASKS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REASON = "takedown"


def next_versions(newest: DataFrame, ids: Iterable[str], *, origin: str, column: str = "doc_id", reason: str = REASON) -> DataFrame:
    """Retired versions of the tasks of these documents, or of these tasks.

    Args:
        newest: the version of every task that is in force; what is retired already is left as it is.
        ids: values of ``column``.
        origin: slice of gold.tasks that is written.
        column: ``doc_id`` or ``task_id``.
        reason: why.
    """
    from pyspark.sql import functions as F

    changed = {
        "version": (F.col("version") + 1).cast("int"), "origin": F.lit(origin), "status": F.lit("retired"), "status_reason": F.lit(reason),
    }  # fmt: skip
    theirs = _of(newest, ids, "left_semi", column).where("status != 'retired'")
    return theirs.select(*[changed.get(name, F.col(name)).alias(name) for name in TASKS.schema.names])


def set_aside(tasks: DataFrame, doc_ids: Iterable[str]) -> DataFrame:
    """New tasks, those of documents that were taken down meanwhile retired from the start."""
    from pyspark.sql import functions as F

    wanted = sorted(doc_ids)
    if not wanted:
        return tasks
    retired = _of(tasks, wanted, "left_semi").withColumn("status", F.lit("retired")).withColumn("status_reason", F.lit(REASON))
    return _of(tasks, wanted, "left_anti").unionByName(retired)


def left_out(documents: DataFrame, doc_ids: Iterable[str]) -> DataFrame:
    """Documents without those that were taken down."""
    wanted = sorted(doc_ids)
    return _of(documents, wanted, "left_anti") if wanted else documents


def _of(tasks: DataFrame, ids: Iterable[str], how: str, column: str = "doc_id") -> DataFrame:
    from pyspark.sql import functions as F

    wanted = tasks.sparkSession.createDataFrame([(ident,) for ident in sorted(ids)], f"{column} string")
    return tasks.join(F.broadcast(wanted), column, how)
