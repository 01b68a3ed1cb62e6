"""Sampled turns of a round with all that stood before them, as items for program ``logprobs``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobs.context import JobContext
from jobs.rollout_turns import GAP
from schemas.conf_rounds import Rescore
from schemas.handoff import LOGPROBS_SHARD
from schemas.ids import canonical_json
from schemas.silver.calls import CALLS
from schemas.silver.tokens import TOKENS
from schemas.silver.trajectories import TRAJECTORIES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: What a delivery may lack so that a ratio could not be had: what the engine saw, what it drew, how likely that was under which distribution.
NEEDED = ("no_prompt_token_ids", "no_token_ids", GAP, "no_logprobs", "raw_logprobs")


@dataclass(frozen=True)
class Considered:
    """A round's trajectories by whether their tokens can be scored; every one is in exactly one part.

    Attributes:
        input: all of them.
        may: those that are left.
        failed: the delivery is unsound.
        other: of another role than those that are asked about.
        lossy: sound ones that lack what a ratio needs, by the first thing of ``NEEDED`` that is missing; ``retokenised``: what the engine
            saw in a later turn is not what stands in the turns before.
    """

    input: int
    may: int
    failed: int
    other: int
    lossy: dict[str, int]


def considered(ctx: JobContext, round_no: int, rescore: Rescore) -> Considered:
    """Count them."""
    from pyspark.sql import functions as F

    state = _state(rescore).alias("state")
    counts = {row["state"]: int(row["n"]) for row in ctx.read(TRAJECTORIES, round_no).groupBy(state).agg(F.count("*").alias("n")).collect()}
    lossy = {name: counts[name] for name in sorted((*NEEDED, "retokenised")) if name in counts}
    return Considered(sum(counts.values()), counts.get("may", 0), counts.get("failed", 0), counts.get("other", 0), lossy)


def turns(ctx: JobContext, round_no: int, rescore: Rescore, policy_id: str) -> DataFrame:
    """Rows of LOGPROBS_SHARD: every sampled turn of the trajectories that can be scored, at the temperature it was sampled at."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    chosen = ctx.read(TRAJECTORIES, round_no).where(_state(rescore) == "may").select("trajectory_id")
    earlier = Window.partitionBy("trajectory_id").orderBy("turn_index").rowsBetween(Window.unboundedPreceding, -1)
    held = ctx.read(TOKENS, round_no).join(chosen, "trajectory_id", "left_semi")
    sampled = held.withColumn("prompt_token_ids", F.flatten(F.collect_list("token_ids").over(earlier))).where(
        F.array_contains("response_mask", 1)
    )
    drawn = ctx.read(CALLS, round_no).select("trajectory_id", "turn_index", "temperature")
    # The id as schemas/bronze/rescored.py has it, over the same canonical JSON as schemas.ids.content_id.
    parts = F.concat(F.lit('["'), "trajectory_id", F.lit('",'), F.col("turn_index").cast("string"), F.lit(f",{canonical_json(policy_id)}]"))
    item_id = F.substring(F.sha2(parts, 256), 1, 32).alias("item_id")
    return sampled.join(drawn, ["trajectory_id", "turn_index"]).select("*", item_id).select(*LOGPROBS_SHARD.names)


def _state(rescore: Rescore) -> Column:
    """may, failed, other, or what the delivery lacks."""
    from pyspark.sql import functions as F

    state = F.when(F.col("failure_class").isNotNull(), "failed").when(~F.col("role").isin(*rescore.roles), "other")
    for name in NEEDED:
        state = state.when(F.array_contains("lossy", name), name)
    return state.when(F.get_json_object("raw", "$.retokenised") == "true", "retokenised").otherwise("may")
