"""Who may be planned: the pool in its newest versions, joined with what policies could do so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.conf import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def known_before(origin: str, round_no: int) -> bool:
    """Whether a slice of gold.tasks or gold.prompts existed for a round: what an ingest, a takedown or a decontamination wrote, and what earlier rounds did."""
    kind, _, value = origin.partition("=")
    return kind in {"ingest", "takedown", "decontaminate"} or int(value) < round_no


def in_force(tasks: DataFrame) -> DataFrame:
    """The highest version of every task."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    newest = Window.partitionBy("task_id").orderBy(F.col("version").desc())
    return tasks.withColumn("_n", F.row_number().over(newest)).where("_n = 1").drop("_n")


def pooled(stats: DataFrame) -> DataFrame:
    """One row per task: its newest training statistics, and whether any round trained or probed it closed-book."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    newest = Window.partitionBy("task_id").orderBy(F.col("round").desc(), F.col("pooled_n").desc(), "prompt_id")
    return (
        stats.where("context_mode != 'open_book'")
        .withColumn("_n", F.row_number().over(newest))
        .where("_n = 1")
        .select("task_id", "pooled_n", "pooled_k", "posterior_mean", "p_in_band", F.col("round").alias("last_round"))
    )


def classify(tasks: DataFrame, stats: DataFrame, plan: Plan, *, round_no: int) -> DataFrame:
    """Training tasks with the pool that each belongs to in this round.

    Columns added: ``pool`` (later_stage, not_active, not_trainable, unexplored, in_band, failed, mastered, out_of_band) and the
    statistics; every task gets exactly one pool, so that the plan's funnel adds up.
    """
    from pyspark.sql import functions as F

    highest_stage = plan.max_stage_first_round + round_no - 1
    known = tasks.where("split = 'train'").join(pooled(stats), "task_id", "left")
    pool = (
        F.when(F.col("status") != "active", "not_active")
        .when(~F.array_contains("allowed_roles", "train"), "not_trainable")
        .when(F.col("stage") > highest_stage, "later_stage")
        .when(F.col("last_round").isNull(), "unexplored")
        .when(F.col("p_in_band") >= plan.min_p_in_band, "in_band")
        .when(F.col("pooled_k") == 0, "failed")
        .when(F.col("posterior_mean") > plan.band[1], "mastered")
        .otherwise("out_of_band")
    )
    return known.withColumn("pool", pool)


def order_key(*parts: object) -> object:
    """A column that orders rows as if at random, the same on every machine: sha256 over seed, round and id."""
    from pyspark.sql import functions as F

    return F.sha2(F.concat_ws("|", *[part if hasattr(part, "_jc") else F.lit(str(part)) for part in parts]), 256)


def one_form(prompts: DataFrame, seed: int, round_no: int) -> DataFrame:
    """One prompt per task: which form a task takes in a round is drawn by hash."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    drawn = Window.partitionBy("task_id").orderBy(order_key("form", seed, round_no, F.col("prompt_id")))
    return prompts.withColumn("_n", F.row_number().over(drawn)).where("_n = 1").drop("_n")
