"""ingest_rollouts: one round of bronze.rollouts -> the five silver tables of R§7, graded.

Every row of bronze becomes exactly one trajectory. What cannot be used (not planned, delivered twice, lists of unequal
lengths, a failure of the engine) keeps its row with a status, a failure class and a null reward. The prompts are those that the
round's plan names and nothing else, so that tasks which arrive later cannot change the result of an earlier round.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs import rollout_turns
from jobs.context import JobContext, JobReport, JobRun
from jobs.lake.types import spark_schema
from jobs.rounds import note_state, planned_policy
from schemas.bronze.rollouts import ROLLOUTS
from schemas.gold.prompts import PROMPTS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.silver.calls import CALLS
from schemas.silver.interactions import INTERACTIONS
from schemas.silver.rewards import REWARDS
from schemas.silver.tokens import TOKENS
from schemas.silver.trajectories import TRAJECTORIES
from udfs.grading import VERIFIER, VERSION
from udfs.trajectories.grading_batch import grade_batches, graded_schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: Version of how rollouts are taken apart; a change that can alter a row raises it.
RULES = "2"
#: What a rollout gets whose prompt the round did not plan.
UNPLANNED = "unplanned"


def run(ctx: JobContext, round_no: int) -> JobReport:
    """Take one round's rollouts apart and grade them.

    Args:
        ctx: context.
        round_no: round whose rollouts are in bronze.rollouts.

    Raises:
        MissingInputError: the round was not planned or not rolled out.
        PythonException: the round holds programs, and the executors have no sandbox that is allowed (``[sandbox]``).
    """
    tables = (TRAJECTORIES, INTERACTIONS, TOKENS, REWARDS, CALLS)
    with ctx.open(
        "ingest_rollouts", f"round={round_no}",
        reads={ROUND_PLAN: [round_no], ROLLOUTS: [round_no]},
        writes=dict.fromkeys(tables, round_no),
        versions={"verifier": f"{VERIFIER}@{VERSION}", "rules": RULES},
    ) as job:  # fmt: skip
        if not job.done:
            _ingest(ctx, job, round_no)
    report = job.report()
    note_state(ctx, round_no, "rolled_out", policy_id=planned_policy(ctx, round_no), fingerprint=report.fingerprint)
    return report


def _ingest(ctx: JobContext, job: JobRun, round_no: int) -> None:
    rollouts = ctx.read(ROLLOUTS, round_no)
    plan = ctx.read(ROUND_PLAN, round_no)
    # Graded once, read by five writes. What falls out of the cache is graded again, to the same rows.
    graded = grade(prepare(rollouts, plan, ctx.read(PROMPTS)), allow_weak_sandbox=ctx.config.sandbox.allow_weak).persist()
    try:
        job.write(TRAJECTORIES, lambda: trajectories(graded))
        job.write(INTERACTIONS, lambda: interactions(graded))
        job.write(TOKENS, lambda: tokens(graded))
        job.write(REWARDS, lambda: rewards(graded))
        job.write(CALLS, lambda: calls(graded))
    finally:
        graded.unpersist()
    _count(job, rollouts.count())


def _count(job: JobRun, delivered: int) -> None:
    """The funnel: every delivered row is a trajectory of one status."""
    counted = job.read_written(TRAJECTORIES).groupBy("status", "failure_class").count().collect()
    statuses: dict[str, int] = {}
    failures: dict[str, int] = {}
    for row in counted:
        statuses[row["status"]] = statuses.get(row["status"], 0) + row["count"]
        if row["failure_class"] is not None:
            failures[row["failure_class"]] = failures.get(row["failure_class"], 0) + row["count"]
    job.count(input=delivered, **dict(sorted(statuses.items())), failures=dict(sorted(failures.items())))


def with_repeats(rollouts: DataFrame) -> DataFrame:
    """Rollouts with ``repeat``: rows of equal run, prompt and sample counted from 0, the sound ones first."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    content = F.xxhash64(
        "response_text",
        "finish_reason",
        "response_token_ids",
        "response_logprobs",
        "prompt_token_ids",
        "policy_id",
        "policy_version",
        "raw",
        "turns",  # last: a column that is null leaves the hash as it is
    )
    same = Window.partitionBy("run_id", "prompt_id", "sample_index").orderBy(
        F.col("failure_class").asc_nulls_first(), content, "attempt", "worker_id", "started_at", "finished_at"
    )
    return rollouts.withColumn("repeat", F.row_number().over(same) - 1)


def prepare(rollouts: DataFrame, plan: DataFrame, prompts: DataFrame) -> DataFrame:
    """Rollouts with ``repeat``, beside their plan and prompt."""
    from pyspark.sql import functions as F

    planned = plan.select(
        "prompt_id", "task_id", "task_version", "role", "task_type", "context_mode", F.col("n_samples").alias("planned_samples"),
    )  # fmt: skip
    known = prompts.join(planned.select("prompt_id"), "prompt_id", "left_semi").select(
        "prompt_id", "template", "system", F.col("text").alias("user"), "contract"
    )
    return with_repeats(rollouts).join(planned, "prompt_id", "left").join(known, "prompt_id", "left")


