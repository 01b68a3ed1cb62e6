"""Several turns taken apart by Spark: interactions, tokens, calls and lengths of episodes beside those of single responses."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from jobs import ingest_rollouts as job
from jobs.lake.types import spark_schema
from schemas.bronze.rollouts import ROLLOUTS
from schemas.contract import AnswerContract
from schemas.gold.prompts import PROMPTS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.ids import content_id
from tests.conftest import NOW
from udfs.trajectories.grading_batch import trajectory_id
from udfs.trajectories.turns import turn_seed

pytestmark = pytest.mark.spark

CONTRACT = AnswerContract(type="number", gold="42").canonical()
WHERE = '{"environment":"python_tool@1","tier":"B"}'


def said(content, ids, versions=None, **more: Any):
    return {
        "role": "assistant", "content": content, "token_ids": ids, "logprobs": None if ids is None else [-0.5] * len(ids), "weight_versions": versions,
        "finish_reason": "stop", "prompt_tokens": 10, "completion_tokens": 2, **more,
    }  # fmt: skip


def tool(content, ids, status="ok"):
    return {"role": "tool", "content": content, "tool_name": "python", "tool_status": status, "token_ids": ids}


CALLS = '[{"arguments":{"code":"6*7"},"id":"call_0_0","name":"python"}]'
#: prompt -> what differs from a single response.
ROWS: dict[str, dict[str, Any]] = {
    "episode": {
        "turns": [said("", [3, 4], [5, 5], tool_calls=CALLS), tool("42", [8, 9, 8]), tool("43", []), said("Answer: 42", [6], [6]), tool("bye", None)],
        "response_text": "Answer: 42", "response_token_ids": [3, 4, 6], "response_logprobs": [-0.5] * 3, "weight_versions": [5, 5, 6], "program": "agent",
        "environment": WHERE, "env_retries": 1, "policy_version": 5,
    },
    "gap": {"turns": [said("", [3, 4]), tool("42", None), said("Answer: 42", [6])], "response_text": None},
    "broken": {
        "turns": [said("", [3, 4]), tool("", [1], "env_error")], "response_text": None, "failure_class": "env_error", "finish_reason": "error",
        "environment": WHERE, "env_retries": 2, "program": "agent",
    },
    "failed": {
        "turns": [said("", [3, 4]), tool("42", [8]), said(None, None, finish_reason="error")], "response_text": None, "failure_class": "engine_error",
        "finish_reason": "error", "program": "agent",
    },
    "single": {"response_text": "Answer: 42", "response_token_ids": [3, 4], "response_logprobs": [-0.5, -0.25], "weight_versions": [2, 4]},
    "plain": {"response_text": "Answer: 42", "response_token_ids": [3, 4], "response_logprobs": [-0.5, -0.25]},
}  # fmt: skip


def rollout(name):
    return {
        "run_id": "r", "round": 2, "prompt_id": name, "sample_index": 0, "dialect": "verilake", "engine": "vllm", "engine_version": "1", "policy_id": "pol",
        "policy_version": 3, "seed": 7, "temperature": 1.0, "top_p": 1.0, "logprobs_mode": "processed", "prompt_text": "P", "prompt_token_ids": [1, 2],
        "finish_reason": "stop", "failure_class": None, "worker_id": "w", "attempt": 1, "started_at": NOW, "finished_at": NOW, "raw": "{}", "turn_seconds": [1.5 if turn["role"] == "assistant" else 0.25 for turn in ROWS[name]["turns"]] if "turns" in ROWS[name] else None, **ROWS[name],
    }  # fmt: skip


def prompt(name):
    return {
        "prompt_id": name, "origin": "i", "task_id": f"t-{name}", "task_version": 1, "form": "f", "template": "f@1", "context_mode": "closed_book",
        "system": "" if name == "plain" else "Be brief.", "text": f"What is {name}?", "context": None, "options": "[]", "contract": CONTRACT,
    }  # fmt: skip


def plan(name):
    return {
        "round": 2, "prompt_id": name, "task_id": f"t-{name}", "task_version": 1, "role": "train", "task_type": "k", "context_mode": "closed_book",
        "n_samples": 1, "weight": 1.0, "seed": 1, "policy_id": "pol", "why": "w", "evidence": "{}",
    }  # fmt: skip


@pytest.fixture(scope="module")
def tables(spark):
    """Rows of the silver tables by name, each checked against the schema of its table."""
    made = {}
    frames = [
        spark.createDataFrame(pa.Table.from_pylist([row(name) for name in ROWS], schema=table.schema))
        for row, table in ((rollout, ROLLOUTS), (plan, ROUND_PLAN), (prompt, PROMPTS))
    ]
    graded = job.grade(job.prepare(*frames)).persist()
    for part, table in (
        (job.trajectories, job.TRAJECTORIES),
        (job.interactions, job.INTERACTIONS),
        (job.tokens, job.TOKENS),
        (job.calls, job.CALLS),
    ):
        frame = part(graded)
        types = {field.name: field.dataType.simpleString() for field in frame.schema}
        assert types == {field.name: field.dataType.simpleString() for field in spark_schema(table.schema)}, table.name
        made[table.name] = [row.asDict(recursive=True) for row in frame.collect()]
    graded.unpersist()
    return made


def of(tables, table, name):
    rows = [row for row in tables[table] if row["trajectory_id"] == trajectory_id("r", name, 0, 0)]
    return sorted(rows, key=lambda row: row.get("turn_index", 0))


def test_every_turn_is_an_interaction_after_those_of_the_prompt(tables):
    got = of(tables, "silver.interactions", "episode")
    assert [(t["turn_index"], t["parent_index"], t["role"], t["sampled"], t["content"]) for t in got] == [
        (0, -1, "system", False, "Be brief."), (1, 0, "user", False, "What is episode?"), (2, 1, "assistant", True, ""), (3, 2, "tool", False, "42"),
        (4, 3, "tool", False, "43"), (5, 4, "assistant", True, "Answer: 42"), (6, 5, "tool", False, "bye"),
    ]  # fmt: skip
    ident = trajectory_id("r", "episode", 0, 0)
    assert [t["call_id"] for t in got] == [None, None, content_id(ident, 2), None, None, content_id(ident, 5), None]
    assert [t["finish_reason"] for t in got] == [None, None, "stop", None, None, "stop", None]
    assert [t["tool_calls"] for t in got] == [None, None, CALLS, None, None, None, None]
    assert [(t["tool_name"], t["tool_status"]) for t in got[3:5]] == [("python", "ok")] * 2
    single = of(tables, "silver.interactions", "single")
    assert [(t["turn_index"], t["role"], t["content"]) for t in single] == [
        (0, "system", "Be brief."), (1, "user", "What is single?"), (2, "assistant", "Answer: 42"),
    ]  # fmt: skip


def test_only_sampled_tokens_are_trainable_and_all_together_are_what_the_engine_saw(tables):
    got = of(tables, "silver.tokens", "episode")
    assert [(t["turn_index"], t["token_ids"], t["response_mask"], t["rollout_log_probs"], t["policy_version"]) for t in got] == [
        (1, [1, 2], [0, 0], None, [-1, -1]),
        (2, [3, 4], [1, 1], [-0.5, -0.5], [5, 5]),
        (3, [8, 9, 8], [0, 0, 0], None, [-1, -1, -1]),
        (5, [6], [1], [-0.5], [6]),
    ]
    for row in tables["silver.tokens"]:
        assert len(row["response_mask"]) == len(row["policy_version"]) == len(row["token_ids"])
        assert row["rollout_log_probs"] is None or len(row["rollout_log_probs"]) == len(row["token_ids"])
    assert [(t["policy_version"], t["rollout_log_probs"]) for t in of(tables, "silver.tokens", "single")] == [
        ([-1, -1], None),
        ([2, 4], [-0.5, -0.25]),
    ]
    assert [t["policy_version"] for t in of(tables, "silver.tokens", "plain")] == [[-1, -1], [3, 3]]


def test_every_turn_of_the_policy_is_a_call(tables):
    ident = trajectory_id("r", "episode", 0, 0)
    got = of(tables, "silver.calls", "episode")
    names = (
        "turn_index",
        "call_id",
        "seed",
        "weight_version",
        "prompt_tokens",
        "completion_tokens",
        "latency_ms",
        "finish_reason",
        "error",
        "finished_at",
    )
    assert [tuple(c[name] for name in names) for c in got] == [
        (2, content_id(ident, 2), turn_seed(7, 0), 5, 10, 2, 1500.0, "stop", None, None),
        (5, content_id(ident, 5), turn_seed(7, 1), 6, 10, 2, 1500.0, "stop", None, None),
    ]
    assert [c["error"] for c in of(tables, "silver.calls", "failed")] == [None, "engine_error"]
    assert [c["error"] for c in of(tables, "silver.calls", "broken")] == [None]
    [single] = of(tables, "silver.calls", "single")
    assert (single["turn_index"], single["seed"], single["weight_version"], single["prompt_tokens"], single["completion_tokens"]) == (
        2,
        7,
        4,
        2,
        2,
    )
    assert (single["finished_at"] is None, single["latency_ms"]) == (False, 0.0)


@pytest.mark.parametrize(
    ("name", "turns", "length", "oldest", "newest", "trainable", "status", "reward"),
    [
        ("episode", 2, 3, 5, 6, True, "completed", 1.0),
        ("gap", 2, 3, 3, 3, False, "completed", 1.0),  # what the engine saw is not known
        ("broken", 1, 2, 3, 3, False, "failed", None),
        ("failed", 1, 2, 3, 3, False, "failed", None),
        ("single", 1, 2, 2, 4, True, "completed", 1.0),
        ("plain", 1, 2, 3, 3, True, "completed", 1.0),
    ],
)
def test_a_trajectory_counts_its_turns_tokens_and_weights(tables, name, turns, length, oldest, newest, trainable, status, reward):
    [got] = of(tables, "silver.trajectories", name)
    assert (got["num_turns"], got["response_length"], got["policy_version_min"], got["policy_version_max"]) == (
        turns,
        length,
        oldest,
        newest,
    )
    assert (got["is_trainable"], got["status"], got["outcome_reward"]) == (trainable, status, reward)
    acted = "environment" in ROWS[name]
    assert (got["environment"], got["sandbox_tier"]) == ((WHERE, "B") if acted else (None, None))
    assert got["env_retries"] == ROWS[name].get("env_retries")
    assert got["lossy"] == (["no_tool_token_ids"] if name == "gap" else [])
