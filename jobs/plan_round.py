"""plan_round: which prompts a round rolls out, in which role, and why -> gold.round_plan.

Roles: ``train`` by pool and quota (jobs/plan), ``eval`` fixed by the first round, ``probe`` open-book twins of training tasks and
closed-book base estimates of tasks never met. A fixed share of the training prompts are format-constraint tasks, made here by
templates from tasks that are planned. A plan is written once: changed settings or data count from the next round on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from jobs.context import JobContext, JobReport, JobRun
from jobs.ledger import read_events
from jobs.plan.candidates import classify, in_force, known_before
from jobs.plan.roles import HeldOut, eval_rows, plan_rows, probe_rows
from jobs.plan.train import train_rows
from jobs.rounds import note_state
from schemas.errors import VerilakeError
from schemas.gold.prompts import PROMPTS
from schemas.gold.regression import REGRESSION
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.tasks import TASKS
from schemas.ops.job_runs import JOB_RUNS
from schemas.silver.task_stats import TASK_STATS
from udfs.prompts.templates import template_versions


class EmptyPoolError(VerilakeError):
    """There is no task that a round could train on."""

    exit_code = 3

    @classmethod
    def from_counts(cls, round_no: int, pool: Mapping[str, int]) -> EmptyPoolError:
        """What the pool holds instead."""
        held = ", ".join(f"{name} {count:,}" for name, count in sorted(pool.items())) or "no task at all"
        return cls(
            f"round {round_no}: nothing to train on ({held}). `verilake funnel` says why documents and candidate questions were rejected; "
            "ingest more text, or change [curate], [admit] or [plan]."
        )


def run(ctx: JobContext, round_no: int, *, policy_id: str) -> JobReport:
    """Plan one round.

    Args:
        ctx: context.
        round_no: from 1; the round before must be closed by feedback.
        policy_id: checkpoint that the round rolls out.

    Raises:
        MissingInputError: no tasks yet, or the round before has no statistics.
        EmptyPoolError: no task may be trained on.
    """
    if (frozen := _frozen(ctx, round_no)) is not None:
        return frozen
    origin, plan, seed = f"plan={round_no}", ctx.config.plan, ctx.config.campaign.seed
    earlier_rounds = list(range(1, round_no))
    sources = [value for value in ctx.lake.slices(TASKS) if known_before(value, round_no)]
    # Feedback makes new versions of tasks that are set aside: they have no prompts.
    rendered = [value for value in ctx.lake.slices(PROMPTS) if known_before(value, round_no)]
    with ctx.open(
        "plan_round", f"round={round_no}",
        reads={TASKS: sources or ["ingest=*"], PROMPTS: rendered, TASK_STATS: earlier_rounds, REGRESSION: earlier_rounds, ROUND_PLAN: earlier_rounds},
        writes={TASKS: origin, PROMPTS: origin, ROUND_PLAN: round_no},
        settings={"plan": plan.model_dump(mode="json"), "seed": seed, "samples": [ctx.config.rollout.samples, ctx.config.rollout.base_samples], "policy": policy_id},
        versions=template_versions(),
    ) as job:  # fmt: skip
        if not job.done:
            _plan(ctx, job, round_no, origin, sources, rendered, policy_id)
    report = job.report()
    note_state(ctx, round_no, "planned", policy_id=policy_id, fingerprint=report.fingerprint)
    return report


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
    earlier, failed = (ctx.read(t, *range(1, round_no)) if round_no > 1 else ctx.read(t).limit(0) for t in (ROUND_PLAN, REGRESSION))

    pooled = classify(tasks, stats, config.plan, round_no=round_no).cache()
    train, format_tasks, format_prompts, counts = train_rows(pooled, prompts, earlier, config.plan, seed, round_no, origin)
    if not any(counts["drawn"].values()):
        raise EmptyPoolError.from_counts(round_no, counts["pool"])
    held_out = eval_rows(HeldOut(tasks, prompts, earlier, failed), config.plan, seed, round_no)
    probes = probe_rows(pooled, prompts, train, config.plan.probe_prompts, seed, round_no)
    planned = plan_rows(
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


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("plan")
