"""Rows of silver.task_stats: the samples of each planned prompt, gathered and folded."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.lake.types import spark_schema
from schemas.silver.task_stats import TASK_STATS
from udfs.trajectories.summary import Belief, hash_batches, summarise_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Deliveries that are no samples of the plan; they are trajectories, but belong to no solve rate.
NO_SAMPLES = ("not_planned", "unknown_prompt", "duplicate_sample", "sample_out_of_range")
_POOL_KEY = ["prompt_id", "sampling_hash", "context_mode"]
_SAMPLING = ["temperature", "top_p", "logprobs_mode", "engine"]


def samples(trajectories: DataFrame, rewards: DataFrame, calls: DataFrame) -> DataFrame:
    """One row a sample of the plan: its key in silver.task_stats, its reward, whether it solved the task and agrees with the gold."""
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import to_arrow_schema

    outcome = rewards.where("is_outcome").select(
        "trajectory_id", F.col("verdict").alias("outcome_verdict"), F.col("extracted_answer").alias("answer")
    )
    right = rewards.where("reward_name = 'correct'").select("trajectory_id", F.col("verdict").alias("right_verdict"))
    distinct = calls.select(*_SAMPLING).distinct()
    fields = [*to_arrow_schema(distinct.schema), pa.field("sampling_hash", pa.string())]
    hashed = distinct.mapInArrow(hash_batches, spark_schema(pa.schema(fields)))
    sampling = calls.select("trajectory_id", *_SAMPLING).join(F.broadcast(hashed), _SAMPLING).select("trajectory_id", "sampling_hash")
    known = F.col("outcome_reward").isNotNull()
    planned = trajectories.where(F.col("failure_class").isNull() | ~F.col("failure_class").isin(*NO_SAMPLES))
    return (
        planned.join(sampling, "trajectory_id")
        .join(outcome, "trajectory_id", "left")
        .join(right, "trajectory_id", "left")
        .select(
            *_POOL_KEY, "policy_id", "round", "task_id", "task_type", "role", "run_id", "sample_index", "trajectory_id",
            F.col("outcome_reward").alias("reward"), "answer",
            F.coalesce(known & (F.col("outcome_verdict") == "correct"), F.lit(False)).alias("solved"),
            F.coalesce(known & (F.col("right_verdict") == "correct"), F.lit(False)).alias("agrees"),
        )
    )  # fmt: skip


def task_stats(sampled: DataFrame, prompts: DataFrame, earlier: DataFrame, belief: Belief) -> DataFrame:
    """Rows of silver.task_stats.

    Args:
        sampled: from :func:`samples`.
        prompts: gold.prompts of the plan, for the number of options.
        earlier: silver.task_stats of the rounds that are pooled with this one.
        belief: prior and band.
    """
    from pyspark.sql import functions as F

    now = sampled.groupBy(*_POOL_KEY).agg(
        F.sum(F.col("reward").isNotNull().cast("int")).alias("pooled_n"), F.sum(F.col("solved").cast("int")).alias("pooled_k")
    )
    before = earlier.groupBy(*_POOL_KEY).agg(F.sum("n_valid").alias("pooled_n"), F.sum("k").alias("pooled_k"))
    pooled = now.unionByName(before).groupBy(*_POOL_KEY).agg(F.sum("pooled_n").alias("pooled_n"), F.sum("pooled_k").alias("pooled_k"))
    n_options = F.when(F.col("context_mode") == "choice", F.size(F.from_json("options", "array<string>"))).otherwise(0)
    options = prompts.select("prompt_id", n_options.alias("options"))
    sample = F.struct("run_id", "sample_index", "trajectory_id", "reward", "solved", "agrees", "answer")
    gathered = (
        sampled.groupBy(*_POOL_KEY, "policy_id", "round", "task_id", "task_type", "role")
        .agg(F.array_sort(F.collect_list(sample)).alias("samples"))
        .join(pooled, _POOL_KEY)
        .join(options, "prompt_id")
    )
    fold: partial[Iterator[pa.RecordBatch]] = partial(summarise_batches, belief=belief)
    return gathered.mapInArrow(fold, spark_schema(TASK_STATS.schema))
