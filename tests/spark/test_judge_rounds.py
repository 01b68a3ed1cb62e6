"""A round whose tasks are rolled out by agents, judged by a model and scored again: through the real hand-off, against a server on loopback."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from math import comb

import pyarrow.parquet as pq
import pytest

import jobs.handoff.commits
from gpu_workers.engines.engine import Generation, Identity, unheard
from gpu_workers.engines.options import EngineOptions
from gpu_workers.log import Log
from gpu_workers.programs.host import Host
from gpu_workers.programs.logprobs import LogprobsProgram
from gpu_workers.programs.registry import utc_now
from gpu_workers.worker import Worker
from jobs import ingest_rollouts, judge_round, rescore_round, rollout_round
from jobs.config import load_config
from jobs.context import JobContext
from jobs.handoff.policies import current_policy
from jobs.lake.errors import MissingInputError
from jobs.views.reward_rows import reward_table
from jobs.views.rewards import read_rewards
from jobs.workspace import Workspace
from schemas.bronze.judgements import JUDGEMENTS
from schemas.bronze.rescored import RESCORED
from schemas.bronze.rollouts import ROLLOUTS
from schemas.code import CodeContract
from schemas.contract import AnswerContract
from schemas.gold.prompts import PROMPTS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.tasks import TASKS
from schemas.ids import seed_from
from schemas.policy import Policy
from schemas.silver.rewards import REWARDS
from schemas.silver.trajectories import TRAJECTORIES
from tests.coding_tasks import sandbox_or_skip
from tests.conftest import NOW
from tests.openai_server import StubServer
from tests.scripted_engine import call
from tests.spark.test_handoff_jobs import fill, rows
from tests.spark.test_trajectories import fill as deliver
from tests.spark.test_trajectory_turns import ROWS, plan, prompt, rollout
from udfs.store.run import HandoffRun

pytestmark = pytest.mark.spark

HIDDEN = "7654321"
CODE = {
    "kind": "assert",
    "entry_point": "f",
    "setup": f"X = {HIDDEN}",
    "code": f"assert f(1) == 2\nassert f({HIDDEN}) == X + 1",
    "public": [0],
}
ANSWER = AnswerContract(type="number", gold="42").canonical()
#: prompt -> kind of task, role, contract.
ASKED = {
    "long": ("fact", "train", ANSWER),
    "wide": ("fact", "train", ANSWER),
    "held": ("fact", "eval", ANSWER),
    "code": ("code_function", "train", CodeContract.of({"tests": CODE, "prompt": "Write f."}).canonical()),
    "bare": ("code_function", "train", CodeContract.of({"tests": {**CODE, "public": []}, "prompt": "Write f."}).canonical()),
    "sums": ("word_problem", "train", ANSWER),
}
SAMPLES = 4
SETTINGS = (
    "rollout.engine=openai", "rollout.model=stub", "rollout.prompts_per_shard=2", "train.trainer=none", "judge.model=stub", "judge.items_per_shard=16",
    "judge.prices={ stub = { prompt = 1.0, completion = 2.0 } }", "agent.max_turns=4",
    'agent.environments={ code_function = "python_tests", word_problem = "python_tool" }',
)  # fmt: skip


def says(body):
    """The policy is right by the parity of its seed; the judge knows 42 from 41, likes the first of two right ones, and loses its form over two wrong."""
    messages = body["messages"]
    if "response_format" in body:
        return opinion(messages[-1]["content"])
    right, turn, text = body["seed"] % 2, sum(m["role"] == "assistant" for m in messages), " ".join(m["content"] for m in messages)
    if "run_tests" in text:
        code = f"def f(x):\n    return {'x + 1' if right else '2'}\n"
        return call("run_tests", code=code) if turn == 0 else call("submit", code=code)
    if '"python"' in text and turn == 0:
        return call("python", code="6 * 7")
    return f"Answer: {42 if right or turn else 41}"


def opinion(text):
    shown = [block for _, block in re.findall(r"^(`{3,})\n(.*?)\n\1$", text, re.DOTALL | re.MULTILINE)]
    good = ["41" not in block and "return 2" not in block for block in shown]
    if "Response 2" not in text:
        return json.dumps({"explanation": "seen", "score": 9 if good[-1] else 2})
    first, second = good[-2:]
    return json.dumps({"explanation": "seen", "verdict": "1" if first else "2"}) if first or second else "I cannot say."


def laid(spark, empty_lake, folder, *overrides):
    workspace = Workspace.init(folder)
    shutil.copytree(empty_lake, workspace.lake_root, dirs_exist_ok=True)
    return JobContext(workspace, load_config(workspace.root, overrides=overrides), now=NOW, job_run_id="test", session=spark)


@pytest.fixture(scope="module")
def server():
    with StubServer(says=says) as stub:
        yield stub


@pytest.fixture(scope="module")
def acted(spark, empty_lake, tmp_path_factory, server):
    """A context whose round is rolled out and ingested, with the report of the roll-out."""
    sandbox_or_skip()
    url = f'work.engine_options={{ openai = {{ base_url = "{server.url}" }} }}'
    ctx = laid(spark, empty_lake, tmp_path_factory.mktemp("judged") / "ws", *SETTINGS, url)
    fill(ctx, TASKS, "ingest=i", [
        {"task_id": f"t-{name}", "origin": "ingest=i", "kind": kind, "split": "train", "status": "active", "question": name} for name, (kind, _, _) in ASKED.items()
    ])  # fmt: skip
    fill(ctx, PROMPTS, "ingest=i", [
        {"prompt_id": name, "origin": "ingest=i", "task_id": f"t-{name}", "text": f"What about {name}?", "options": "[]", "contract": contract}
        for name, (_, _, contract) in ASKED.items()
    ])  # fmt: skip
    fill(ctx, ROUND_PLAN, 1, [
        {
            "round": 1, "prompt_id": name, "task_id": f"t-{name}", "task_version": 1, "n_samples": SAMPLES, "policy_id": current_policy(ctx),
            "seed": seed_from(1, name), "role": role, "task_type": kind,
        }
        for name, (kind, role, _) in ASKED.items()
    ])  # fmt: skip
    with pytest.raises(MissingInputError, match="ingest-rollouts"):
        judge_round.run(ctx, 1)
    report = rollout_round.run(ctx, 1)
    ingest_rollouts.run(ctx, 1)
    return ctx, report


def test_tasks_with_an_environment_are_rolled_out_by_agents_and_the_rest_at_once(acted):
    ctx, report = acted
    counts = report.counts
    assert (counts["input"], counts["sampled"], counts["failed"], counts["prompts"]) == (24, 24, {}, 6)
    assert (counts["acted"], counts["not_acted"]) == (2, {"no_public_tests": 1})
    delivered = rows(ctx, ROLLOUTS)
    assert Counter((row["prompt_id"], row["program"]) for row in delivered) == {
        (name, "agent" if name in ("code", "sums") else "rollout"): SAMPLES for name in ASKED
    }
    again = rollout_round.run(ctx, 1)
    assert (again.did, again.counts) == (False, counts)


def test_episodes_are_taken_apart_and_graded(acted):
    ctx, _ = acted
    taken = {row["trajectory_id"]: row for row in rows(ctx, TRAJECTORIES)}
    handed_in = {(row["prompt_id"], row["sample_index"]): row["response_text"] for row in rows(ctx, ROLLOUTS)}
    assert {row["num_turns"] for row in taken.values() if row["prompt_id"] in ("code", "sums")} == {2}
    for row in taken.values():
        said = handed_in[row["prompt_id"], row["sample_index"]]
        assert (row["sandbox_tier"] is not None) == (row["prompt_id"] in ("code", "sums"))
        if row["prompt_id"] != "bare":  # answers no program
            assert row["outcome_reward"] == float("x + 1" in said or "42" in said)
    hidden = [
        row for row in rows(ctx, REWARDS) if row["reward_name"] == "hidden_tests" and taken[row["trajectory_id"]]["prompt_id"] == "code"
    ]
    assert {(row["tests_passed"], row["tests_total"]) for row in hidden} <= {(0, 1), (1, 1)}
    assert len(hidden) == SAMPLES


def test_no_hidden_test_is_in_any_file_of_the_hand_off(acted):
    ctx, _ = acted
    files = [path for path in ctx.workspace.handoff_root.rglob("*") if path.is_file()]
    shards = [path for path in files if path.suffix == ".parquet"]
    assert {path.parts[-4] for path in shards if path.parent.name == "shards"} >= {"agent", "rollout"}
    assert any("assert f(1) == 2" in str(pq.read_table(path).to_pylist()) for path in shards if "agent" in path.parts)
    for path in files:
        text = str(pq.read_table(path).to_pylist()) if path.suffix == ".parquet" else path.read_bytes().decode("utf-8", "replace")
        assert HIDDEN not in text, path


def right_and_wrong(ctx):
    """(right, wrong) responses to each prompt of role train, as the judge of this file tells them apart."""
    found = {name: [0, 0] for name, (_, role, _) in ASKED.items() if role == "train"}
    for row in rows(ctx, ROLLOUTS):
        if row["prompt_id"] in found:
            found[row["prompt_id"]]["41" in row["response_text"] or "return 2" in row["response_text"]] += 1
    return list(found.values())


def test_both_kinds_of_judgement_stand_beside_each_other_and_are_asked_for_once(acted, server):
    ctx, _ = acted
    groups = right_and_wrong(ctx)
    pairs = judge_round.run(ctx, 1, "pairwise")
    mixed, alike, lost = (sum(part) for part in zip(*((r * w, comb(r, 2), comb(w, 2)) for r, w in groups), strict=True))
    counts = pairs.counts
    assert counts["input"] == 24 == counts["judged"] + counts["not_chosen"] + counts["failed_before"] + counts["other"]
    assert (counts["judged"], counts["other"], counts["failed_before"]) == (20, 4, 0)
    assert counts["judgements"] == 2 * 5 * comb(SAMPLES, 2) == counts["valid"] + counts["invalid"]
    assert (counts["invalid"], counts["failed"]) == (2 * lost, {})
    # Of a right and a wrong one it names the right one in either order; of two right ones the first that it is shown.
    assert (counts["both_orders"], counts["agreed"]) == (mixed + alike, mixed)
    assert (counts["decided"], counts["first_place"]) == (2 * (mixed + alike), mixed + 2 * alike)
    assert counts["agreement"] == round(mixed / (mixed + alike), 6)
    assert min(mixed, alike, lost) > 0, "the seeds of this round leave something untried"
    points = judge_round.run(ctx, 1, "pointwise")
    assert (points.counts["judgements"], points.counts["valid"], points.counts["judged"]) == (20, 20, 20)
    said = rows(ctx, JUDGEMENTS)
    assert Counter(row["kind"] for row in said) == {"pairwise": counts["judgements"], "pointwise": 20}
    tokens = sum(3 * 1 + 2 * row["completion_tokens"] for row in said)
    assert counts["price"] + points.counts["price"] == pytest.approx(tokens / 1e6, rel=1e-12)
    asked = len(server.calls)
    for kind, first in (("pairwise", pairs), ("pointwise", points)):
        again = judge_round.run(ctx, 1, kind)
        assert (again.did, again.counts) == (False, first.counts)
    assert len(server.calls) == asked


def test_the_view_over_rewards_composes_what_the_judge_said(acted):
    ctx, _ = acted
    judge_round.run(ctx, 1, "pointwise")
    overrides = ['reward.alignment="range"', "reward.default_alpha=0.5", "reward.alpha={ math = 0.5, code = 0.5, writing = 0.5 }"]
    found = reward_table(read_rewards(ctx.workspace, 1, load_config(overrides=overrides).reward)).to_pylist()
    said = {(row["prompt_id"], row["sample_index"]): row["response_text"] for row in rows(ctx, ROLLOUTS)}
    for row in found:
        text = said[row["prompt_id"], row["sample_index"]]
        if row["role"] == "train" and row["prompt_id"] != "bare":
            # 0.5 x verifier + 0.5 x judge: a right one 0.5 + 0.45, a wrong one 0 + 0.1
            assert row["score_raw"] == pytest.approx(0.95 if "x + 1" in text or "42" in text else 0.1, abs=1e-12)
        elif row["role"] == "eval":
            assert (row["score_raw"], row["unknown"]) == (None, "genrm_unjudged")  # others of its kind were


class HalfEngine:
    """Finds every token half as likely as it was: 0.5 x what ``rollout`` of the turns' test records, ln(0.5) lower."""

    def __init__(self):
        self.identity = Identity("vllm", "1", "half", "float32", "processed", "c" * 64)
        self.progress = unheard

    async def open(self):
        pass

    async def score(self, prompt_token_ids, token_ids, temperature):
        return Generation(
            "", "stop", prompt_token_ids=prompt_token_ids, token_ids=token_ids, logprobs=(-0.5 - temperature,) * len(token_ids)
        )

    async def close(self):
        pass


