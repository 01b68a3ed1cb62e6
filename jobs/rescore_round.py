"""rescore_round: sampled tokens of a round -> shards -> workers that score them under another checkpoint -> bronze.rescored.

Every run is a slice of its own: what one checkpoint said stays when another is asked.
"""

from __future__ import annotations

from pathlib import Path

from jobs.context import JobContext, JobReport, JobRun
from jobs.handoff.commits import collect, delivered
from jobs.handoff.plan import RunSpec, open_run
from jobs.handoff.policies import current_policy, find_policy
from jobs.lake.errors import MissingInputError
from jobs.rescoring.turns import considered, turns
from jobs.rounds import policy_of
from schemas.bronze.rescored import RESCORED
from schemas.errors import VerilakeError
from schemas.ids import content_id
from schemas.policy import Policy
from schemas.silver.calls import CALLS
from schemas.silver.tokens import TOKENS
from schemas.silver.trajectories import TRAJECTORIES
from udfs.export.files import tree_sha256

#: Says "the checkpoint that the next round would roll out".
CURRENT = "current"
_TABLES = (TRAJECTORIES, TOKENS, CALLS)


class RescoreRefusedError(VerilakeError):
    """Tokens that this checkpoint cannot score, or not as what they are."""

    exit_code = 2

    @classmethod
    def from_engine(cls, what: str, policy: Policy) -> RescoreRefusedError:
        """One of both sides is served by something that cannot score given tokens, or counts tokens of its own."""
        return cls(
            f"{what} {policy.policy_id} is served by engine {policy.engine!r}: log-probabilities of given tokens are to be had from engine vllm "
            "alone. Set rollout.engine and rollout.model to a checkpoint, or name one with --policy."
        )

    @classmethod
    def from_tokenizers(cls, sampled: Policy, scoring: Policy) -> RescoreRefusedError:
        """The token ids of one mean something else to the other."""
        return cls(
            f"{sampled.model} and {scoring.model} have different tokenizer.json files: the token ids of the round are not those of checkpoint "
            f"{scoring.policy_id}. Name a checkpoint of the same family."
        )


def run(ctx: JobContext, round_no: int, policy_id: str = CURRENT) -> JobReport:
    """Score one round's sampled tokens under a checkpoint.

    Args:
        ctx: context.
        round_no: a round whose rollouts are ingested.
        policy_id: a checkpoint of the workspace; ``current``: the one that the configuration names.

    Raises:
        MissingInputError: the round's rollouts are not ingested.
        UnknownPolicyError: the workspace lacks the checkpoint, or the one that sampled.
        RescoreRefusedError: one of both is not served by vllm, or their tokenizers differ.
        HandoffError: the workers could not drain the run; running it again goes on from there.
    """
    if any(str(round_no) not in ctx.lake.slices(table) for table in _TABLES):
        raise MissingInputError.from_slice(TRAJECTORIES.name, f"round {round_no}", f"verilake ingest-rollouts --round {round_no}")
    scoring = find_policy(ctx, current_policy(ctx) if policy_id == CURRENT else policy_id)
    refuse_strangers(find_policy(ctx, policy_of(ctx, round_no)), scoring)
    spec = _spec(ctx, round_no, scoring)
    with ctx.open(
        "rescore_round", f"round={round_no}",
        reads={table: [round_no] for table in _TABLES},
        writes={RESCORED: spec.run_id},
        settings=_settings(ctx),
        versions={"policy": scoring.policy_id},
    ) as job:  # fmt: skip
        if not job.done:
            _rescore(ctx, job, spec, round_no)
    return job.report()


def refuse_strangers(sampled: Policy, scoring: Policy) -> None:
    """Refuse a checkpoint that cannot score what another has sampled.

    Raises:
        RescoreRefusedError: one of both is not served by vllm, or their tokenizers differ, as far as both are here to be compared.
    """
    for what, policy in (("checkpoint", scoring), ("the round's policy", sampled)):
        if policy.engine != "vllm":
            raise RescoreRefusedError.from_engine(what, policy)
    files = [Path(policy.model) / "tokenizer.json" for policy in (sampled, scoring)]
    if all(path.is_file() for path in files) and tree_sha256(files[0]) != tree_sha256(files[1]):
        raise RescoreRefusedError.from_tokenizers(sampled, scoring)


def _settings(ctx: JobContext) -> dict[str, object]:
    return {"roles": list(ctx.config.rescore.roles)}


def _spec(ctx: JobContext, round_no: int, scoring: Policy) -> RunSpec:
    inputs = [ctx.lake.slices(table)[str(round_no)].fingerprint for table in _TABLES]
    return RunSpec(
        program="logprobs",
        engine=scoring.engine,
        fingerprint=content_id("rescore", inputs, _settings(ctx), scoring.policy_id),
        shard_size=ctx.config.rescore.turns_per_shard,
        # Sampling is not asked for; a turn is scored at its own temperature.
        settings={"model": scoring.model},
        round=round_no,
        policy_id=scoring.policy_id,
        policy_version=scoring.policy_version,
    )


def _rescore(ctx: JobContext, job: JobRun, spec: RunSpec, round_no: int) -> None:
    from pyspark.sql import functions as F

    rescore = ctx.config.rescore
    run = open_run(ctx, spec, lambda: turns(ctx, round_no, rescore, str(spec.policy_id)))
    commits = collect(ctx, run)
    job.write(RESCORED, lambda: delivered(ctx, run, commits))
    made, all_of_it = job.read_written(RESCORED), considered(ctx, round_no, rescore)
    row = made.agg(F.count_distinct("trajectory_id").alias("scored"), F.count("*").alias("turns")).first()
    failed = {
        r["failure_class"]: int(r["count"]) for r in made.where("failure_class IS NOT NULL").groupBy("failure_class").count().collect()
    }
    job.count(
        input=all_of_it.input, scored=int(row["scored"]), nothing_sampled=all_of_it.may - int(row["scored"]), failed_before=all_of_it.failed,
        other=all_of_it.other, lossy=all_of_it.lossy, turns=int(row["turns"]), failed=dict(sorted(failed.items())), shards=len(commits),
    )  # fmt: skip


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("rescore")
