"""One checkpoint on held-out prompts outside any round: the same samples as the round's own, every planned one a row, once."""

from __future__ import annotations

import shutil

import pyarrow as pa
import pytest

from jobs import evaluate_policy
from jobs.config import load_config
from jobs.context import JobContext
from jobs.evaluation.plan import eval_plan
from jobs.handoff.policies import UnknownPolicyError, current_policy, find_policy, lay_checkpoint
from jobs.handoff.shards import lay_shards
from jobs.lake.write import SliceWrite, write_slice
from jobs.views.compare import compare, compare_evals
from jobs.views.evals import eval_scores
from jobs.views.reader import LakeReader
from jobs.views.scores import COLLECTED, FIXED, eval_digests, round_scores
from jobs.workspace import Workspace
from schemas.gold.regression import REGRESSION
from schemas.gold.round_plan import ROUND_PLAN
from schemas.handoff import ROLLOUT_SHARD
from schemas.silver.eval_samples import EVAL_SAMPLES
from udfs.reader.checkpoint import Checkpoint
from udfs.store.run import HandoffRun, shard_name

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def evaluated(prepared, spark, tmp_path_factory):
    """A copy of the prepared workspace in which one fresh prompt of round 2 counts as failed, and the checkpoint of round 2 was evaluated."""
    root = shutil.copytree(prepared.root, tmp_path_factory.mktemp("eval") / "ws")
    # Settings in force do not count: a round is evaluated as it was sampled.
    overrides = [*prepared.overrides, "rollout.temperature=0.3", "rollout.passages_per_question=1", "rollout.prompts_per_shard=3"]
    ctx = JobContext(Workspace.open(root), load_config(root, overrides=overrides), job_run_id="eval", session=spark)
    policy_id = round_scores(LakeReader(ctx.lake), 2).policies[0]
    write = SliceWrite(table=REGRESSION, slice="2", fingerprint="failed", job="test", restate=True)  # the small campaign may fail none
    failed = {**fresh_of(ctx), "policy_id": policy_id, "round": 2, "n_valid": 4, "k": 0, "why": "all_wrong"}
    write_slice(spark, ctx.lake, write, lambda: spark.createDataFrame(pa.Table.from_pylist([failed], schema=REGRESSION.schema)))
    return ctx, policy_id, evaluate_policy.run(ctx, policy_id, round_no=2)


def fresh_of(ctx):
    """A held-out prompt that round 2 met for the first time."""
    rows = LakeReader(ctx.lake).select(
        "SELECT prompt_id, task_id, task_type FROM gold_round_plan WHERE round = 2 AND why = 'eval_fresh' ORDER BY prompt_id", ROUND_PLAN
    )
    return rows[0]


def rows_of(ctx, report):
    held = ctx.lake.delta(EVAL_SAMPLES).to_pyarrow_table().to_pylist()
    return [row for row in held if row["eval_id"] == report.scope.removeprefix("eval=")]


def test_the_rounds_own_checkpoint_gives_the_rounds_own_samples_one_by_one(evaluated):
    ctx, policy_id, report = evaluated
    rounds = LakeReader(ctx.lake).select(
        """SELECT b.prompt_id, b.sample_index, b.seed, b.response_text, b.response_token_ids, b.response_logprobs, b.finish_reason,
        t.outcome_reward, r.verdict, r.extracted_answer
        FROM bronze_rollouts b JOIN silver_trajectories t ON t.run_id = b.run_id AND t.prompt_id = b.prompt_id AND t.sample_index = b.sample_index
        JOIN silver_rewards r ON r.trajectory_id = t.trajectory_id JOIN gold_round_plan p ON p.prompt_id = b.prompt_id AND p.round = b.round
        WHERE b.round = 2 AND r.is_outcome AND p.role = 'eval' ORDER BY 1, 2""",
        *(t for t in _tables("bronze.rollouts", "silver.trajectories", "silver.rewards", "gold.round_plan")),
    )  # fmt: skip
    names = (
        "prompt_id", "sample_index", "seed", "response", "token_ids", "log_probs", "finish_reason", "reward", "verdict", "extracted_answer",
    )  # fmt: skip
    rows = sorted(rows_of(ctx, report), key=lambda row: (row["prompt_id"], row["sample_index"]))
    sampled, tried = {row["prompt_id"] for row in rows}, {row["prompt_id"] for row in rounds}
    # Eight fixed prompts and the failed fresh one; what only an earlier round tried is not in this round's rows.
    assert sum(row["eval_set"] == FIXED for row in rows) == 8 * 4
    assert fresh_of(ctx)["prompt_id"] in sampled & tried
    own = [tuple(row.values()) for row in rounds if row["prompt_id"] in sampled]
    assert [tuple(row[name] for name in names) for row in rows if row["prompt_id"] in tried] == own
    assert {row["policy_id"] for row in rows} == {policy_id}


