"""Rollouts of several turns as Spark expressions: beside those of one response, in the same columns (R§7.3).

Every function takes the columns of :func:`jobs.ingest_rollouts.grade`; ``turns`` is null or empty where one response is all there is. What is
computed of each turn (ids, seeds, soundness) comes from :mod:`udfs.trajectories.turns`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from udfs.trajectories.turns import SAMPLED

if TYPE_CHECKING:
    from pyspark.sql import Column

#: Turns that an engine never saw as tokens (an observation after which the episode ended) give no row of tokens.
GAP = "no_tool_token_ids"


def several() -> Column:
    """Whether there are turns."""
    from pyspark.sql import functions as F

    return F.coalesce(F.size("turns"), F.lit(0)) > 0


def sampled_turns() -> Column:
    """How many turns the policy sampled."""
    from pyspark.sql import functions as F

    own = F.filter("turns", lambda t: (t["role"] == SAMPLED) & t["content"].isNotNull())
    return F.when(several(), F.size(own)).otherwise(F.col("response_text").isNotNull().cast("int"))


def versions() -> Column:
    """Ordinals of the weights that sampled the tokens of all turns; null or empty where nobody tells."""
    from pyspark.sql import functions as F

    own = F.filter("turns", lambda t: (t["role"] == SAMPLED) & t["weight_versions"].isNotNull())
    return F.when(several(), F.flatten(F.transform(own, lambda t: t["weight_versions"]))).otherwise(F.col("weight_versions"))


def oldest(versions: Column) -> Column:
    """The least of the ordinals; the row's own where there are none."""
    from pyspark.sql import functions as F

    return F.coalesce(F.array_min(versions), "policy_version")


def newest(versions: Column) -> Column:
    """The greatest of the ordinals; the row's own where there are none."""
    from pyspark.sql import functions as F

    return F.coalesce(F.array_max(versions), "policy_version")


def token_versions(ids: Column, versions: Column) -> Column:
    """One ordinal for each token: as told, else the row's own."""
    from pyspark.sql import functions as F

    own = F.col("policy_version")
    told = F.transform(versions, lambda v: F.coalesce(v, own))
    return F.when(F.size(versions) == F.size(ids), told).otherwise(F.array_repeat(own, F.size(ids)))


def spoken() -> Column:
    """Structs of silver.interactions for the turns after the prompt."""
    from pyspark.sql import functions as F

    nothing = F.lit(None).cast("string")

    def turn(t: Column, place: Column) -> Column:
        index, own = F.col("user_turn") + 1 + place, t["role"] == SAMPLED
        call = F.get(F.filter("engine_calls", lambda c: c["place"] == place), 0)
        return F.struct(
            index.cast("int").alias("turn_index"), (index - 1).cast("int").alias("parent_index"), t["role"].alias("role"),
            t["content"].alias("content"), F.coalesce(own, F.lit(False)).alias("sampled"),
            F.when(own, t["finish_reason"]).otherwise(nothing).alias("finish_reason"), call["call_id"].alias("call_id"),
            *(t[name].alias(name) for name in ("tool_calls", "tool_name", "tool_status")),
        )  # fmt: skip

    return F.transform("turns", turn)


def tensors() -> Column:
    """Structs of silver.tokens for the turns after the prompt; null for one without tokens."""
    from pyspark.sql import functions as F

    def turn(t: Column, place: Column) -> Column:
        ids, own = t["token_ids"], t["role"] == SAMPLED
        row = F.struct(
            (F.col("user_turn") + 1 + place).cast("int").alias("turn_index"),
            ids.alias("token_ids"),
            F.array_repeat(F.when(own, 1).otherwise(0), F.size(ids)).alias("response_mask"),
            F.when(own & F.col("usable_logprobs"), t["logprobs"]).cast("array<float>").alias("rollout_log_probs"),
            F.when(own, token_versions(ids, t["weight_versions"]))
            .otherwise(F.array_repeat(F.lit(-1), F.size(ids)))
            .alias("policy_version"),
        )
        return F.when(F.size(ids) > 0, row)

    return F.transform("turns", turn)


def call_columns() -> dict[str, Column]:
    """Columns of silver.calls that differ from call to call; ``call`` is one element of ``engine_calls``.

    When each of several calls ended, nobody recorded, and what it read from the prefix cache neither.
    """
    from pyspark.sql import functions as F

    turn = F.get("turns", F.col("call.place"))

    def of_turn(several_turns: Column, one: Column) -> Column:
        return F.when(several(), several_turns).otherwise(one)

    return {
        "call_id": F.col("call.call_id"),
        "seed": F.col("call.seed"),
        "turn_index": (F.col("user_turn") + 1 + F.col("call.place")).cast("int"),
        "weight_version": newest(of_turn(turn["weight_versions"], F.col("weight_versions"))),
        "prompt_tokens": of_turn(turn["prompt_tokens"], F.col("prompt_length").cast("long")),
        "completion_tokens": of_turn(turn["completion_tokens"], F.col("response_length").cast("long")),
        "error": F.when(several() & turn["content"].isNotNull(), F.lit(None)).otherwise(F.col("failure_class")),
        "latency_ms": of_turn(
            F.get("turn_seconds", F.col("call.place")) * 1000, (F.unix_micros("finished_at") - F.unix_micros("started_at")) / 1000
        ),
        "finished_at": of_turn(F.lit(None).cast("timestamp"), F.col("finished_at")),
        "finish_reason": of_turn(turn["finish_reason"], F.col("finish_reason")),
        "cached_tokens": of_turn(F.lit(None).cast("long"), F.col("cached_tokens")),
    }
