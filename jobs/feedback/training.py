"""Rows of gold.sft and gold.preferences: candidates of each training prompt, gathered and chosen from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.lake.types import spark_schema
from schemas.conf import Feedback
from schemas.gold.preferences import PREFERENCES
from schemas.gold.sft import SFT
from udfs.trajectories.selection_batch import pair_batches, sft_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def candidates(
    trajectories: DataFrame,
    verdicts: DataFrame,
    rewards: DataFrame,
    interactions: DataFrame,
    prompts: DataFrame,
    tasks: DataFrame,
    doubted: DataFrame,
) -> DataFrame:
    """One row a training prompt with its trajectories; prompts of eval tasks and of tasks whose gold is in doubt have none.

    Args:
        trajectories: silver.trajectories of the round; likewise verdicts, rewards, interactions.
        verdicts: silver.trajectory_verdicts: rejected trajectories are left out here already.
        rewards: silver.rewards.
        interactions: silver.interactions.
        prompts: gold.prompts of the plan.
        tasks: gold.tasks of the plan, for split and licence.
        doubted: task_id of the tasks whose gold the policy contradicts.
    """
    from pyspark.sql import functions as F

    usable = verdicts.where("state != 'rejected'").select("trajectory_id", "state")
    judged = rewards.where("is_outcome").select("trajectory_id", F.concat_ws("@", "verifier_name", "verifier_version").alias("judged_by"))
    said = interactions.where("sampled AND content IS NOT NULL").select("trajectory_id", F.col("content").alias("response"))
    trainable = tasks.where("split = 'train'").select("task_id", F.col("version").alias("task_version"), "licence")
    asked = prompts.select("prompt_id", "system", F.col("text").alias("prompt"))
    candidate = F.struct("trajectory_id", "response", F.col("outcome_reward").alias("reward"), "state", "judged_by")
    key = ("round", "prompt_id", "task_id", "task_type", "system", "prompt", "licence")
    return (
        trajectories.where("role = 'train' AND outcome_reward IS NOT NULL")
        .join(doubted, "task_id", "left_anti")
        .join(usable, "trajectory_id")
        .join(judged, "trajectory_id")
        .join(said, "trajectory_id")
        .join(trainable, ["task_id", "task_version"])
        .join(asked, "prompt_id")
        .groupBy(*key)
        .agg(F.array_sort(F.collect_list(candidate)).alias("candidates"))
    )  # fmt: skip


def sft(gathered: DataFrame, config: Feedback) -> DataFrame:
    """Rows of gold.sft."""
    choose: partial[Iterator[pa.RecordBatch]] = partial(sft_batches, limit=config.sft_per_prompt)
    return gathered.mapInArrow(choose, spark_schema(SFT.schema))


def preferences(gathered: DataFrame, config: Feedback) -> DataFrame:
    """Rows of gold.preferences."""
    choose: partial[Iterator[pa.RecordBatch]] = partial(pair_batches, limit=config.pairs_per_prompt, min_gap=config.min_score_gap)
    return gathered.mapInArrow(choose, spark_schema(PREFERENCES.schema))