def _tables(*names):
    from schemas.catalog import TABLES

    return [TABLES[name] for name in names]


def test_every_planned_sample_is_a_row_and_both_sets_have_their_digest(evaluated):
    ctx, _, report = evaluated
    reader, rows = LakeReader(ctx.lake), rows_of(ctx, report)
    failed = reader.select("SELECT DISTINCT prompt_id FROM gold_regression WHERE round <= 2", *_tables("gold.regression"))
    fixed = {p.prompt_id for p in round_scores(reader, 2).fixed}
    collected = {row["prompt_id"] for row in failed} - fixed
    assert fresh_of(ctx)["prompt_id"] in collected
    assert {row["prompt_id"] for row in rows if row["eval_set"] == COLLECTED} == collected
    assert sorted((row["prompt_id"], row["sample_index"]) for row in rows) == [(p, n) for p in sorted(fixed | collected) for n in range(4)]
    assert report.counts["input"] == report.counts["sampled"] + sum(report.counts["failed"].values()) == len(rows)
    assert {row["eval_digest"] for row in rows if row["eval_set"] == FIXED} == {eval_digests(reader, 2)[0]}
    held = eval_scores(reader, report.scope.removeprefix("eval="))
    assert [(p.prompt_id, p.k, p.n_valid, p.cluster_id) for p in held.fixed] == [
        (p.prompt_id, p.k, p.n_valid, p.cluster_id) for p in round_scores(reader, 2).fixed
    ]


def test_evaluating_again_does_nothing_and_the_newest_round_is_meant_where_none_is_named(evaluated):
    ctx, policy_id, report = evaluated
    again = evaluate_policy.run(ctx, policy_id)
    assert (again.did, again.scope, again.counts) == (False, report.scope, report.counts)


def test_a_checkpoint_that_no_round_rolled_out_is_compared_by_cluster(evaluated):
    ctx, policy_id, report = evaluated
    base = Checkpoint.load(ctx.workspace.policies_root / policy_id)
    other = lay_checkpoint(ctx, Checkpoint.make(base.vector * 0.2, 0, policy_id))  # nearly uniform: worse on what the base knows
    second = evaluate_policy.run(ctx, other.policy_id, round_no=2)
    assert second.did
    assert second.scope != report.scope
    found = compare_evals(ctx.workspace, policy_id, other.policy_id, ctx.config.eval)
    assert found.fixed.difference.estimate < 0
    assert (found.first.digests, found.fixed.difference.prompts) == (found.second.digests, 8)
    assert compare(ctx.workspace, 1, 2).fixed.difference.prompts == 8
    # The first one is not touched by the second.
    assert len(rows_of(ctx, report)) == report.counts["input"]


def test_an_unknown_checkpoint_is_refused(evaluated):
    with pytest.raises(UnknownPolicyError, match="no-such-policy"):
        evaluate_policy.run(evaluated[0], "no-such-policy")


def test_few_items_are_laid_without_spark_in_the_very_shards_that_spark_lays(evaluated, tmp_path):
    ctx, _, _ = evaluated
    items = pa.Table.from_pylist(
        eval_plan(ctx.workspace, 2, ctx.config.rollout, find_policy(ctx, current_policy(ctx))).rows, schema=ROLLOUT_SHARD
    )
    few, many = HandoffRun(tmp_path / "few"), HandoffRun(tmp_path / "many")
    laid = lay_shards(few, items, ROLLOUT_SHARD, "prompt_id", 3)
    assert laid == lay_shards(many, ctx.spark.createDataFrame(items), ROLLOUT_SHARD, "prompt_id", 3)
    assert sum(laid.values()) == items.num_rows
    for sid in laid:
        assert few.store.path(shard_name(sid)).read_bytes() == many.store.path(shard_name(sid)).read_bytes()
