"""feed_back: what one round teaches -> silver.task_stats, gold.rl, sft, preferences, regression, repair_queue and the next task versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.context import JobContext, JobReport, JobRun
from jobs.feedback.offered import offered
from jobs.feedback.repair import doubtful, next_versions, regression, repair_queue
from jobs.feedback.stats import samples, task_stats
from jobs.feedback.training import candidates, preferences, sft
from jobs.plan.candidates import in_force, known_before
from jobs.rounds import note_state, planned_policy
from schemas.gold.preferences import PREFERENCES
from schemas.gold.prompts import PROMPTS
from schemas.gold.regression import REGRESSION
from schemas.gold.repair_queue import REPAIR_QUEUE
from schemas.gold.rl import RL
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.sft import SFT
from schemas.gold.tasks import TASKS
from schemas.silver.calls import CALLS
from schemas.silver.interactions import INTERACTIONS
from schemas.silver.rewards import REWARDS
from schemas.silver.task_stats import TASK_STATS
from schemas.silver.trajectories import TRAJECTORIES
from schemas.silver.trajectory_verdicts import TRAJECTORY_VERDICTS
from udfs.trajectories.summary import Belief

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Version of how rows are chosen; a change that can alter a row raises it.
RULES = "2"


def run(ctx: JobContext, round_no: int) -> JobReport:
    """Close one round.

    Args:
        ctx: context.
        round_no: round that was checked.

    Raises:
        MissingInputError: the round was not checked.
    """
    plan = ctx.config.plan
    earlier = [r for r in range(round_no - plan.pool_rounds + 1, round_no) if str(r) in ctx.lake.slices(TASK_STATS)]
    silver = (TRAJECTORIES, TRAJECTORY_VERDICTS, REWARDS, CALLS, INTERACTIONS)
    with ctx.open(
        "feed_back", f"round={round_no}",
        reads={ROUND_PLAN: [round_no], **{t: [round_no] for t in silver}, TASK_STATS: earlier},
        writes={**dict.fromkeys((TASK_STATS, RL, SFT, PREFERENCES, REGRESSION, REPAIR_QUEUE), round_no), TASKS: f"feedback={round_no}"},
        settings={
            "feedback": ctx.config.feedback.model_dump(mode="json"), "band": list(plan.band), "prior": [plan.prior_alpha, plan.prior_beta],
            "pool_rounds": plan.pool_rounds,
        },
        versions={"rules": RULES},
    ) as job:  # fmt: skip
        if not job.done:
            _feed_back(ctx, job, round_no, earlier)
    report = job.report()
    note_state(ctx, round_no, "closed", policy_id=planned_policy(ctx, round_no), fingerprint=report.fingerprint)
    return report


def _feed_back(ctx: JobContext, job: JobRun, round_no: int, earlier: list[int]) -> None:
    config, plan_config = ctx.config.feedback, ctx.config.plan
    plan, trajectories, rewards = (ctx.read(t, round_no) for t in (ROUND_PLAN, TRAJECTORIES, REWARDS))
    prompts = ctx.read(PROMPTS).join(plan.select("prompt_id"), "prompt_id", "left_semi")
    tasks = ctx.read(TASKS, *_origins_before(ctx, round_no))

    belief = Belief(prior=(plan_config.prior_alpha, plan_config.prior_beta), band=plan_config.band)
    sampled = samples(trajectories, rewards, ctx.read(CALLS, round_no))
    before = ctx.read(TASK_STATS, *earlier) if earlier else ctx.read(TASK_STATS).limit(0)
    rows = {"prompts": job.write(TASK_STATS, lambda: task_stats(sampled, prompts, before, belief)).rows}
    stats = job.read_written(TASK_STATS)

    doubts = doubtful(stats, config)
    rows["repair_queue"] = job.write(REPAIR_QUEUE, lambda: repair_queue(doubts, plan, prompts, tasks, config.repair_cap)).rows
    rows["regression"] = job.write(REGRESSION, lambda: regression(stats)).rows
    newest = in_force(tasks)
    queue = job.read_written(REPAIR_QUEUE)
    rows["new_versions"] = job.write(TASKS, lambda: next_versions(queue, newest, origin=f"feedback={round_no}")).rows

    # All doubted tasks, also those beyond the cap of the queue.
    doubted = doubts.select("task_id").distinct()
    verdicts, interactions = ctx.read(TRAJECTORY_VERDICTS, round_no), ctx.read(INTERACTIONS, round_no)
    rows["rl"] = job.write(RL, lambda: offered(plan, prompts, tasks, stats, doubted)).rows
    gathered = candidates(trajectories, verdicts, rewards, interactions, prompts, tasks, doubted).persist()
    try:
        rows["sft"] = job.write(SFT, lambda: sft(gathered, config)).rows
        rows["preferences"] = job.write(PREFERENCES, lambda: preferences(gathered, config)).rows
    finally:
        gathered.unpersist()
    _count(job, trajectories, stats, rows)


def _origins_before(ctx: JobContext, round_no: int) -> list[str]:
    """Slices of the pool that existed for this round: what its own feedback and later rounds write is left out."""
    return [origin for origin in ctx.lake.slices(TASKS) if known_before(origin, round_no) or origin == f"plan={round_no}"]


def _count(job: JobRun, trajectories: DataFrame, stats: DataFrame, rows: dict[str, int]) -> None:
    """The funnel: trajectories are samples of the plan or not; beside it, what was made of them."""
    from pyspark.sql import functions as F

    total = trajectories.count()
    sums = stats.agg(F.sum("n").alias("n"), F.sum("n_valid").alias("n_valid"), F.sum("k").alias("k")).first()
    sampled = int(sums["n"] or 0)
    job.count(
        input=total, sampled=sampled, not_in_plan=total - sampled, known=int(sums["n_valid"] or 0), solved=int(sums["k"] or 0), **rows
    )


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("feedback")
