"""Rows of silver.trajectory_verdicts: trajectories gathered by group, beside what was said, earned and asked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.lake.types import spark_schema
from schemas.silver.trajectory_verdicts import TRAJECTORY_VERDICTS
from udfs.trajectories.grading_batch import LOGPROB_SLACK
from udfs.trajectories.quality_batch import judge_batches

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def token_faults(tokens: DataFrame) -> DataFrame:
    """trajectory_id, token_fault (null where every turn keeps the invariants of R§7.3), sampled (tokens with mask 1)."""
    from pyspark.sql import functions as F

    ids, mask, version, logprobs = (F.col(n) for n in ("token_ids", "response_mask", "policy_version", "rollout_log_probs"))

    def no_logprob(pair: Column) -> Column:
        value = pair["rollout_log_probs"]
        bad = value.isNull() | F.isnan(value) | (value > LOGPROB_SLACK) | (value == float("-inf"))
        return (pair["response_mask"] == 1) & bad

    fault = (
        F.when((F.size(mask) != F.size(ids)) | (F.size(version) != F.size(ids)), "lengths")
        .when(logprobs.isNotNull() & (F.size(logprobs) != F.size(ids)), "lengths")
        .when(F.exists(ids, lambda x: x.isNull() | (x < 0)), "token_ids")
        .when(F.exists(mask, lambda x: x.isNull() | ~x.isin(0, 1)), "mask")
        .when(F.exists(F.arrays_zip(mask, version), lambda z: (z["response_mask"] == 1) != (z["policy_version"] >= 0)), "policy_version")
        .when(logprobs.isNotNull() & F.exists(F.arrays_zip(mask, logprobs), no_logprob), "log_probs")
    )
    sampled = F.aggregate(mask, F.lit(0), lambda total, x: total + F.coalesce(x, F.lit(0)))
    return tokens.select("trajectory_id", fault.alias("fault"), sampled.alias("sampled")).groupBy("trajectory_id").agg(
        F.min("fault").alias("turn_fault"), F.sum("sampled").alias("sampled")
    )  # fmt: skip


def medians(trajectories: DataFrame) -> DataFrame:
    """template, median: the lower median of response_length per prompt form, exact, from integer counts."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    counts = trajectories.where("response_length IS NOT NULL").groupBy("template", "response_length").count()
    running = Window.partitionBy("template").orderBy("response_length").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    ranked = counts.withColumn("below", F.sum("count").over(running)).withColumn("all", F.sum("count").over(Window.partitionBy("template")))
    return ranked.where("2 * below >= all").groupBy("template").agg(F.min("response_length").alias("median"))


def groups(trajectories: DataFrame, interactions: DataFrame, tokens: DataFrame, rewards: DataFrame, prompts: DataFrame) -> DataFrame:
    """One row a group with all that :func:`judge_batches` reads."""
    from pyspark.sql import functions as F

    said = interactions.where("sampled").select("trajectory_id", F.col("content").alias("response"))
    component = F.struct(F.col("reward_name").alias("name"), "value", "verdict", "is_outcome", "flags")
    earned = rewards.groupBy("trajectory_id").agg(F.collect_list(component).alias("rewards"))
    length = F.col("response_length")
    fault = (
        F.when(F.col("turn_fault").isNotNull(), F.col("turn_fault"))
        .when(length.isNotNull() & F.col("sampled").isNull(), "missing")
        .when(length.isNotNull() & (F.col("sampled") != length), "response_length")
    )
    attempt = F.struct(
        "trajectory_id", "sample_index", "response", F.col("outcome_reward").alias("outcome"), "status", "failure_class", "rewards",
        length.alias("length"), "median", fault.alias("token_fault"),
    )  # fmt: skip
    gathered = (
        trajectories.join(said, "trajectory_id", "left")
        .join(earned, "trajectory_id", "left")
        .join(token_faults(tokens), "trajectory_id", "left")
        .join(medians(trajectories), "template", "left")
        .groupBy("round", "group_id", "prompt_id")
        .agg(F.array_sort(F.collect_list(F.struct("sample_index", "trajectory_id", attempt.alias("attempt")))).alias("ordered"))
        .select("round", "prompt_id", F.transform("ordered", lambda o: o["attempt"]).alias("attempts"))
    )
    asked = prompts.select("prompt_id", F.col("text").alias("prompt"), "context", "options")
    return gathered.join(asked, "prompt_id", "left")


def verdicts(grouped: DataFrame, *, length_factor: float) -> DataFrame:
    """Rows of silver.trajectory_verdicts."""
    judge: partial[Iterator[pa.RecordBatch]] = partial(judge_batches, length_factor=length_factor)
    return grouped.mapInArrow(judge, spark_schema(TRAJECTORY_VERDICTS.schema))
