"""plan_round: which prompts a round rolls out, in which role, and why -> gold.round_plan.

Roles: ``train`` by pool and quota (jobs/plan), ``eval`` fixed by the first round, ``probe`` open-book twins of training tasks and
closed-book base estimates of tasks never met. A fixed share of the training prompts are format-constraint tasks, made here by
templates from tasks that are planned. A plan is written once: changed settings or data count from the next round on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from jobs.context import JobContext, JobReport, JobRun
from jobs.ledger import read_events
from jobs.plan.candidates import classify, in_force, one_form, order_key
from jobs.plan.select import budgets, draw, type_quotas
from jobs.rounds import note_state
from schemas.conf import Plan
from schemas.contract import FormatRule
from schemas.gold.prompts import PROMPTS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.tasks import TASKS
from schemas.ids import seed_from
from schemas.ops.job_runs import JOB_RUNS
from schemas.silver.task_stats import TASK_STATS
from udfs.planning.quotas import allocate
from udfs.prompts.constraints import constrain, rules_for
from udfs.prompts.templates import template_versions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run(ctx: JobContext, round_no: int, *, policy_id: str) -> JobReport:
    """Plan one round.

    Args:
        ctx: context.
        round_no: from 1; the round before must be closed by feedback.
        policy_id: checkpoint that the round rolls out.

    Raises:
        MissingInputError: no tasks yet, or the round before has no statistics.
    """
    if (frozen := _frozen(ctx, round_no)) is not None:
        return frozen
    origin, plan, seed = f"plan={round_no}", ctx.config.plan, ctx.config.campaign.seed
    earlier_rounds = list(range(1, round_no))
    sources = [value for value in ctx.lake.slices(TASKS) if _before(value, round_no)]
    # Feedback makes new versions of tasks that are set aside: they have no prompts.
    rendered = [value for value in ctx.lake.slices(PROMPTS) if _before(value, round_no)]
    with ctx.open(
        "plan_round", f"round={round_no}",
        reads={TASKS: sources or ["ingest=*"], PROMPTS: rendered, TASK_STATS: earlier_rounds, ROUND_PLAN: earlier_rounds},
        writes={TASKS: origin, PROMPTS: origin, ROUND_PLAN: round_no},
        settings={"plan": plan.model_dump(mode="json"), "seed": seed, "samples": [ctx.config.rollout.samples, ctx.config.rollout.base_samples], "policy": policy_id},
        versions=template_versions(),
    ) as job:  # fmt: skip
        if not job.done:
            _plan(ctx, job, round_no, origin, sources, rendered, policy_id)
    report = job.report()
    note_state(ctx, round_no, "planned", policy_id=policy_id, fingerprint=report.fingerprint)
    return report


def _before(origin: str, round_no: int) -> bool:
    kind, _, value = origin.partition("=")
    return kind == "ingest" or int(value) < round_no


def _frozen(ctx: JobContext, round_no: int) -> JobReport | None:
    """The report of a plan that exists: gold.round_plan is write-once, whatever has changed since."""
    held = ctx.lake.slices(ROUND_PLAN).get(str(round_no))
    if held is None or ctx.restate:
        return None
    for event in read_events(ctx.lake, JOB_RUNS):
        if event["job"] == "plan_round" and event["fingerprint"] == held.fingerprint and event["state"] == "finished":
            return JobReport("plan_round", event["scope"], held.fingerprint, False, json.loads(event["counts"]), {}, 0.0)
    return None


def _plan(ctx: JobContext, job: JobRun, round_no: int, origin: str, sources: list[str], rendered: list[str], policy_id: str) -> None:
    from pyspark.sql import functions as F

    config, seed = ctx.config, ctx.config.campaign.seed
    tasks = in_force(ctx.read(TASKS, *sources)).cache()
    prompts = (
        ctx.read(PROMPTS, *rendered)
        .join(tasks.select("task_id", F.col("version").alias("task_version")), ["task_id", "task_version"])
        .cache()
    )
    stats = ctx.read(TASK_STATS, *range(1, round_no)) if round_no > 1 else ctx.read(TASK_STATS).limit(0)
    earlier = ctx.read(ROUND_PLAN, *range(1, round_no)) if round_no > 1 else ctx.read(ROUND_PLAN).limit(0)

    pooled = classify(tasks, stats, config.plan, round_no=round_no).cache()
    train, format_tasks, format_prompts, counts = _train(pooled, prompts, earlier, config.plan, seed, round_no, origin)
    held_out = _eval(tasks, prompts, earlier, config.plan.eval_prompts, seed, round_no)
    probes = _probes(pooled, prompts, train, config.plan.probe_prompts, seed, round_no)
    planned = _finish(
        train,
        held_out,
        probes,
        round_no=round_no,
        seed=seed,
        policy_id=policy_id,
        samples=config.rollout.samples,
        base=config.rollout.base_samples,
    )

    job.write(TASKS, lambda: format_tasks)
    job.write(PROMPTS, lambda: format_prompts)
    job.write(ROUND_PLAN, lambda: planned)
    roles = {row["role"]: row["count"] for row in job.read_written(ROUND_PLAN).groupBy("role").count().collect()}
    samples = job.read_written(ROUND_PLAN).agg(F.sum("n_samples")).first()[0]
    job.count(**counts, planned=dict(sorted(roles.items())), samples=int(samples or 0))
    for frame in (tasks, prompts, pooled):
        frame.unpersist()


def _train(
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
    made = base.select(*TASKS.schema.names).mapInArrow(_constrain(origin), _spark_schema(_MADE)).cache()
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


def _eval(tasks: DataFrame, prompts: DataFrame, earlier: DataFrame, wanted: int, seed: int, round_no: int) -> DataFrame:
    """The fixed eval rows: drawn in round 1, the same prompts in every later round."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    if round_no > 1:
        fixed = earlier.where("role = 'eval' AND round = 1")
        return fixed.select(
            "prompt_id",
            "task_id",
            "task_version",
            F.col("task_type").alias("kind"),
            "context_mode",
            F.lit("eval_fixed").alias("why"),
            "evidence",
            "role",
        )
    held_out = tasks.where("split = 'eval' AND status = 'active' AND array_contains(allowed_roles, 'eval')")
    forms = one_form(prompts.where("context_mode != 'open_book' AND form != 'format'"), seed, 1).select(
        "task_id", "prompt_id", "context_mode", "task_version"
    )
    ready = held_out.join(forms, "task_id")
    available = {row["kind"]: row["count"] for row in ready.groupBy("kind").count().collect()}
    quotas = allocate(wanted, available)
    limits = tasks.sparkSession.createDataFrame(
        [(kind, count) for kind, count in sorted(quotas.items()) if count] or [("", 0)], "kind string, quota int"
    )
    drawn = Window.partitionBy("kind").orderBy(order_key("eval", seed, F.col("task_id")), "task_id")
    return (
        ready.join(F.broadcast(limits), "kind")
        .withColumn("_n", F.row_number().over(drawn))
        .where("_n <= quota")
        .select(
            "prompt_id", "task_id", "task_version", "kind", "context_mode", F.lit("eval_fixed").alias("why"),
            F.to_json(F.struct("kind", "quota")).alias("evidence"), F.lit("eval").alias("role"),
        )
    )  # fmt: skip


