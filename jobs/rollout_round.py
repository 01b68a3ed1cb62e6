"""rollout_round: the planned prompts of a round -> shards -> workers that sample -> bronze.rollouts.

Every planned sample becomes exactly one row: sampled, or failed with its class.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobs.context import JobContext, JobReport, JobRun
from jobs.handoff.commits import collect, delivered
from jobs.handoff.plan import RunSpec, open_run
from jobs.handoff.policies import current_policy, find_checkpoint, lay_reader
from jobs.lake.errors import MissingInputError
from jobs.ledger import read_events
from jobs.rounds import planned_policy
from schemas.bronze.rollouts import ROLLOUTS
from schemas.errors import VerilakeError
from schemas.gold.prompts import PROMPTS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.tasks import TASKS
from schemas.handoff import ROLLOUT_SHARD
from schemas.ids import content_id
from schemas.ops.job_runs import JOB_RUNS
from schemas.silver.documents import DOCUMENTS
from udfs.reader.checkpoint import ENGINE, ENGINE_VERSION, Checkpoint
from udfs.reader.trie import VOCAB

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["current_policy", "run"]


class LostPromptsError(VerilakeError):
    """The plan names prompts that the lake does not hold: some samples would end in no state at all (law 1)."""

    @classmethod
    def from_counts(cls, round_no: int, planned: int, found: int) -> LostPromptsError:
        """How many."""
        return cls(
            f"round {round_no}: {planned} prompts planned, {found} found in gold.prompts with their task. Plan again with --restate, "
            "and delete this round's directory below handoff/rollout."
        )


@dataclass(frozen=True)
class Planned:
    """What a round's plan asks for."""

    prompts: int
    samples: int


def run(ctx: JobContext, round_no: int) -> JobReport:
    """Roll out one round.

    Args:
        ctx: context.
        round_no: a round that is planned.

    Raises:
        MissingInputError: the round is not planned.
        UnknownPolicyError: the workspace lacks the checkpoint that the plan names.
        HandoffError: the workers could not drain the run; running it again goes on from there.
    """
    if str(round_no) not in ctx.lake.slices(ROUND_PLAN):
        raise MissingInputError.from_slice(ROUND_PLAN.name, str(round_no), "verilake plan")
    ingests, policy_id = planned_ingests(ctx, round_no), _policy(ctx, round_no)
    rollout = ctx.config.rollout
    settings = {
        "temperature": rollout.temperature, "max_response_tokens": rollout.max_response_tokens,
        "passages_per_question": rollout.passages_per_question,
    }  # fmt: skip
    with ctx.open(
        "rollout_round", f"round={round_no}",
        reads={ROUND_PLAN: [round_no], DOCUMENTS: ingests},
        writes={ROLLOUTS: round_no},
        settings=settings,
        versions={"engine": f"{ENGINE}@{ENGINE_VERSION}", "policy": policy_id},
    ) as job:  # fmt: skip
        if not job.done:
            _roll_out(ctx, job, _spec(ctx, job, round_no, find_checkpoint(ctx, policy_id)), round_no, ingests)
    return job.report()


def planned_ingests(ctx: JobContext, round_no: int) -> list[str]:
    """Ingests that the round's plan drew its tasks from, by the ledger; all of the lake where it does not know.

    Their documents are what the policy may read: what was ingested since then cannot change an earlier round.
    """
    held = ctx.lake.slices(ROUND_PLAN).get(str(round_no))
    curated = list(ctx.lake.slices(DOCUMENTS))
    for event in read_events(ctx.lake, JOB_RUNS):
        if held is not None and event["fingerprint"] == held.fingerprint and event["state"] == "finished":
            origins = json.loads(event["reads"]).get(TASKS.name, {})
            known = {origin.removeprefix("ingest=") for origin in origins if origin.startswith("ingest=")}
            return [ingest_id for ingest_id in curated if ingest_id in known]
    return curated


def _policy(ctx: JobContext, round_no: int) -> str:
    """The checkpoint that the plan names; by the ledger, by the plan's own rows where that does not know."""
    known = planned_policy(ctx, round_no)
    if known:
        return known
    first = ctx.read(ROUND_PLAN, round_no).select("policy_id").distinct().limit(2).collect()
    return str(first[0]["policy_id"]) if len(first) == 1 else ""


def _spec(ctx: JobContext, job: JobRun, round_no: int, checkpoint: Checkpoint) -> RunSpec:
    rollout = ctx.config.rollout
    return RunSpec(
        program="rollout",
        engine=rollout.policy,
        # The seed of every sample lies in its plan row; the job's fingerprint covers plan, passages, policy and sampling.
        fingerprint=content_id("rollout", round_no, job.fingerprint),
        shard_size=rollout.prompts_per_shard,
        settings={
            "temperature": rollout.temperature,
            "max_response_tokens": rollout.max_response_tokens,
            "passages_per_question": rollout.passages_per_question,
            "vocab": VOCAB,
        },
        round=round_no,
        policy_id=checkpoint.policy_id,
        policy_version=checkpoint.policy_version,
    )


def _roll_out(ctx: JobContext, job: JobRun, spec: RunSpec, round_no: int, ingests: list[str]) -> None:
    checkpoint = find_checkpoint(ctx, spec.policy_id or "")
    handoff = open_run(
        ctx, spec, lambda: prompts_of(ctx, round_no), lambda run: lay_reader(run, checkpoint, ctx.read(DOCUMENTS, *ingests or [""]))
    )
    planned, laid = planned_samples(ctx, round_no), sum(handoff.plan.rows.values())
    if laid != planned.prompts:
        raise LostPromptsError.from_counts(round_no, planned.prompts, laid)
    commits = collect(ctx, handoff)
    job.write(ROLLOUTS, lambda: delivered(ctx, handoff, commits))
    failed: dict[str, int] = {}
    for commit in commits:
        for name, count in commit.failures.items():
            failed[name] = failed.get(name, 0) + count
    rows = sum(commit.rows for commit in commits)
    job.count(
        input=planned.samples, sampled=rows - sum(failed.values()), failed=dict(sorted(failed.items())),
        prompts=planned.prompts, shards=len(commits),
    )  # fmt: skip


def planned_samples(ctx: JobContext, round_no: int) -> Planned:
    """Prompts and samples that the plan asks for."""
    from pyspark.sql import functions as F

    found = (
        ctx.read(ROUND_PLAN, round_no).agg(F.count("*").alias("prompts"), F.coalesce(F.sum("n_samples"), F.lit(0)).alias("samples")).first()
    )
    return Planned(int(found["prompts"]), int(found["samples"]))


def prompts_of(ctx: JobContext, round_no: int) -> DataFrame:
    """Items of the run: planned prompts with what the policy is shown."""
    from pyspark.sql import functions as F

    plan = ctx.read(ROUND_PLAN, round_no)
    prompts = ctx.read(PROMPTS).select("prompt_id", "system", "text", "context", "options", "form")
    tasks = ctx.read(TASKS).select("task_id", F.col("version").alias("task_version"), "question", "subject")
    joined = plan.join(prompts, "prompt_id").join(tasks, ["task_id", "task_version"])
    return joined.select(*ROLLOUT_SHARD.names)


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("rollout")
