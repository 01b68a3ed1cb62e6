"""The other roles of a round, and all of them put together as rows of gold.round_plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.lake.types import spark_schema
from jobs.plan.candidates import one_form, order_key
from schemas.conf import Plan
from schemas.gold.round_plan import ROUND_PLAN
from schemas.ids import seed_from
from udfs.planning.quotas import allocate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def eval_rows(held_out: HeldOut, plan: Plan, seed: int, round_no: int) -> DataFrame:
    """The eval rows: the fixed ones, failures collected in earlier rounds, and a few that no round has met.

    ``eval_fixed`` rows are drawn in round 1 and are the same prompts in every later round. ``eval_collected`` rows are prompts that an
    earlier round failed, the oldest failures first. ``eval_fresh`` rows are new in each round; what fails among them is collected.
    """
    from pyspark.sql import functions as F

    fixed = _fixed_rows(held_out, plan, seed, round_no)
    collected = _collected_rows(held_out, plan, fixed)
    met = held_out.earlier.where("role = 'eval'").select("task_id").unionByName(fixed.select("task_id"))
    unmet = held_out.ready(seed).join(met, "task_id", "left_anti")
    fresh = _drawn(unmet, plan.eval_fresh, "eval_fresh", seed, round_no)
    return fixed.unionByName(collected).unionByName(fresh).withColumn("role", F.lit("eval"))


@dataclass(frozen=True)
class HeldOut:
    """What eval rows are drawn from.

    Attributes:
        tasks: the pool in its newest versions.
        prompts: prompts of these versions.
        earlier: gold.round_plan of the earlier rounds.
        failed: gold.regression of the earlier rounds.
    """

    tasks: DataFrame
    prompts: DataFrame
    earlier: DataFrame
    failed: DataFrame

    def ready(self, seed: int) -> DataFrame:
        """Active tasks of the eval split with one closed-book prompt each, the same in every round."""
        tasks = self.tasks.where("split = 'eval' AND status = 'active' AND array_contains(allowed_roles, 'eval')")
        forms = one_form(self.prompts.where("context_mode != 'open_book' AND form != 'format'"), seed, 1)
        return tasks.join(forms.select("task_id", "prompt_id", "context_mode", "task_version"), "task_id")


_EVAL_COLUMNS = ["prompt_id", "task_id", "task_version", "kind", "context_mode", "why", "evidence"]


def _fixed_rows(held_out: HeldOut, plan: Plan, seed: int, round_no: int) -> DataFrame:
    from pyspark.sql import functions as F

    if round_no == 1:
        return _drawn(held_out.ready(seed), plan.eval_prompts, "eval_fixed", seed, 1)
    active = held_out.tasks.where("status = 'active'").select("task_id")
    first = held_out.earlier.where("round = 1 AND why = 'eval_fixed'").join(active, "task_id", "left_semi")
    return first.withColumn("kind", F.col("task_type")).select(*_EVAL_COLUMNS)


def _collected_rows(held_out: HeldOut, plan: Plan, fixed: DataFrame) -> DataFrame:
    """Failed prompts whose task still has the version that failed."""
    from pyspark.sql import functions as F

    active = held_out.tasks.where("status = 'active'").select("task_id", F.col("version").alias("task_version"))
    failures = held_out.failed.groupBy("prompt_id").agg(F.min("round").alias("first_failed"), F.count("*").alias("times_failed"))
    asked = held_out.prompts.select("prompt_id", "task_id", "task_version", "context_mode")
    return (
        failures.join(fixed.select("prompt_id"), "prompt_id", "left_anti")
        .join(asked, "prompt_id")
        .join(active, ["task_id", "task_version"])
        .join(held_out.tasks.select("task_id", "kind"), "task_id")
        .orderBy("first_failed", "prompt_id")
        .limit(plan.eval_collected)
        .withColumn("why", F.lit("eval_collected"))
        .withColumn("evidence", F.to_json(F.struct("first_failed", "times_failed")))
        .select(*_EVAL_COLUMNS)
    )


def _drawn(ready: DataFrame, wanted: int, why: str, seed: int, round_no: int) -> DataFrame:
    """``wanted`` tasks in proportion to the task types, drawn by hash."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    available = {row["kind"]: row["count"] for row in ready.groupBy("kind").count().collect()}
    quotas = allocate(wanted, available)
    limits = ready.sparkSession.createDataFrame(
        [(kind, count) for kind, count in sorted(quotas.items()) if count] or [("", 0)], "kind string, quota int"
    )
    drawn = Window.partitionBy("kind").orderBy(order_key(why, seed, round_no, F.col("task_id")), "task_id")
    return (
        ready.join(F.broadcast(limits), "kind")
        .withColumn("_n", F.row_number().over(drawn))
        .where("_n <= quota")
        .withColumn("why", F.lit(why))
        .withColumn("evidence", F.to_json(F.struct("kind", "quota")))
        .select(*_EVAL_COLUMNS)
    )