def grade(frame: DataFrame, *, allow_weak_sandbox: bool = False) -> DataFrame:
    """Ids, status, lengths and rewards of every row (udfs.trajectories.grading_batch).

    Args:
        frame: from :func:`prepare`.
        allow_weak_sandbox: programs run where only rlimits bound them (tier D), rather than fail the job.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    # Spark marks what it computed (repeat) as never null; Arrow batches need not say so.
    given = pa.schema([field.with_nullable(True) for field in to_arrow_schema(frame.schema, timezone="UTC")])
    return frame.mapInArrow(partial(grade_batches, allow_weak_sandbox=allow_weak_sandbox), spark_schema(graded_schema(given)))


def trajectories(graded: DataFrame) -> DataFrame:
    """Rows of silver.trajectories."""
    from pyspark.sql import functions as F

    tokens_there = (F.col("response_length") > 0) & F.col("prompt_length").isNotNull() & F.col("usable_logprobs")
    whole = ~F.array_contains("lossy", rollout_turns.GAP)
    trainable = (F.col("role") == "train") & tokens_there & whole & F.col("outcome_reward").isNotNull()
    columns: dict[str, Column] = {
        "task_id": F.coalesce("task_id", F.lit(UNPLANNED)),
        "task_version": F.coalesce("task_version", F.lit(0)),
        "role": F.coalesce("role", F.lit(UNPLANNED)),
        "task_type": F.coalesce("task_type", F.lit(UNPLANNED)),
        "context_mode": F.coalesce("context_mode", F.lit(UNPLANNED)),
        "template": F.coalesce("template", F.lit(UNPLANNED)),
        "framework": F.col("dialect"),
        "policy_version_min": rollout_turns.oldest(rollout_turns.versions()),
        "policy_version_max": rollout_turns.newest(rollout_turns.versions()),
        "stop_reason": F.col("finish_reason"),
        "num_turns": rollout_turns.sampled_turns(),
        "is_trainable": F.coalesce(trainable, F.lit(False)),
        "failure_class": F.col("failure"),
        "sandbox_tier": F.get_json_object("environment", "$.tier"),
    }
    return graded.select(*[columns.get(name, F.col(name)).alias(name) for name in TRAJECTORIES.schema.names])


def interactions(graded: DataFrame) -> DataFrame:
    """Rows of silver.interactions: system (where there is one), user, assistant; then tool, assistant ... where there are several turns."""
    from pyspark.sql import functions as F

    nothing = F.lit(None).cast("string")

    def turn(index: Column, role: str, content: Column, *, sampled: bool = False) -> Column:
        return F.struct(
            index.cast("int").alias("turn_index"), (index - 1).cast("int").alias("parent_index"), F.lit(role).alias("role"), content.alias("content"),
            F.lit(sampled).alias("sampled"), (F.col("finish_reason") if sampled else nothing).alias("finish_reason"),
            (F.col("call_id") if sampled else nothing).alias("call_id"),
            *(nothing.alias(name) for name in ("tool_calls", "tool_name", "tool_status")),
        )  # fmt: skip

    user = F.col("user_turn")
    asked = F.array(turn(user, "user", F.coalesce("user", "prompt_text")))
    response = F.array(turn(user + 1, "assistant", F.col("response_text"), sampled=True))
    spoken = F.concat(asked, F.when(rollout_turns.several(), rollout_turns.spoken()).otherwise(response))
    with_system = F.concat(F.array(turn(F.lit(0), "system", F.col("system"))), spoken)
    turns = F.when(user == 1, with_system).otherwise(spoken)
    return graded.select("trajectory_id", "round", F.inline(turns)).select(*INTERACTIONS.schema.names)


def tokens(graded: DataFrame) -> DataFrame:
    """Rows of silver.tokens: the prompt's under the user turn (system and template included), each further turn's under its own.

    Nothing is sampled in a prompt or by a tool: mask 0, version -1, no log-probabilities. Missing lists give no row.
    """
    from pyspark.sql import functions as F

    prompt, response = F.col("prompt_token_ids"), F.col("response_token_ids")

    def turn(index: Column, ids: Column, mask: int, versions: Column, logprobs: Column) -> Column:
        return F.struct(
            index.cast("int").alias("turn_index"), ids.alias("token_ids"), F.array_repeat(F.lit(mask), F.size(ids)).alias("response_mask"),
            logprobs.cast("array<float>").alias("rollout_log_probs"), versions.alias("policy_version"),
        )  # fmt: skip

    known = F.when(F.col("usable_logprobs"), F.col("response_logprobs"))
    versions = rollout_turns.token_versions(response, F.col("weight_versions"))
    asked = F.when(prompt.isNotNull(), turn(F.col("user_turn"), prompt, 0, F.array_repeat(F.lit(-1), F.size(prompt)), F.lit(None)))
    answered = F.array(F.when(response.isNotNull(), turn(F.col("user_turn") + 1, response, 1, versions, known)))
    turns = F.concat(F.array(asked), F.when(rollout_turns.several(), rollout_turns.tensors()).otherwise(answered))
    present = F.filter(turns, lambda t: t.isNotNull())
    return graded.select("trajectory_id", "round", F.inline(present)).select(*TOKENS.schema.names)


def rewards(graded: DataFrame) -> DataFrame:
    """Rows of silver.rewards."""
    from pyspark.sql import functions as F

    return graded.select("trajectory_id", "round", F.inline("rewards")).select(*REWARDS.schema.names)


def calls(graded: DataFrame) -> DataFrame:
    """Rows of silver.calls: one for each turn that the policy sampled or failed to sample."""
    from pyspark.sql import functions as F

    columns: dict[str, Column] = {"price": F.lit(0.0), **rollout_turns.call_columns()}
    each = graded.withColumn("call", F.explode("engine_calls"))
    return each.select(*[columns.get(name, F.col(name)).alias(name) for name in CALLS.schema.names])


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("ingest-rollouts")