@pytest.fixture(scope="module")
def rescored(spark, empty_lake, tmp_path_factory):
    """A round of episodes that a checkpoint in vllm has sampled, scored by another; with the items, and the report."""
    ctx = laid(spark, empty_lake, tmp_path_factory.mktemp("rescored") / "ws")
    for ident, engine, version in (("pol", "vllm", 3), ("next", "vllm", 4), ("served", "openai", 5)):
        made = Policy(engine=engine, policy_id=ident, policy_version=version, model=str(ctx.workspace.root / ident))
        folder = ctx.workspace.policies_root / ident
        folder.mkdir(parents=True)
        (folder / "policy.json").write_text(made.model_dump_json())
    for table, slice_, made in ((PROMPTS, "i", prompt), (ROUND_PLAN, 2, plan), (ROLLOUTS, 2, rollout)):
        deliver(ctx, table, slice_, [made(name) for name in ROWS])
    with pytest.raises(MissingInputError, match="ingest-rollouts"):
        rescore_round.run(ctx, 2, "next")
    ingest_rollouts.run(ctx, 2)

    def drain(run, *_):
        host = Host(HalfEngine(), EngineOptions(in_flight=4), 30.0)
        try:
            Worker(run, LogprobsProgram(run.plan, host, utc_now), "w", Log(run.plan.run_id, "w"), lambda: False, 0.05).drain()
        finally:
            host.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs.handoff.commits, "drain", drain)
        report = rescore_round.run(ctx, 2, "next")
    (folder,) = (ctx.workspace.handoff_root / "logprobs").iterdir()
    run = HandoffRun(folder)
    return ctx, [item for sid in run.plan.shards for item in run.shard_items(sid).to_pylist()], report


