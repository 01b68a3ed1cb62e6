"""The training rows of a round: drawn from the pools by quota, and a share of format-constraint tasks made from some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.lake.types import spark_schema
from jobs.plan.candidates import one_form, order_key
from jobs.plan.select import budgets, draw, type_quotas
from schemas.conf import Plan
from schemas.gold.prompts import PROMPTS
from schemas.gold.tasks import TASKS
from udfs.prompts.constraints import constrain, rule_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def train_rows(
    pooled: DataFrame, prompts: DataFrame, earlier: DataFrame, plan: Plan, seed: int, round_no: int, origin: str
) -> tuple[DataFrame, DataFrame, DataFrame, dict[str, dict[str, int]]]:
    """Training rows; the format-constraint tasks made from a share of them with their prompts; the funnel of the pool."""
    from pyspark.sql import functions as F

    closed = one_form(prompts.where("context_mode != 'open_book' AND form != 'format'"), seed, round_no)
    # A task without a closed-book prompt cannot be trained on; it is counted as such.
    has_form = closed.select("task_id", F.lit(True).alias("_form"))
    pool = F.when(F.col("source_kind") == "constraint", "constraint").when(F.col("_form").isNull(), "no_form").otherwise(F.col("pool"))
    pooled = pooled.join(has_form, "task_id", "left").withColumn("pool", pool)
    supply_rows = pooled.groupBy("pool", "kind").count().collect()
    supply: dict[str, dict[str, int]] = {}
    for row in supply_rows:
        supply.setdefault(row["pool"], {})[row["kind"]] = row["count"]
    mix = {row["task_type"]: row["count"] for row in earlier.where("role = 'train'").groupBy("task_type").count().collect()}

    wanted = plan.train_prompts
    n_format = int(wanted * plan.format_share)
    budget = budgets(plan, {pool: sum(kinds.values()) for pool, kinds in supply.items()}, round_no=round_no, wanted=wanted - n_format)
    drawn = draw(pooled, type_quotas(supply, budget, mix), seed=seed, round_no=round_no)
    rows = drawn.join(closed.select("task_id", "prompt_id", "context_mode", "task_version"), "task_id")

    # Each base task is asked for in one constrained form, once in a campaign: the same form again would be the same task.
    made_before = pooled.where("source_kind = 'constraint'").select(F.col("parent_task_id").alias("task_id"))
    ready = pooled.where("pool IN ('unexplored', 'in_band', 'failed')").join(made_before, "task_id", "left_anti")
    base = ready.orderBy(order_key("format", seed, round_no, F.col("task_id")), "task_id").limit(n_format)
    made = base.select(*TASKS.schema.names).mapInArrow(_constrain(origin), spark_schema(_MADE)).cache()
    format_tasks = made.select("task.*")
    format_prompts = made.select("prompt.*")
    format_rows = made.select(
        F.col("prompt.prompt_id"), F.col("task.task_id"), F.col("task.version").alias("task_version"), F.col("task.kind"),
        F.col("prompt.context_mode"), F.lit("format_share").alias("why"),
        F.to_json(F.struct(F.col("task.parent_task_id").alias("made_from"), F.lit(plan.format_share).alias("format_share"))).alias("evidence"),
    )  # fmt: skip
    columns = ["prompt_id", "task_id", "task_version", "kind", "context_mode", "why", "evidence"]
    train = rows.select(*columns).unionByName(format_rows.select(*columns)).withColumn("role", F.lit("train"))
    counts = {"pool": {pool: sum(kinds.values()) for pool, kinds in sorted(supply.items())}, "drawn": dict(sorted(budget.items()))}
    return train, format_tasks, format_prompts, counts


_MADE = pa.schema(
    [pa.field("task", pa.struct(list(TASKS.schema)), nullable=False), pa.field("prompt", pa.struct(list(PROMPTS.schema)), nullable=False)]
)


def _constrain(origin: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Makes a format-constraint task and its prompt out of each task that a rule fits."""

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            made = [constrain(row, rule, origin) for row in batch.to_pylist() if (rule := rule_for(row)) is not None]
            yield pa.RecordBatch.from_pylist([{"task": task, "prompt": prompt} for task, prompt in made], schema=_MADE)

    return make
