"""rollout_round: the planned prompts of a round -> shards -> workers that sample -> bronze.rollouts.

Every planned sample becomes exactly one row: sampled, or failed with its class. Prompts whose kind of task has an environment (``[agent]``)
are a hand-off run of their own, in which each sample is an episode of several turns.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jobs.agents.part import agent_items, agent_part, agent_settings, has_agents, settings_of
from jobs.context import JobContext, JobReport, JobRun
from jobs.handoff.commits import delivered
from jobs.handoff.plan import RunSpec, run_of
from jobs.handoff.policies import current_policy, find_policy
from jobs.handoff.pressure import hold_back, is_stale, newest_version
from jobs.handoff.rollouts import Sampled, engine_version, planned_ingests, sample, sampling_settings, shard_items, worker_settings
from jobs.lake.errors import MissingInputError
from jobs.rounds import policy_of
from schemas.bronze.rollouts import ROLLOUTS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.ids import content_id
from schemas.policy import Policy
from schemas.silver.documents import DOCUMENTS
from udfs.store.run import PLAN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOG = logging.getLogger("verilake.handoff")

__all__ = ["current_policy", "run"]


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
    ingests, policy = planned_ingests(ctx.lake, round_no), find_policy(ctx, policy_of(ctx, round_no))
    with ctx.open(
        "rollout_round", f"round={round_no}",
        reads={ROUND_PLAN: [round_no], DOCUMENTS: ingests},
        writes={ROLLOUTS: round_no},
        settings=sampling_settings(ctx.config.rollout),
        versions={"engine": engine_version(policy), "policy": policy.policy_id, **_agents(ctx, policy)},
    ) as job:  # fmt: skip
        if not job.done:
            _roll_out(ctx, job, policy, round_no, ingests)
    return job.report()


def _agents(ctx: JobContext, policy: Policy) -> dict[str, str]:
    """What the job's fingerprint says of agents; nothing where there are none, so that a round without them stays what it is."""
    return {"agent": content_id(settings_of(ctx.config))} if has_agents(ctx.config, policy) else {}


def _spec(ctx: JobContext, job: JobRun, round_no: int, policy: Policy) -> RunSpec:
    rollout = ctx.config.rollout
    return RunSpec(
        program="rollout",
        engine=policy.engine,
        # The seed of every sample lies in its plan row; the job's fingerprint covers plan, passages, policy and sampling.
        fingerprint=content_id("rollout", round_no, job.fingerprint),
        shard_size=rollout.prompts_per_shard,
        settings=worker_settings(sampling_settings(rollout), policy),
        round=round_no,
        policy_id=policy.policy_id,
        policy_version=policy.policy_version,
    )


def _agent_spec(ctx: JobContext, spec: RunSpec, policy: Policy, environments: tuple[str, ...]) -> RunSpec:
    """The run of agents beside a round's plain one."""
    return replace(
        spec, program="agent", fingerprint=content_id("agent", spec.fingerprint), shard_size=ctx.config.agent.prompts_per_shard,
        settings=agent_settings(ctx.config, policy, environments),
    )  # fmt: skip


def _roll_out(ctx: JobContext, job: JobRun, policy: Policy, round_no: int, ingests: list[str]) -> None:
    spec, planned = _spec(ctx, job, round_no, policy), planned_samples(ctx, round_no)
    plan, prompts, what = ctx.read(ROUND_PLAN, round_no), planned.prompts, f"round {round_no}"
    parts: list[Sampled] = []
    told: dict[str, Any] = {}
    if not _is_laid(ctx, spec):
        hold_back(ctx.workspace, ctx.config.handoff, round_no)
    if has_agents(ctx.config, policy):
        part = agent_part(ctx, plan)
        plan, prompts = part.plain, planned.prompts - part.prompts
        told = {"acted": part.prompts, "not_acted": part.unplaced, "public_tests_left_out": part.tests_left_out}
        if part.prompts:
            acting = _agent_spec(ctx, spec, policy, part.environments)
            parts.append(sample(ctx, acting, lambda: agent_items(ctx, part.acted), part.prompts, policy, ingests, f"{what}, agents"))
    if prompts or not parts:
        parts.append(sample(ctx, spec, lambda: shard_items(ctx, plan), prompts, policy, ingests, what))
    job.write(ROLLOUTS, lambda: _delivered(ctx, parts))
    rows, failures = sum(part.rows for part in parts), sum((Counter(part.failures) for part in parts), Counter[str]())
    job.count(
        input=planned.samples, sampled=rows - failures.total(), failed=dict(sorted(failures.items())), prompts=planned.prompts,
        shards=sum(len(part.commits) for part in parts), **told, **_stale(ctx, spec, rows),
    )  # fmt: skip


def _is_laid(ctx: JobContext, spec: RunSpec) -> bool:
    """Whether the round's runs are there already; of a round with agents theirs is laid first."""
    agents = replace(spec, program="agent", fingerprint=content_id("agent", spec.fingerprint))
    return any(run_of(ctx, one).store.exists(PLAN) for one in (spec, agents))


def _delivered(ctx: JobContext, parts: list[Sampled]) -> DataFrame:
    whole = delivered(ctx, parts[0].run, parts[0].commits)
    for part in parts[1:]:
        whole = whole.unionByName(delivered(ctx, part.run, part.commits))
    return whole


def _stale(ctx: JobContext, spec: RunSpec, rows: int) -> dict[str, int]:
    """Samples that the trainer has left behind further than the bound by the time they are taken in: kept, and told."""
    newest = newest_version(ctx.workspace)
    if not is_stale(spec.policy_version, newest, ctx.config.handoff):
        return {}
    _LOG.warning("%d samples are of policy version %d, the newest is %d", rows, spec.policy_version, newest)
    return {"stale": rows}


def planned_samples(ctx: JobContext, round_no: int) -> Planned:
    """Prompts and samples that the plan asks for."""
    from pyspark.sql import functions as F

    found = (
        ctx.read(ROUND_PLAN, round_no).agg(F.count("*").alias("prompts"), F.coalesce(F.sum("n_samples"), F.lit(0)).alias("samples")).first()
    )
    return Planned(int(found["prompts"]), int(found["samples"]))


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("rollout")