def probe_rows(pooled: DataFrame, prompts: DataFrame, train: DataFrame, wanted: int, seed: int, round_no: int) -> DataFrame:
    """Half open-book twins of tasks trained in this round, half closed-book base estimates of tasks that no round has met."""
    from pyspark.sql import functions as F

    open_book = prompts.where("context_mode = 'open_book'").select("task_id", "prompt_id", "context_mode", "task_version")
    twins = (
        train.select("task_id", "kind").join(open_book, "task_id")
        .orderBy(order_key("probe", seed, round_no, F.col("prompt_id"))).limit(wanted - wanted // 2)
        .withColumn("why", F.lit("probe_open_book"))
    )  # fmt: skip
    closed = one_form(prompts.where("context_mode = 'closed_book' AND form != 'format'"), seed, round_no)
    fresh = (
        pooled.where("pool IN ('unexplored', 'later_stage')").select("task_id", "kind")
        .join(train.select("task_id"), "task_id", "left_anti")
        .join(closed.select("task_id", "prompt_id", "context_mode", "task_version"), "task_id")
        .orderBy(order_key("base", seed, round_no, F.col("prompt_id"))).limit(wanted // 2)
        .withColumn("why", F.lit("probe_base_estimate"))
    )  # fmt: skip
    columns = ["prompt_id", "task_id", "task_version", "kind", "context_mode", "why"]
    return (
        twins.select(*columns).unionByName(fresh.select(*columns))
        .withColumn("evidence", F.to_json(F.struct("kind"))).withColumn("role", F.lit("probe"))
    )  # fmt: skip


def plan_rows(*parts: DataFrame, round_no: int, seed: int, policy_id: str, samples: int, base: int) -> DataFrame:
    """The rows of gold.round_plan; a prompt that two roles want is planned once, eval before train before probe."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    everything = parts[0]
    for part in parts[1:]:
        everything = everything.unionByName(part)
    rank = F.when(F.col("role") == "eval", 0).when(F.col("role") == "train", 1).otherwise(2)
    once = Window.partitionBy("prompt_id").orderBy(rank)
    rows = everything.withColumn("_n", F.row_number().over(once)).where("_n = 1")
    n_samples = F.when(F.col("role") == "probe", base).otherwise(samples).cast("int")
    rows = rows.select(
        F.lit(round_no).cast("int").alias("round"), "prompt_id", "task_id", "task_version", "role", F.col("kind").alias("task_type"), "context_mode",
        n_samples.alias("n_samples"), F.when(F.col("role") == "train", 1.0).otherwise(0.0).alias("weight"), F.lit(0).cast("long").alias("seed"),
        F.lit(policy_id).alias("policy_id"), "why", "evidence",
    )  # fmt: skip
    return rows.mapInArrow(_with_seed(seed, round_no), spark_schema(ROUND_PLAN.schema))


def _with_seed(seed: int, round_no: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Fills ``seed`` from the campaign's seed, the round and the prompt (law 3)."""

    def fill(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            # Eval draws must not differ between rounds for another reason than the policy: their seed leaves the round out.
            roles, ids = batch.column("role").to_pylist(), batch.column("prompt_id").to_pylist()
            seeds = [seed_from(seed, 0 if role == "eval" else round_no, prompt_id) for role, prompt_id in zip(roles, ids, strict=True)]
            yield batch.set_column(batch.schema.get_field_index("seed"), batch.schema.field("seed"), pa.array(seeds, pa.int64()))

    return fill
