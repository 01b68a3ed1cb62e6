"""Programs over an engine: what becomes of items, whatever the engine does; a worker that drains a run against a server."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from gpu_workers.engines.engine import Generation, Identity, unheard
from gpu_workers.engines.options import EngineOptions
from gpu_workers.errors import RefusedRunError
from gpu_workers.programs.host import Host
from gpu_workers.programs.judge import JudgeProgram
from gpu_workers.programs.logprobs import LogprobsProgram
from gpu_workers.programs.policies import Policies
from gpu_workers.programs.program import Origin
from gpu_workers.programs.registry import build_program
from gpu_workers.programs.sampling import RolloutProgram
from schemas.handoff import JUDGE_SHARD, LOGPROBS_SHARD, PART_SCHEMAS, ROLLOUT_SHARD
from schemas.ids import content_id
from tests.engine_runs import lay_run
from tests.faults.handoff_runs import committed_rows, work
from tests.openai_server import StubServer
from udfs.store.parts import expected_rows, judge_rows

NOW = datetime(2026, 1, 2, tzinfo=UTC)
ORIGIN = Origin("w", 1)
SETTINGS = {"temperature": 0.8, "top_p": 0.95, "max_response_tokens": 32}


class EchoEngine:
    """Answers with what it was asked, byte by byte; a text that names a failure fails so."""

    def __init__(self):
        self.identity = Identity("echo", "7", "echo-1", "float32", "processed", "c" * 64)
        self.progress = unheard
        self.version, self.loaded, self.requests, self.closed = 0, [], [], False

    async def open(self):
        pass

    async def generate(self, request):
        self.requests.append(request)
        text = request.messages[-1]["content"]
        if text.startswith("fail "):
            return Generation.failed(text.removeprefix("fail "), "as asked")
        ids = tuple(text.encode())
        return Generation(
            text, "stop", prompt_text="P", prompt_token_ids=(1, 2), token_ids=ids, logprobs=(-0.5,) * len(ids),
            weight_versions=(self.version,) * len(ids), prompt_tokens=2, cached_tokens=1, completion_tokens=len(ids), raw={"id": request.key},
        )  # fmt: skip

    async def score(self, prompt_token_ids, token_ids, temperature):
        return Generation("", "stop", prompt_token_ids=prompt_token_ids, token_ids=token_ids, logprobs=(-temperature,) * len(token_ids))

    async def load_policy(self, folder, version):
        self.loaded.append((folder, version))
        self.version = version

    async def close(self):
        self.closed = True


@pytest.fixture
def host():
    made = Host(EchoEngine(), EngineOptions(in_flight=8), 30.0)
    yield made
    made.close()
    made.close()


def engine_of(host):
    return host.engine._engine


def prompt(k, text=None, samples=3, system="Be brief."):
    return {
        "prompt_id": content_id("prompt", k), "round": 2, "system": system, "text": text or f"question {k}", "question": "", "subject": "",
        "context": None, "options": "[]", "form": "answer_only", "n_samples": samples, "seed": k,
    }  # fmt: skip


def rows_of(program, run, sid="s0"):
    table = run.shard_items(sid)
    rows = [row for finished in program.generate(table.to_pylist(), ORIGIN, lambda _: None) for row in finished.rows]
    made = pa.Table.from_pylist(rows, schema=PART_SCHEMAS[run.plan.program])
    assert judge_rows(run.plan, expected_rows(run.plan, table), made) is None
    return made.to_pylist()


def test_a_rollout_row_says_what_was_drawn_how_and_by_which_weights(tmp_path, host):
    run = lay_run(tmp_path, "rollout", "echo", {"s0": [prompt(0), prompt(1, system="")]}, ROLLOUT_SHARD, SETTINGS)
    rows = rows_of(RolloutProgram(run.plan, host, Policies(run), lambda: NOW), run)
    assert len(rows) == 6
    row = rows[0]
    assert (row["response_text"], row["engine"], row["policy_id"], row["dtype"]) == ("question 0", "echo", "policy-0", "float32")
    assert json.loads(row["sampling"])["top_p"] == 0.95
    assert (row["weight_versions"], row["cached_tokens"], row["chat_template_sha256"]) == ([0] * 10, 1, "c" * 64)
    assert len({row["seed"] for row in rows}) == 6
    asked = engine_of(host).requests
    assert [m["role"] for m in asked[0].messages] == ["system", "user"]
    assert [m["role"] for m in asked[-1].messages] == ["user"]
    again = rows_of(RolloutProgram(run.plan, host, Policies(run), lambda: NOW), run)
    assert sorted(row["seed"] for row in again) == sorted(row["seed"] for row in rows)  # not by attempt, not by the clock


def test_a_sample_that_fails_is_a_row_with_its_class_and_reason(tmp_path, host):
    run = lay_run(tmp_path, "rollout", "echo", {"s0": [prompt(0, "fail malformed"), prompt(1)]}, ROLLOUT_SHARD, SETTINGS)
    rows = rows_of(RolloutProgram(run.plan, host, Policies(run), lambda: NOW), run)
    lost = [row for row in rows if row["failure_class"]]
    assert {(row["failure_class"], row["response_text"], json.loads(row["raw"])["reason"]) for row in lost} == {
        ("malformed", None, "as asked")
    }
    assert len(lost) == 3
    program = RolloutProgram(run.plan, host, Policies(run), lambda: NOW)
    given_up = program.failed(prompt(1), ORIGIN, "poison", "killed two workers")
    assert [row["failure_class"] for row in given_up.rows] == ["poison"] * 3


def test_newer_weights_are_taken_between_groups_and_named_in_their_rows(tmp_path, host, monkeypatch):
    monkeypatch.setattr("gpu_workers.programs.policies.EVERY", 0.0)
    items = [prompt(k, samples=4) for k in range(12)]
    run = lay_run(tmp_path, "rollout", "echo", {"s0": items}, ROLLOUT_SHARD, {**SETTINGS, "follow_policy": True})
    program = RolloutProgram(run.plan, host, Policies(run), lambda: NOW)
    rows = []
    for n, finished in enumerate(program.generate(items, ORIGIN, lambda _: None)):
        rows += finished.rows
        if n == 2:
            run.store.put("policy/3/weights", b"w")
            run.store.put("policy/4/weights", b"not ready: still being written")
        if n == 4:
            run.store.put("policy/3/READY", b'{"policy_id": "policy-3"}')
    assert engine_of(host).loaded == [(str(run.policy_folder("policy/3")), 3)]
    by_version = {row["policy_version"]: row["policy_id"] for row in rows}
    assert by_version == {0: "policy-0", 3: "policy-3"}
    assert all(set(row["weight_versions"]) == {row["policy_version"]} for row in rows)
    made = pa.Table.from_pylist(rows, schema=PART_SCHEMAS["rollout"])
    assert judge_rows(run.plan, expected_rows(run.plan, run.shard_items("s0")), made) is None
    stays = run.plan.model_copy(update={"settings": SETTINGS})
    assert "another policy" in judge_rows(stays, expected_rows(run.plan, run.shard_items("s0")), made)


def test_tokens_are_scored_and_what_is_no_token_is_refused(tmp_path, host):
    items = [
        {
            "item_id": f"i{k}",
            "round": 1,
            "trajectory_id": "t",
            "turn_index": k,
            "prompt_token_ids": [1],
            "token_ids": ids,
            "temperature": 0.5,
        }
        for k, ids in enumerate(([5, 6], [], [-1]))
    ]
    run = lay_run(tmp_path, "logprobs", "echo", {"s0": items}, LOGPROBS_SHARD, {})
    rows = sorted(rows_of(LogprobsProgram(run.plan, host, lambda: NOW), run), key=lambda row: row["item_id"])
    assert [(row["log_probs"], row["failure_class"]) for row in rows] == [([-0.5, -0.5], None), ([], None), (None, "prompt_invalid")]
    assert (rows[0]["policy_id"], rows[0]["temperature"]) == ("policy-0", 0.5)


def judgement(k, kind="pairwise", swapped=False, response_a="A", response_b="B", reference=None):
    return {
        "judgement_id": f"j{k}", "round": 1, "kind": kind, "trajectory_a": "ta", "trajectory_b": "tb" if kind == "pairwise" else None,
        "swapped": swapped, "question": "q", "reference": reference, "response_a": response_a, "response_b": response_b, "draw": 0, "seed": k,
    }  # fmt: skip


class JudgeEngine(EchoEngine):
    """A judge that favours the response with the word "right", wherever it stands, and says so in the asked-for object."""

    async def generate(self, request):
        self.requests.append(request)
        shown = request.messages[-1]["content"]
        if "score" in request.sampling.schema["required"]:
            reply = {"explanation": "so", "score": 8}
        else:
            first, _, second = shown.partition("Response 2:")
            reply = {"explanation": "so", "verdict": "1" if "right" in first else "2" if "right" in second else "tie"}
        text = "I think that ..." if "garble" in shown else json.dumps(reply)
        return Generation(text, "stop", prompt_tokens=100, cached_tokens=40, completion_tokens=10)


def test_a_verdict_is_of_trajectories_and_not_of_places_and_one_that_cannot_be_read_is_invalid(tmp_path):
    items = [
        judgement(0, response_a="right"), judgement(1, response_a="right", swapped=True), judgement(2, response_b="right"),
        judgement(3, response_b="right", swapped=True), judgement(4), judgement(5, response_a="garble"), judgement(6, "pointwise", response_b=None),
        judgement(7, "pairwise", response_b=None), judgement(8, "odd"),
    ]  # fmt: skip
    prices = {"prompt": 2.0, "cached": 1.0, "completion": 10.0}
    run = lay_run(tmp_path, "judge", "echo", {"s0": items}, JUDGE_SHARD, {"temperature": 0.0, "max_response_tokens": 64, "prices": prices})
    host = Host(JudgeEngine(), EngineOptions(in_flight=8), 30.0)
    rows = sorted(rows_of(JudgeProgram(run.plan, host, lambda: NOW), run), key=lambda row: row["judgement_id"])
    host.close()
    assert [row["verdict"] for row in rows] == ["a", "a", "b", "b", "tie", "invalid", "score", "invalid", "invalid"]
    assert [row["failure_class"] for row in rows] == [None] * 7 + ["prompt_invalid"] * 2
    assert (rows[6]["score"], rows[0]["explanation"], rows[5]["reply"]) == (0.8, "so", "I think that ...")
    assert rows[0]["template"] == "judge_pairwise@1"
    assert rows[0]["price"] == pytest.approx((60 * 2 + 40 * 1 + 10 * 10) / 1e6)
    assert engine_of(host).closed


def test_a_pair_of_program_and_engine_that_nobody_serves_is_refused(tmp_path):
    run = lay_run(tmp_path, "logprobs", "openai", {"s0": []}, LOGPROBS_SHARD, {})
    with pytest.raises(RefusedRunError, match=r"judge/openai.*rollout/vllm"):
        build_program(run, {})


def test_a_worker_drains_a_run_against_a_server_that_misbehaves(tmp_path):
    conducts = ["ok", "429:0.01", "ok", "garbage", "ok", "reset"]
    items = {sid: [prompt(10 * s + k, samples=2) for k in range(10)] for s, sid in enumerate(("s0", "s1"))}
    items["s0"][3]["text"] = "refuse me"
    run = lay_run(tmp_path, "rollout", "openai", items, ROLLOUT_SHARD, SETTINGS | {"model": "stub"})

    def conduct(ordinal, body):
        return "400" if body["messages"][-1]["content"] == "refuse me" else conducts[ordinal % len(conducts)]

    with StubServer(conduct) as server:
        code, out, err = work(run, "--engine-option", f"base_url={server.url}", "--engine-option", "in_flight=8")
    assert code == 0, err
    assert [event["event"] for event in out] == ["committed"] * 2
    rows = committed_rows(run)
    assert len(rows) == 40
    assert sum(row["failure_class"] == "prompt_invalid" for row in rows) == 2
    texts = {row["prompt_id"]: row["response_text"] for row in rows if not row["failure_class"]}
    assert texts == {item["prompt_id"]: item["text"] for item in (*items["s0"], *items["s1"]) if item["text"] != "refuse me"}
    assert all(row["response_token_ids"] is None for row in rows)  # this server does not tell them
    code, _, err = work(lay_run(tmp_path / "b", "rollout", "openai", {"s0": [prompt(0)]}, ROLLOUT_SHARD, SETTINGS))
    assert code == 3
    assert "base_url" in err[-1]["reason"]
