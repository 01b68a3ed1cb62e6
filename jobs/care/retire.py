"""Tasks of documents that were taken down: their next version is retired, so that no later round plans them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from schemas.gold.tasks import TASKS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REASON = "takedown"


def next_versions(newest: DataFrame, doc_ids: Iterable[str], *, origin: str) -> DataFrame:
    """Retired versions of the tasks of these documents.

    Args:
        newest: the version of every task that is in force; what is retired already is left as it is.
        doc_ids: documents.
        origin: slice of gold.tasks that is written.
    """
    from pyspark.sql import functions as F

    changed = {
        "version": (F.col("version") + 1).cast("int"), "origin": F.lit(origin), "status": F.lit("retired"), "status_reason": F.lit(REASON),
    }  # fmt: skip
    theirs = _of(newest, doc_ids, "left_semi").where("status != 'retired'")
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


def _of(tasks: DataFrame, doc_ids: Iterable[str], how: str) -> DataFrame:
    from pyspark.sql import functions as F

    wanted = tasks.sparkSession.createDataFrame([(ident,) for ident in sorted(doc_ids)], "doc_id string")
    return tasks.join(F.broadcast(wanted), "doc_id", how)
