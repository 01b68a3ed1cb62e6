"""check_quality: one round's trajectories -> silver.trajectory_verdicts, gold.round_metrics, gold.worker_metrics, gold.alerts.

Every trajectory gets one verdict. Figures are ratios of integer sums. An alert whose name stands in conf check.block_on ends
the round with exit code 5, now and each time the job is asked again, until the figure or the setting changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds

from jobs.check.metrics import OF_GROUPS, OF_PLAN, OF_PROBES, OF_TRAJECTORIES, SLICES, facts, figures, group_facts, plan_facts
from jobs.check.verdicts import groups, verdicts
from jobs.check.workers import machine_figures
from jobs.context import JobContext, JobReport, JobRun
from jobs.rounds import note_state, planned_policy
from schemas.bronze.documents import DOCUMENTS
from schemas.errors import VerilakeError
from schemas.gold.alerts import ALERTS
from schemas.gold.prompts import PROMPTS
from schemas.gold.round_metrics import ROUND_METRICS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.worker_metrics import WORKER_METRICS
from schemas.silver.interactions import INTERACTIONS
from schemas.silver.judge_audits import JUDGE_AUDITS
from schemas.silver.rewards import REWARDS
from schemas.silver.tokens import TOKENS
from schemas.silver.trajectories import TRAJECTORIES
from schemas.silver.trajectory_verdicts import TRAJECTORY_VERDICTS
from udfs.judging.calibration import judge_alerts
from udfs.trajectories.alerts import WATCHED_SLICES, WATCHES, alerts_of

if TYPE_CHECKING:
    from typing import Any

    from pyspark.sql import DataFrame

#: Settings about checking models.
_OF_JUDGES = ("min_judge_recall", "min_judge_pass_rate", "judge_alerts")
#: Version of the checks; a change that can alter a verdict raises it.
RULES = "1"


class BlockedRoundError(VerilakeError):
    """A figure left a bound that the configuration calls blocking."""

    exit_code = 5

    @classmethod
    def from_alerts(cls, round_no: int, messages: list[str]) -> BlockedRoundError:
        """All blocking alerts at once."""
        lines = "\n".join(f"  {message}" for message in messages)
        return cls(
            f"round {round_no} is blocked by {len(messages)} alert{'s' if len(messages) != 1 else ''} (conf: check.block_on):\n{lines}"
        )


class ConservationError(VerilakeError):
    """Not every trajectory got one verdict; a fault of ours."""

    @classmethod
    def from_counts(cls, trajectories: int, verdicts_written: int) -> ConservationError:
        """Both counts."""
        return cls(
            f"silver.trajectory_verdicts: {verdicts_written} verdicts of {trajectories} trajectories. "
            "Do not use this round; look for trajectory ids that occur twice, and report this."
        )


def run(ctx: JobContext, round_no: int) -> JobReport:
    """Check one round.

    Args:
        ctx: context.
        round_no: round whose rollouts are in silver.trajectories.

    Raises:
        MissingInputError: the round's rollouts were not ingested.
        ConservationError: verdicts and trajectories are not as many.
        BlockedRoundError: an alert named in conf check.block_on was raised; everything is written.
    """
    audited = sorted(ingest for ingest, commit in ctx.lake.slices(JUDGE_AUDITS).items() if commit.rows)
    with ctx.open(
        "check_quality", f"round={round_no}",
        reads={
            ROUND_PLAN: [round_no], **{t: [round_no] for t in (TRAJECTORIES, INTERACTIONS, TOKENS, REWARDS)},
            **({JUDGE_AUDITS: audited} if audited else {}),
        },
        writes=dict.fromkeys((TRAJECTORY_VERDICTS, ROUND_METRICS, WORKER_METRICS, ALERTS), round_no),
        # Where no checker was audited, what bounds checkers bears on nothing.
        settings=ctx.config.check if audited else ctx.config.check.model_dump(mode="json", exclude=set(_OF_JUDGES)),
        versions={"rules": RULES},
    ) as job:  # fmt: skip
        if not job.done:
            _check(ctx, job, round_no)
    report = job.report()
    note_state(ctx, round_no, "checked", policy_id=planned_policy(ctx, round_no), fingerprint=report.fingerprint)
    blocking = blocking_alerts(ctx, round_no)
    if blocking:
        raise BlockedRoundError.from_alerts(round_no, blocking)
    return report


def blocking_alerts(ctx: JobContext, round_no: int) -> list[str]:
    """Messages of the round's blocking alerts, in their order; needs no JVM."""
    table = ctx.lake.dataset(ALERTS).to_table(filter=(ds.field("round") == round_no) & (ds.field("severity") == "block"))
    rows = sorted(table.to_pylist(), key=lambda r: (r["name"], r["slice_kind"], r["slice"]))
    return [f"{row['name']}: {row['message']}" for row in rows]


