"""Rows of gold.rl: the training prompts of a round as a trainer is offered them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.gold.rl import RL

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def offered(plan: DataFrame, prompts: DataFrame, tasks: DataFrame, stats: DataFrame, doubted: DataFrame) -> DataFrame:
    """Planned training prompts with their contract and what the policy could do on them.

    Args:
        plan: gold.round_plan of the round.
        prompts: gold.prompts of the plan.
        tasks: gold.tasks.
        stats: silver.task_stats of the round.
        doubted: task_id of the tasks whose gold the policy contradicts; a trainer is not offered these.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    # A prompt may have been sampled in more than one way; the way with most known rewards speaks for it.
    best = Window.partitionBy("prompt_id").orderBy(F.col("n_valid").desc(), "policy_id", "sampling_hash")
    figures = (
        stats.withColumn("_n", F.row_number().over(best)).where("_n = 1").select("prompt_id", "n_valid", "k", "posterior_mean", "p_in_band")
    )
    asked = prompts.select("prompt_id", "form", "template", "system", F.col("text").alias("prompt"), "context", "options", "contract")
    facts = tasks.where("split = 'train'").select(
        "task_id", F.col("version").alias("task_version"), "subject", "question", "answer", "answer_type", "verifier", "cluster_id", "origin",
        "doc_id", "licence",
    )  # fmt: skip
    return (
        plan.where("role = 'train'")
        .join(doubted, "task_id", "left_anti")
        .join(asked, "prompt_id")
        .join(facts, ["task_id", "task_version"])
        .join(figures, "prompt_id")
        .select(*RL.schema.names)
    )
