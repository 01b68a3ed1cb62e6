"""Responses of a round that can be judged, beside what was asked of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.context import JobContext
from jobs.ingest_rollouts import with_repeats
from jobs.lake.types import spark_schema
from schemas.bronze.rollouts import ROLLOUTS
from schemas.conf_rounds import Judge
from schemas.gold.prompts import PROMPTS
from schemas.handoff import JUDGE_SHARD
from schemas.silver.trajectories import TRAJECTORIES
from udfs.judging.batches import ANSWERS, judge_items
from udfs.judging.choose import Asking
from udfs.trajectories.turns import SAMPLED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class Considered:
    """A round's trajectories by whether they may be judged; every one is in exactly one part.

    Attributes:
        input: all of them.
        may: those that are left.
        failed: nothing was answered, or the delivery is unsound.
        other: of another role or kind of task than those that are asked about.
    """

    input: int
    may: int
    failed: int
    other: int


def considered(ctx: JobContext, round_no: int, judge: Judge) -> Considered:
    """Count them."""
    from pyspark.sql import functions as F

    by = ctx.read(TRAJECTORIES, round_no).groupBy(_sound().alias("sound"), _wanted(judge).alias("wanted")).agg(F.count("*").alias("n"))
    counts: Mapping[tuple[bool, bool], int] = {(row["sound"], row["wanted"]): int(row["n"]) for row in by.collect()}
    failed = sum(n for (sound, _), n in counts.items() if not sound)
    return Considered(sum(counts.values()), counts.get((True, True), 0), failed, counts.get((True, False), 0))


def answers(ctx: JobContext, round_no: int, judge: Judge) -> DataFrame:
    """``ANSWERS`` of the trajectories that may be judged.

    The response is what was graded: of an episode what the policy handed in. The question is the prompt as the policy read it, and the
    reference the gold of the contract that it was graded by; a contract of code has none that could be shown.
    """
    from pyspark.sql import functions as F

    own = F.filter("turns", lambda t: (t["role"] == SAMPLED) & t["content"].isNotNull())
    delivered = with_repeats(ctx.read(ROLLOUTS, round_no)).where("repeat = 0").select(
        "run_id", "prompt_id", "sample_index", F.coalesce("response_text", F.try_element_at(own, F.lit(-1))["content"]).alias("response"),
    )  # fmt: skip
    asked = ctx.read(PROMPTS).select(
        "prompt_id", F.col("text").alias("question"), F.get_json_object("contract", "$.gold").alias("reference")
    )
    sound = ctx.read(TRAJECTORIES, round_no).where(_sound() & _wanted(judge)).select("trajectory_id", "group_id", *_DELIVERY)
    return sound.join(delivered, [*_DELIVERY]).join(asked, "prompt_id").select(*ANSWERS.names)


#: What names a delivered rollout; sound ones are the first of their name.
_DELIVERY = ("run_id", "prompt_id", "sample_index")


def items(answers: DataFrame, asking: Asking) -> DataFrame:
    """Items for the judge, group by group."""

    # A function with type hints, not a partial: Spark tells by them which form of Arrow function it is.
    def ask(group: pa.Table) -> pa.Table:
        return judge_items(asking, group)

    return answers.groupBy("group_id").applyInArrow(ask, spark_schema(JUDGE_SHARD))


def _sound() -> Column:
    from pyspark.sql import functions as F

    return F.col("failure_class").isNull()


def _wanted(judge: Judge) -> Column:
    from pyspark.sql import functions as F

    wanted = F.col("role").isin(*judge.roles)
    return wanted & F.col("task_type").isin(*judge.task_types) if judge.task_types else wanted