def test_every_sampled_turn_is_scored_after_all_that_stood_before_it(rescored):
    ctx, items, report = rescored
    # ROWS: two turns of `episode`, one each of `single` and `plain`; `gap` lacks a tool's tokens, `broken` and `failed` are unsound.
    assert sorted((item["turn_index"], item["prompt_token_ids"], item["token_ids"], item["temperature"]) for item in items) == [
        (1, [1, 2], [3, 4], 1.0), (2, [1, 2], [3, 4], 1.0), (2, [1, 2], [3, 4], 1.0), (5, [1, 2, 3, 4, 8, 9, 8], [6], 1.0),
    ]  # fmt: skip
    counts = report.counts
    assert (counts["input"], counts["scored"], counts["failed_before"], counts["lossy"]) == (6, 3, 2, {"no_tool_token_ids": 1})
    assert (counts["turns"], counts["failed"], counts["nothing_sampled"], counts["other"]) == (4, {}, 0, 0)
    made = rows(ctx, RESCORED)
    assert {(row["policy_id"], row["policy_version"]) for row in made} == {("next", 4)}
    assert {tuple(row["log_probs"]) for row in made} == {(-1.5, -1.5), (-1.5,)}
    again = rescore_round.run(ctx, 2, "next")
    assert (again.did, again.counts) == (False, counts)


def test_ratios_follow(rescored):
    ctx, _, _ = rescored
    found = {row["prompt_id"]: row for row in reward_table(read_rewards(ctx.workspace, 2, load_config().reward)).to_pylist()}
    assert found["episode"]["rho_geometric"] == pytest.approx(0.36787944, rel=1e-6)  # exp(-1.5 + 0.5)
    assert found["episode"]["rho_sequence"] == pytest.approx(0.04978707, rel=1e-6)  # of three tokens
    assert (found["episode"]["scorer"], found["gap"]["scorer"]) == ("next", None)


def test_a_server_cannot_score(rescored):
    ctx, _, _ = rescored
    with pytest.raises(rescore_round.RescoreRefusedError, match="engine vllm"):
        rescore_round.run(ctx, 2, "served")
