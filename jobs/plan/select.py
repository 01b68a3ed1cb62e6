"""Who is planned: quotas by task type within each pool, drawn by hash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from jobs.plan.candidates import order_key
from schemas.conf import Plan
from udfs.planning.quotas import allocate, counter_skew

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: In which order pools fill what is left of the training budget, and the reason code of each.
WHY = {
    "in_band": "in_band",
    "failed": "failed_before",
    "unexplored": "unexplored",
    "out_of_band": "fill_out_of_band",
    "mastered": "fill_mastered",
}


def budgets(plan: Plan, supply: Mapping[str, int], *, round_no: int, wanted: int) -> dict[str, int]:
    """How many training prompts each pool gives.

    Round 1 takes all from the unexplored. Later rounds give ``failed_share`` and ``unexplored_share`` to these and the rest to the
    capability band; what a pool cannot give goes to the next one of: in_band, unexplored, failed, out_of_band, mastered.
    """
    if round_no == 1:
        asked = {"unexplored": wanted}
    else:
        failed, unexplored = int(wanted * plan.failed_share), int(wanted * plan.unexplored_share)
        asked = {"failed": failed, "unexplored": unexplored, "in_band": wanted - failed - unexplored}
    given = {pool: min(count, supply.get(pool, 0)) for pool, count in asked.items()}
    left = wanted - sum(given.values())
    for pool in ("in_band", "unexplored", "failed", "out_of_band", "mastered"):
        more = min(left, supply.get(pool, 0) - given.get(pool, 0))
        if more > 0:
            given[pool] = given.get(pool, 0) + more
            left -= more
    return {pool: count for pool, count in given.items() if count > 0}


def type_quotas(
    by_type: Mapping[str, Mapping[str, int]], budget: Mapping[str, int], earlier: Mapping[str, int]
) -> dict[str, dict[str, int]]:
    """Quotas by pool and task type; leans against the type mix of earlier rounds (``earlier``: type -> prompts planned so far)."""
    return {pool: allocate(count, by_type.get(pool, {}), counter_skew(by_type.get(pool, {}), earlier)) for pool, count in budget.items()}


def draw(candidates: DataFrame, quotas: Mapping[str, Mapping[str, int]], *, seed: int, round_no: int) -> DataFrame:
    """The drawn tasks with ``why`` and ``evidence``; the order within a stratum is a hash of seed, round and task."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    rows = [(pool, kind, count) for pool, kinds in sorted(quotas.items()) for kind, count in sorted(kinds.items()) if count > 0]
    limits = candidates.sparkSession.createDataFrame(rows, "pool string, kind string, quota int")
    drawn = Window.partitionBy("pool", "kind").orderBy(order_key("draw", seed, round_no, F.col("task_id")), "task_id")
    why = F.create_map(*[F.lit(text) for pair in WHY.items() for text in pair])
    evidence = F.to_json(F.struct("pool", "kind", "quota", "stage", "pooled_k", "pooled_n", "posterior_mean", "p_in_band"))
    return (
        candidates.join(F.broadcast(limits), ["pool", "kind"])
        .withColumn("_n", F.row_number().over(drawn))
        .where("_n <= quota")
        .drop("_n")
        .withColumn("why", F.lit("seeded_stratum") if round_no == 1 else why[F.col("pool")])
        .withColumn("evidence", evidence)
    )
