"""Sampling planned prompts through workers: shared by the rollouts of a round and by the evaluation of one checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from jobs.care.retire import left_out
from jobs.care.selection import tombstoned
from jobs.context import JobContext
from jobs.handoff.commits import collect
from jobs.handoff.plan import RunSpec, open_run
from jobs.handoff.policies import find_checkpoint, lay_reader
from jobs.lake.layout import Lake
from jobs.ledger import read_events
from jobs.sources.added import added_ingests
from schemas.conf import Rollout
from schemas.errors import VerilakeError
from schemas.gold.prompts import PROMPTS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.tasks import TASKS
from schemas.handoff import ROLLOUT_SHARD, Commit
from schemas.ops.job_runs import JOB_RUNS
from schemas.policy import Policy
from schemas.silver.documents import DOCUMENTS
from udfs.reader.checkpoint import ENGINE, ENGINE_VERSION
from udfs.reader.trie import VOCAB
from udfs.store.run import HandoffRun

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Settings of ``rollout`` that change what the reader samples; the others only shape shards.
SAMPLING = ("temperature", "max_response_tokens", "passages_per_question")
#: Further ones, of models that are served.
SERVED = ("top_p", "top_k", "min_p")


class LostPromptsError(VerilakeError):
    """Prompts are planned that the lake does not hold: some samples would end in no state at all (law 1)."""

    @classmethod
    def from_counts(cls, what: str, planned: int, found: int) -> LostPromptsError:
        """How many of which plan."""
        return cls(
            f"{what}: {planned} prompts planned, {found} found in gold.prompts with their task. Plan again with --restate, "
            "and delete this run's directory below handoff/rollout."
        )


@dataclass(frozen=True)
class Sampled:
    """What workers made of a plan."""

    run: HandoffRun
    commits: list[Commit]

    @property
    def rows(self) -> int:
        """Samples that came back, failed or not."""
        return sum(commit.rows for commit in self.commits)

    @property
    def failures(self) -> dict[str, int]:
        """Failed samples by class."""
        failed: dict[str, int] = {}
        for commit in self.commits:
            for name, count in commit.failures.items():
                failed[name] = failed.get(name, 0) + count
        return dict(sorted(failed.items()))


def sampling_settings(rollout: Rollout) -> dict[str, Any]:
    """What bears on a sample, by name."""
    return {name: getattr(rollout, name) for name in (SAMPLING if rollout.engine == "reader" else (*SAMPLING, *SERVED))}


def worker_settings(sampling: dict[str, Any], policy: Policy) -> dict[str, Any]:
    """What a rollout run tells its workers; ``vocab`` bounds token ids where the jobs know them."""
    return {**sampling, "vocab": VOCAB} if policy.engine == "reader" else {**sampling, "model": policy.model}


def engine_version(policy: Policy) -> str:
    """What a job's fingerprint says of the engine: of the embedded one its version; the others say theirs in every row."""
    return f"{ENGINE}@{ENGINE_VERSION}" if policy.engine == "reader" else policy.engine


def planned_ingests(lake: Lake, round_no: int) -> list[str]:
    """Ingests that the round's plan drew its tasks from, by the ledger; all of the lake where it does not know.

    Their documents are what the policy may read: what was ingested since then cannot change an earlier round. Those of added tasks are none
    of them, for they hold the golds.
    """
    held, added = lake.slices(ROUND_PLAN).get(str(round_no)), added_ingests(lake)
    curated = [ingest_id for ingest_id in lake.slices(DOCUMENTS) if ingest_id not in added]
    for event in read_events(lake, JOB_RUNS):
        if held is not None and event["fingerprint"] == held.fingerprint and event["state"] == "finished":
            origins = json.loads(event["reads"]).get(TASKS.name, {})
            known = {origin.removeprefix("ingest=") for origin in origins if origin.startswith("ingest=")}
            return [ingest_id for ingest_id in curated if ingest_id in known]
    return curated


def sample(
    ctx: JobContext,
    spec: RunSpec,
    items: Callable[[], DataFrame | pa.Table],
    prompts: int,
    policy: Policy,
    ingests: list[str],
    what: str,
) -> Sampled:
    """Let workers sample a plan; what is laid or drained already is not done again.

    Args:
        ctx: context.
        spec: the run.
        items: as :func:`jobs.handoff.plan.open_run`, say from :func:`shard_items`.
        prompts: how many are planned.
        policy: what samples.
        ingests: whose documents the reader may look into; a model that is served is shown its prompt alone.
        what: names the plan in errors.

    Raises:
        LostPromptsError: the lake does not hold every planned prompt.
        HandoffError: the workers could not drain the run.
    """

    def lay(run: HandoffRun) -> None:
        if policy.engine == "reader":
            lay_reader(run, find_checkpoint(ctx, policy.policy_id), _shown(ctx, ingests))

    run = open_run(ctx, spec, items, lay)
    found = sum(run.plan.rows.values())
    if found != prompts:
        raise LostPromptsError.from_counts(what, prompts, found)
    return Sampled(run, collect(ctx, run))


def shard_items(ctx: JobContext, plan: DataFrame) -> DataFrame:
    """Planned prompts with what the policy is shown."""
    from pyspark.sql import functions as F

    prompts = ctx.read(PROMPTS).select("prompt_id", "system", "text", "context", "options", "form")
    tasks = ctx.read(TASKS).select("task_id", F.col("version").alias("task_version"), "question", "subject")
    joined = plan.join(prompts, "prompt_id").join(tasks, ["task_id", "task_version"])
    return joined.select(*ROLLOUT_SHARD.names)


def _shown(ctx: JobContext, ingests: list[str]) -> DataFrame:
    """The documents that a policy may read: curated for the round, and not taken down since."""
    return left_out(ctx.read(DOCUMENTS, *ingests or [""]), tombstoned(ctx.lake))
