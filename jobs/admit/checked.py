"""Candidates with the outcome of every check that looks at one candidate alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from jobs.lake.types import spark_schema
from schemas.silver.qa import QA
from udfs.admission.batches import CHECKED, WINDOW, check_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def with_windows(qa: DataFrame, documents: DataFrame) -> DataFrame:
    """Candidates with the part of their document around the evidence; null where the document is missing.

    Spark's substring counts code points, as the offsets do; offsets out of range give a short or empty window, which the checks notice.
    """
    from pyspark.sql import functions as F

    docs = documents.select("doc_id", "text", "licence", "n_chars")
    start = F.greatest(F.lit(0), F.least(F.col("evidence_start"), F.col("n_chars")) - WINDOW).cast("long")
    length = F.greatest(F.lit(0), F.least(F.col("evidence_end"), F.col("n_chars")) + WINDOW - start).cast("int")
    return qa.join(docs, "doc_id", "left").select(
        *(F.col(name) for name in QA.schema.names),
        F.col("text").substr(start.cast("int") + 1, length).alias("window"), start.alias("window_start"), "n_chars", "licence",
    )  # fmt: skip


def check(items: DataFrame, *, max_near_misses: int, allow_weak_sandbox: bool = False) -> DataFrame:
    """``CHECKED``: every candidate with its row checks and the keys that the grouped checks compare."""
    tried = partial(check_batches, max_near_misses=max_near_misses, allow_weak_sandbox=allow_weak_sandbox)
    return items.mapInArrow(tried, spark_schema(CHECKED))