def _check(ctx: JobContext, job: JobRun, round_no: int) -> None:
    config = ctx.config.check
    plan = ctx.read(ROUND_PLAN, round_no)
    trajectories, rewards = ctx.read(TRAJECTORIES, round_no), ctx.read(REWARDS, round_no)
    # Prompts of the plan alone: what enters the pool later cannot change an earlier round.
    prompts = ctx.read(PROMPTS).join(plan.select("prompt_id"), "prompt_id", "left_semi")
    grouped = groups(trajectories, ctx.read(INTERACTIONS, round_no), ctx.read(TOKENS, round_no), rewards, prompts)
    judged_rows = job.write(TRAJECTORY_VERDICTS, lambda: verdicts(grouped, length_factor=config.length_factor)).rows
    judged = job.read_written(TRAJECTORY_VERDICTS)
    rows = facts(trajectories, judged, rewards, window_minutes=config.time_window_minutes).persist()
    try:
        job.write(ROUND_METRICS, lambda: round_figures(rows, plan_facts(plan, trajectories), round_no=round_no))
        job.write(WORKER_METRICS, lambda: machine_figures(rows, round_no=round_no))
    finally:
        rows.unpersist()
    raised = job.write(ALERTS, lambda: _alerts(ctx, job, round_no)).rows
    _count(job, trajectories.count(), judged_rows, judged, raised)


def _count(job: JobRun, trajectories: int, verdicts_written: int, judged: DataFrame, raised: int) -> None:
    """The funnel: every trajectory is accepted, flagged or rejected.

    Raises:
        ConservationError: verdicts and trajectories are not as many.
    """
    if verdicts_written != trajectories:
        raise ConservationError.from_counts(trajectories, verdicts_written)
    counted = judged.groupBy("state", "reason").count().collect()
    states: dict[str, int] = dict.fromkeys(("accepted", "flagged", "rejected"), 0)
    for row in counted:
        states[row["state"]] += row["count"]
    reasons = {row["reason"]: row["count"] for row in counted if row["state"] != "accepted"}
    job.count(input=trajectories, **states, reasons=dict(sorted(reasons.items())), alerts=raised)


def round_figures(rows: DataFrame, planned: DataFrame, *, round_no: int) -> DataFrame:
    """All rows of gold.round_metrics that speak of trajectories, groups, probes and the plan."""
    grouped = group_facts(rows)
    probes = grouped.where("role = 'probe' AND context_mode = 'open_book'")
    parts = [
        figures(rows, OF_TRAJECTORIES, SLICES, round_no=round_no),
        figures(grouped, OF_GROUPS, SLICES, round_no=round_no),
        figures(probes, OF_PROBES, ("task_type",), round_no=round_no),
        figures(planned, OF_PLAN, ("task_type", "role", "context_mode"), round_no=round_no),
    ]
    everything = parts[0]
    for part in parts[1:]:
        everything = everything.unionByName(part)
    return everything


def _alerts(ctx: JobContext, job: JobRun, round_no: int) -> DataFrame:
    """Watched figures are a few rows per task type and worker: small enough to be judged here."""
    from pyspark.sql import functions as F

    watched = job.read_written(ROUND_METRICS).where(F.col("name").isin(*WATCHES) & F.col("slice_kind").isin(*WATCHED_SLICES))
    workers = job.read_written(WORKER_METRICS).where("name = 'worker_z'")
    metrics = [row.asDict() for row in watched.unionByName(workers).collect()]
    alerts = [*alerts_of(metrics, ctx.config.check), *_about_judges(ctx)]
    found = [{"round": round_no, **alert} for alert in alerts]
    return ctx.spark.createDataFrame(pa.Table.from_pylist(found, schema=ALERTS.schema))


def _about_judges(ctx: JobContext) -> list[dict[str, Any]]:
    """Alerts about the models that check converted questions: a bad checker spoils every round that its tasks are in."""
    check = ctx.config.check
    audits = ctx.lake.dataset(JUDGE_AUDITS).to_table().to_pylist()
    found = judge_alerts(audits, ctx.lake.order(DOCUMENTS), min_recall=check.min_judge_recall, min_pass_rate=check.min_judge_pass_rate)
    return [{**alert, "severity": check.judge_alerts} for alert in found]


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("check")