def _probes(pooled: DataFrame, prompts: DataFrame, train: DataFrame, wanted: int, seed: int, round_no: int) -> DataFrame:
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


def _finish(*parts: DataFrame, round_no: int, seed: int, policy_id: str, samples: int, base: int) -> DataFrame:
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
    return rows.mapInArrow(_with_seed(seed, round_no), _spark_schema(ROUND_PLAN.schema))


def _with_seed(seed: int, round_no: int) -> object:
    """Fills ``seed`` from the campaign's seed, the round and the prompt (law 3)."""

    def fill(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            # Eval draws must not differ between rounds for another reason than the policy: their seed leaves the round out.
            roles, ids = batch.column("role").to_pylist(), batch.column("prompt_id").to_pylist()
            seeds = [seed_from(seed, 0 if role == "eval" else round_no, prompt_id) for role, prompt_id in zip(roles, ids, strict=True)]
            yield batch.set_column(batch.schema.get_field_index("seed"), batch.schema.field("seed"), pa.array(seeds, pa.int64()))

    return fill


_MADE = pa.schema(
    [pa.field("task", pa.struct(list(TASKS.schema)), nullable=False), pa.field("prompt", pa.struct(list(PROMPTS.schema)), nullable=False)]
)


def _constrain(origin: str) -> object:
    """Makes a format-constraint task and its prompt out of each task that a rule fits."""

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            made = [constrain(row, rule, origin) for row in batch.to_pylist() for rule in _drawn_rule(row)]
            yield pa.RecordBatch.from_pylist([{"task": task, "prompt": prompt} for task, prompt in made], schema=_MADE)

    return make


def _drawn_rule(task: dict[str, Any]) -> list[FormatRule]:
    """One of the rules that fit the task, drawn by its id; none where none fits."""
    fitting = rules_for(task)
    return [fitting[seed_from("format", task["task_id"]) % len(fitting)]] if fitting else []


def _spark_schema(schema: pa.Schema) -> object:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema, prefer_timestamp_ntz=False)


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("plan")
