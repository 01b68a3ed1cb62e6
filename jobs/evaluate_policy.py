"""evaluate_policy: one checkpoint on the fixed eval set and, apart from it, on the failures collected since -> silver.eval_samples.

Any checkpoint of the workspace, also one that no round has rolled out. Same workers, prompts, seeds, passages and settings as the round it
refers to, and the same grading: for the round's own checkpoint the fixed set gives that round's samples again, one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.context import JobContext, JobReport, JobRun
from jobs.evaluation.plan import GRADER, EvalPlan, eval_plan, for_policy
from jobs.handoff.commits import delivered
from jobs.handoff.plan import RunSpec
from jobs.handoff.policies import find_policy
from jobs.handoff.rollouts import Sampled, sample, worker_settings
from jobs.ingest_rollouts import RULES, grade, prepare
from schemas.errors import VerilakeError
from schemas.gold.prompts import PROMPTS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.handoff import ROLLOUT_SHARD
from schemas.ids import content_id
from schemas.policy import Policy
from schemas.silver.documents import DOCUMENTS
from schemas.silver.eval_samples import EVAL_SAMPLES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: What the evaluation knows of a prompt beside its plan row.
_FACTS = pa.schema([EVAL_SAMPLES.schema.field(name) for name in ("prompt_id", "eval_set", "eval_digest", "cluster_id")])


class LostSamplesError(VerilakeError):
    """Workers committed another number of samples than was planned (law 1)."""

    @classmethod
    def from_counts(cls, eval_id: str, planned: int, found: int, run_dir: str) -> LostSamplesError:
        """Both numbers."""
        return cls(f"eval {eval_id}: {planned} samples planned, {found} delivered. Delete {run_dir} and run it again.")


def run(ctx: JobContext, policy_id: str, *, round_no: int | None = None) -> JobReport:
    """Evaluate one checkpoint.

    Args:
        ctx: context.
        policy_id: any checkpoint below ``policies/``.
        round_no: the closed round whose eval sets, passages and sampling are meant; the newest one where None.

    Returns:
        A report with the scope ``eval=<eval_id>``.

    Raises:
        UnknownPolicyError: the workspace lacks the checkpoint.
        MissingInputError: the round is not closed.
        EvalRefusedError: the round holds nothing out, or how it was sampled is no longer known.
        HandoffError: the workers could not drain the run; running it again goes on from there.
    """
    policy = find_policy(ctx, policy_id)
    plan = for_policy(eval_plan(ctx.workspace, round_no, ctx.config.rollout, policy), policy.policy_id)
    eval_id = plan.eval_id(policy.policy_id)
    with ctx.open(
        "evaluate_policy", f"eval={eval_id}",
        # Prompts, seeds and contracts are in the digests, which do not depend on the round whose plan they were read from.
        reads={DOCUMENTS: plan.ingests},
        writes={EVAL_SAMPLES: eval_id},
        settings={"sampling": plan.sampling, "digests": plan.digests},
        versions={**plan.versions, "rules": RULES, "policy": policy.policy_id},
    ) as job:  # fmt: skip
        if not job.done:
            _evaluate(ctx, job, plan, policy, eval_id)
    return job.report()


def _evaluate(ctx: JobContext, job: JobRun, plan: EvalPlan, policy: Policy, eval_id: str) -> None:
    sampled = sample(
        ctx, _spec(ctx, job, plan, policy), lambda: pa.Table.from_pylist(plan.rows, schema=ROLLOUT_SHARD), len(plan.rows), policy, plan.ingests,
        f"eval {eval_id}",
    )  # fmt: skip
    if sampled.rows != plan.samples:
        raise LostSamplesError.from_counts(eval_id, plan.samples, sampled.rows, sampled.run.store.uri)
    job.write(EVAL_SAMPLES, lambda: eval_samples(ctx, plan, sampled, eval_id))
    failed = sum(sampled.failures.values())
    job.count(
        input=plan.samples, sampled=sampled.rows - failed, failed=sampled.failures, round=plan.round,
        prompts={name: sum(row["eval_set"] == name for row in plan.rows) for name in plan.digests},
    )  # fmt: skip


def _spec(ctx: JobContext, job: JobRun, plan: EvalPlan, policy: Policy) -> RunSpec:
    return RunSpec(
        program="rollout",
        engine=policy.engine,
        fingerprint=content_id("eval", job.fingerprint),
        shard_size=ctx.config.rollout.prompts_per_shard,
        settings=worker_settings(plan.sampling, policy),
        round=plan.round,
        policy_id=policy.policy_id,
        policy_version=policy.policy_version,
    )


def _frame(ctx: JobContext, plan: EvalPlan, schema: pa.Schema) -> DataFrame:
    """Columns of the plan's rows as a frame; some hundred rows."""
    return ctx.spark.createDataFrame(pa.Table.from_pylist(plan.rows, schema=schema))


def eval_samples(ctx: JobContext, plan: EvalPlan, sampled: Sampled, eval_id: str) -> DataFrame:
    """Rows of silver.eval_samples: what the workers delivered, graded as the rollouts of a round are."""
    from pyspark.sql import functions as F

    rollouts = delivered(ctx, sampled.run, sampled.commits)
    prepared = prepare(rollouts, _frame(ctx, plan, ROUND_PLAN.schema), ctx.read(PROMPTS))
    graded = grade(prepared, allow_weak_sandbox=ctx.config.sandbox.allow_weak)
    outcome = F.filter("rewards", lambda reward: reward["is_outcome"])[0]
    columns: dict[str, Column] = {
        "eval_id": F.lit(eval_id), "response": F.col("response_text"), "token_ids": F.col("response_token_ids"), "log_probs": F.col("response_logprobs"),
        "failure_class": F.col("failure"), "reward": F.col("outcome_reward"), "verdict": outcome["verdict"],
        "extracted_answer": outcome["extracted_answer"], "verifier": F.lit(GRADER),
    }  # fmt: skip
    known = graded.join(F.broadcast(_frame(ctx, plan, _FACTS)), "prompt_id")
    return known.select(*[columns.get(name, F.col(name)).alias(name) for name in EVAL_SAMPLES.schema.names])


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("eval")
