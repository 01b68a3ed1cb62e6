"""The view over rewards that Spark's own job wrote: delivered rollouts, graded by ingest-rollouts, read without a JVM."""

from __future__ import annotations

import math
import shutil

import pytest

from jobs import ingest_rollouts
from jobs.config import load_config
from jobs.context import JobContext
from jobs.views.reward_figures import reward_figures
from jobs.views.reward_rows import reward_table
from jobs.views.rewards import read_rewards
from jobs.workspace import Workspace
from schemas.bronze.rescored import RESCORED
from schemas.bronze.rollouts import ROLLOUTS
from schemas.gold.prompts import PROMPTS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.tasks import TASKS
from schemas.ids import content_id
from tests.conftest import NOW
from tests.lake_rows import filled
from tests.spark.test_trajectories import ROUND, RUN, fill, plan_row, prompt_row, rollouts, task_row
from udfs.trajectories.grading_batch import trajectory_id

pytestmark = pytest.mark.spark

NAMES = ("mixed", "solved", "form", "broken_gold", "sick")


@pytest.fixture(scope="module")
def found(spark, empty_lake, tmp_path_factory):
    """The round, ingested; two samples of `mixed` re-scored by a checkpoint that finds each token twice as likely."""
    workspace = Workspace.init(tmp_path_factory.mktemp("rewards") / "ws")
    shutil.copytree(empty_lake, workspace.lake_root, dirs_exist_ok=True)
    ctx = JobContext(workspace, load_config(workspace.root), now=NOW, job_run_id="test", session=spark)
    fill(ctx, TASKS, "ingest=i", [task_row(name) for name in NAMES])
    fill(ctx, PROMPTS, "ingest=i", [prompt_row(name) for name in NAMES])
    fill(ctx, ROUND_PLAN, ROUND, [plan_row(name) for name in NAMES])
    wanted = {f"p-{name}" for name in NAMES} | {"p-nobody-planned"}
    delivered = [row for row in rollouts() if row["prompt_id"] in wanted]
    fill(ctx, ROLLOUTS, ROUND, delivered)
    ingest_rollouts.run(ctx, ROUND)
    again = []
    for row in delivered:
        if row["prompt_id"] == "p-mixed" and row["sample_index"] < 2:
            ident = trajectory_id(RUN, "p-mixed", row["sample_index"], 0)
            turn = 2 if prompt_row("mixed").get("system") else 1
            now = [logprob + math.log(1.25) for logprob in row["response_logprobs"]]
            said = {
                "run_id": "logprobs",
                "item_id": content_id(ident, turn, "next"),
                "trajectory_id": ident,
                "turn_index": turn,
                "policy_id": "next",
            }
            again.append(filled(RESCORED, round=ROUND, policy_version=4, log_probs=now, temperature=1.0, logprobs_mode="processed", **said))
    fill(ctx, RESCORED, "logprobs", again)
    settings = load_config(overrides=["reward.format_penalty=0.5", 'reward.alignment="range"']).reward
    return read_rewards(workspace, ROUND, settings), len(delivered)


def by_sample(found, name):
    rows = reward_table(found[0]).to_pylist()
    return sorted((row for row in rows if row["prompt_id"] == f"p-{name}"), key=lambda row: (row["sample_index"], row["trajectory_id"]))


def test_every_delivered_rollout_is_a_row(found):
    view, delivered = found
    table = reward_table(view)
    assert table.num_rows == delivered == reward_figures(view)[-1].n
    assert sum(item.n for item in reward_figures(view)[:-1]) == delivered


def test_graded_rewards_come_through(found):
    # answers of the world: right, right, wrong x 3, none, empty, right
    mixed = by_sample(found, "mixed")
    assert [row["score_raw"] for row in mixed] == [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    assert [row["advantage_dr_grpo"] for row in mixed] == [value - 3 / 8 for value in (1, 1, 0, 0, 0, 0, 0, 1)]
    assert {row["sampling"] for row in mixed} == {"kept"}
    assert {(row["sampling"], row["advantage_rloo"]) for row in by_sample(found, "solved")} == {("zero_variance", 0.0)}


def test_a_broken_gold_is_unknown_and_named(found):
    rows = by_sample(found, "broken_gold")
    assert {(row["score_raw"], row["unknown"], row["sampling"]) for row in rows} == {(None, "unparsable_gold", "too_few_known")}
    assert next(item for item in reward_figures(found[0]) if item.task_type == "kind_broken_gold").unknown == {"unparsable_gold": 8}


def test_form_is_shaped_by_its_own_reward(found):
    rows = by_sample(found, "form")  # the right word alone, then with a word too many, in turn
    assert [row["format_shaping"] for row in rows] == [0.0, -0.5] * 4
    assert [[part["reward_name"] for part in row["rewards"]] for row in rows] == [["correct", "format", "format_shaping", "outcome"]] * 8
    assert [row["score_shaped"] for row in rows] == [1.0, -0.5] * 4


def test_infrastructure_is_unknown_and_unplanned_rows_are_counted(found):
    sick = by_sample(found, "sick")
    assert {row["unknown"] for row in sick} == {None, "error"}
    assert [row["role"] for row in by_sample(found, "nobody-planned")] == ["unplanned"]


def test_ratios_of_what_was_rescored(found):
    mixed = by_sample(found, "mixed")
    for row in mixed[:2]:
        assert (row["scorer"], row["version_gap"], row["rho_unknown"]) == ("next", 1, 0)
        assert row["rho_sequence"] == pytest.approx(1.25 ** row["rho_tokens"], rel=1e-5)
        assert row["rho_geometric"] == pytest.approx(1.25, rel=1e-6)
    assert mixed[2]["rho_tokens"] is None
