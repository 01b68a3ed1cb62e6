"""Texts held against benchmark sets: rows of silver.contamination."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from jobs.lake.types import spark_schema
from schemas.conf import Decontaminate
from schemas.silver.contamination import CONTAMINATION
from udfs.decontamination.batches import FOUND, RAW, found_batches, raw_batches
from udfs.decontamination.index import Index
from udfs.decontamination.rule import Rule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REASON = "contaminated"


def rule_of(conf: Decontaminate) -> Rule:
    """The settings of matching."""
    return Rule(
        n=conf.n, coverage=conf.coverage, short_coverage=conf.short_coverage, full_tokens=conf.full_tokens, window=conf.window,
        template_items=conf.template_items, template_documents=conf.template_documents,
    )  # fmt: skip


@contextmanager
def matches(texts: DataFrame, index: Index, scope: str, kind: str) -> Iterator[DataFrame]:
    """Rows of silver.contamination, while what was found is kept on disk: texts are read once.

    Args:
        texts: row_id, doc_id, text.
        index: items; sent to every worker once.
        scope: slice of the table.
        kind: of rows.
    """
    from pyspark import StorageLevel
    from pyspark.sql import functions as F

    shared = texts.sparkSession.sparkContext.broadcast(index)
    given = partial(_value, shared)
    raw = texts.mapInArrow(partial(raw_batches, index=given), spark_schema(RAW)).persist(StorageLevel.DISK_ONLY)
    try:
        strays = raw.where("row_id IS NULL").groupBy("gram").agg(F.sum("rows").alias("rows"))
        common = [row["gram"] for row in strays.where(F.col("rows") > index.rule.template_documents).select("gram").collect()]
        found = raw.where("row_id IS NOT NULL").mapInArrow(partial(found_batches, index=given, common=sorted(common)), spark_schema(FOUND))
        made = {
            "scope": F.lit(scope), "kind": F.lit(kind), "span_start": F.col("start"), "span_end": F.col("end"), "scheme": F.lit(index.rule.scheme),
        }  # fmt: skip
        yield found.select(*(made.get(name, F.col(name)).alias(name) for name in CONTAMINATION.schema.names))
    finally:
        raw.unpersist()
        shared.unpersist()


def _value(shared: object) -> Index:
    value = shared.value  # type: ignore[attr-defined]  # a broadcast of pyspark
    assert isinstance(value, Index)  # noqa: S101 -- for the type checker
    return value


def refuse(judged: DataFrame, matches: DataFrame, *, key: str, reason: str, evidence: str) -> DataFrame:
    """Give ``contaminated`` as the reason of rows that hold an item and were not rejected for anything else.

    Args:
        judged: rows with ``key`` and the two columns.
        matches: rows of silver.contamination.
        key: column of ``judged`` that ``row_id`` names.
        reason: column with the reason, null where the row passes.
        evidence: column with the reason's evidence.
    """
    from pyspark.sql import functions as F

    order = F.struct((-F.col("coverage")).alias("rest"), "benchmark", "item_id", "part")
    best = matches.groupBy(F.col("row_id").alias("_row")).agg(F.min_by("evidence", order).alias("_said"))
    hit = F.col("_said").isNotNull() & F.col(reason).isNull()
    joined = judged.join(best, F.col(key) == F.col("_row"), "left")
    changed = {
        reason: F.when(hit, F.lit(REASON)).otherwise(F.col(reason)),
        evidence: F.when(hit, F.col("_said")).otherwise(F.col(evidence)),
    }
    return joined.select(*(changed.get(name, F.col(name)).alias(name) for name in judged.columns))
