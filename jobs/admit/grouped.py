"""Checks that look at many candidates, or at the whole corpus: collisions, duplicate questions, base rates."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from jobs.lake.types import spark_schema
from schemas.conf import Admit
from udfs.admission.batches import EARLIER, PATTERNS, earlier_batches, pattern_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def corpus_patterns(documents: DataFrame) -> DataFrame:
    """``PATTERNS`` of the corpus as it was received, before any de-duplication."""
    return documents.select("doc_id", "title", "text").mapInArrow(pattern_batches, spark_schema(PATTERNS))


def earlier_keys(tasks: DataFrame) -> DataFrame:
    """``EARLIER``: keys of the tasks that earlier ingests brought into the pool."""
    columns = tasks.select("task_id", "kind", "cluster_id", "subject", "question", "answer", "answer_type", "contract")
    return columns.mapInArrow(earlier_batches, spark_schema(EARLIER))


def collisions(checked: DataFrame, patterns: DataFrame) -> DataFrame:
    """``qa_id, collision_answer, collision_doc`` of candidates whose pattern the corpus fills with another answer.

    Two extremes of a pattern's answers tell: an item differs from at least one of them where any other answer exists.
    """
    from pyspark.sql import functions as F

    wanted = checked.select("pattern").distinct()
    place = F.struct("pattern_answer", "doc_id")
    spread = (
        patterns.join(wanted, "pattern", "left_semi")
        .groupBy("pattern")
        .agg(F.min(place).alias("low"), F.max(place).alias("high"))
    )  # fmt: skip
    other = F.when(F.col("low.pattern_answer") != F.col("pattern_answer"), F.col("low")).when(
        F.col("high.pattern_answer") != F.col("pattern_answer"), F.col("high")
    )
    return (
        checked.select("qa_id", "pattern", "pattern_answer").join(spread, "pattern")
        .withColumn("other", other).where("other IS NOT NULL")
        .select("qa_id", F.col("other.pattern_answer").alias("collision_answer"), F.col("other.doc_id").alias("collision_doc"))
    )  # fmt: skip


def repeated_questions(survivors: DataFrame, earlier: DataFrame) -> DataFrame:
    """``qa_id, question_reason, question_other``: questions asked before, by an earlier ingest's task or by a smaller qa_id.

    Where the answers differ, no candidate stays (collision); else the first one does. An earlier task always stays: it is in rounds already.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    mine = survivors.select("question_key", "qa_id", "answer_key", F.lit(1).alias("own"))
    theirs = earlier.select("question_key", F.col("task_id").alias("qa_id"), "answer_key", F.lit(0).alias("own"))
    asked = Window.partitionBy("question_key")
    first = asked.orderBy("own", "qa_id")
    differing = F.min("answer_key").over(asked) != F.max("answer_key").over(asked)
    everyone = asked.orderBy("own", "qa_id").rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    ranked = mine.unionByName(theirs).select(
        "qa_id", "own", differing.alias("differing"), F.row_number().over(first).alias("n"),
        F.first("qa_id").over(everyone).alias("first_id"), F.nth_value("qa_id", 2).over(everyone).alias("second_id"),
    )  # fmt: skip
    return ranked.where("own = 1 AND (differing OR n > 1)").select(
        "qa_id",
        F.when(F.col("differing"), "collision").otherwise("duplicate_question").alias("question_reason"),
        F.when(F.col("n") > 1, F.col("first_id")).otherwise(F.col("second_id")).alias("question_other"),
    )


def base_rates(survivors: DataFrame, earlier: DataFrame, conf: Admit) -> DataFrame:
    """``qa_id, base_rank, base_cap, base_items``: the rank of an item among those of its kind with its answer, by a hash of its id.

    At most max(min_answer_cap, floor(max_answer_share x items of the kind)) items may share an answer. Tasks of earlier ingests count as
    items of their kind and come first.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    # The share as an exact decimal: floor(0.29 x 100) must be 29.
    share = F.lit(Decimal(repr(conf.max_answer_share))).cast("decimal(20,10)")
    before = earlier.groupBy("kind").agg(F.count("*").alias("before_kind"))
    before_same = earlier.groupBy("kind", "answer_key").agg(F.count("*").alias("before_same"))
    of_kind = survivors.groupBy("kind").agg(F.count("*").alias("here"))
    order = Window.partitionBy("kind", "answer_key").orderBy("order_key", "qa_id")
    items = F.col("here") + F.coalesce(F.col("before_kind"), F.lit(0))
    cap = F.greatest(F.lit(conf.min_answer_cap), F.floor(share * items.cast("decimal(18,0)")).cast("int"))
    return (
        survivors.select("qa_id", "kind", "answer_key", "order_key").withColumn("n", F.row_number().over(order))
        .join(of_kind, "kind").join(before, "kind", "left").join(before_same, ["kind", "answer_key"], "left")
        .select(
            "qa_id", (F.col("n") + F.coalesce(F.col("before_same"), F.lit(0))).cast("int").alias("base_rank"), cap.alias("base_cap"),
            items.cast("int").alias("base_items"),
        )
    )  # fmt: skip
