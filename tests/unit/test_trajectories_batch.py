"""The Arrow side of grading: ids, lengths, bounds of log-probabilities, independence of how rows are batched."""

from __future__ import annotations

import pyarrow as pa
import pytest

from schemas.bronze.rollouts import ROLLOUTS
from schemas.contract import AnswerContract
from schemas.ids import content_id
from udfs.trajectories.grading_batch import grade_batches, graded_schema, trajectory_id

NUMBER = AnswerContract(type="number", gold="42").canonical()
KEEP = (
    "run_id",
    "prompt_id",
    "sample_index",
    "response_text",
    "prompt_token_ids",
    "response_token_ids",
    "response_logprobs",
    "finish_reason",
    "failure_class",
    "logprobs_mode",
)
SCHEMA = pa.schema([
    *(ROLLOUTS.schema.field(n) for n in KEEP),
    pa.field("repeat", pa.int32()),
    pa.field("planned_samples", pa.int32()),
    pa.field("contract", pa.string()),
    pa.field("system", pa.string()),
])  # fmt: skip


def row(**change):
    base = {
        "run_id": "r", "prompt_id": "p", "sample_index": 0, "response_text": "Answer: 42", "prompt_token_ids": [1, 2], "response_token_ids": [3, 4, 5],
        "response_logprobs": [-0.5, 0.0, -1.0], "finish_reason": "stop", "failure_class": None, "logprobs_mode": "processed", "repeat": 0,
        "planned_samples": 8, "contract": NUMBER, "system": "Be brief.",
    }  # fmt: skip
    return {**base, **change}


def graded(rows, size=1000):
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    batches = list(grade_batches(table.to_batches(max_chunksize=size)))
    return pa.Table.from_batches(batches, schema=graded_schema(SCHEMA)).to_pylist()


def test_a_sound_row():
    [got] = graded([row()])
    assert got["trajectory_id"] == content_id("r", "p", 0) == trajectory_id("r", "p", 0, 0)
    assert got["group_id"] == content_id("r", "p")
    assert got["call_id"] == content_id(got["trajectory_id"], 2)
    assert (got["status"], got["failure"], got["lossy"], got["outcome_reward"]) == ("completed", None, [], 1.0)
    assert (got["prompt_length"], got["response_length"], got["usable_logprobs"], got["user_turn"]) == (2, 3, True, 1)
    assert [(r["reward_name"], r["value"], r["verdict"]) for r in got["rewards"]] == [("correct", 1.0, "correct")]
    assert got["response_token_ids"] == [3, 4, 5]


@pytest.mark.parametrize(
    ("change", "status", "failure", "usable"),
    [
        ({"response_logprobs": [-0.5, -1.0]}, "error", "bad_lengths", False),
        ({"response_logprobs": [-0.5, 0.1, -1.0]}, "error", "bad_logprobs", False),
        ({"response_logprobs": [-0.5, float("nan"), -1.0]}, "error", "bad_logprobs", False),
        ({"response_logprobs": [-0.5, None, -1.0]}, "error", "bad_logprobs", False),
        ({"response_logprobs": [-0.5, float("-inf"), -1.0]}, "error", "bad_logprobs", False),
        ({"response_token_ids": [3, -4, 5]}, "error", "bad_tokens", True),
        ({"prompt_token_ids": [None, 2]}, "error", "bad_tokens", True),
        ({"response_logprobs": None}, "completed", None, False),
        ({"contract": None, "system": None}, "error", "unknown_prompt", True),
        ({"repeat": 2}, "error", "duplicate_sample", True),
        (
            {"failure_class": "engine_hang", "response_text": None, "response_token_ids": None, "response_logprobs": None},
            "timeout",
            "engine_hang",
            False,
        ),
    ],
)
def test_broken_rows_are_kept_and_named(change, status, failure, usable):
    # between two sound rows, so that the offsets of the flat buffers are exercised
    got = graded([row(sample_index=1), row(sample_index=2, **change), row(sample_index=3, response_text="Answer: 41")])
    assert [g["status"] for g in got] == ["completed", status, "completed"]
    assert [g["outcome_reward"] for g in got] == [1.0, None if failure else 1.0, 0.0]
    assert (got[1]["failure"], got[1]["usable_logprobs"]) == (failure, usable)
    assert got[1]["rewards"][-1]["verdict"] == ("error" if failure else "correct")


def test_repeats_have_ids_of_their_own():
    got = graded([row(repeat=i) for i in range(3)])
    assert len({g["trajectory_id"] for g in got}) == 3
    assert {g["group_id"] for g in got} == {content_id("r", "p")}
    assert [g["failure"] for g in got] == [None, "duplicate_sample", "duplicate_sample"]


def test_batches_and_order_do_not_matter():
    rows = [
        row(sample_index=i, response_text=f"Answer: {41 + i % 3}", response_token_ids=list(range(i)), response_logprobs=[-0.1] * i)
        for i in range(8)
    ]
    by_id = {g["trajectory_id"]: g for g in graded(rows)}
    assert {g["trajectory_id"]: g for g in graded(rows[::-1], size=3)} == by_id
    assert {g["trajectory_id"]: g for g in graded(rows, size=1)} == by_id
    assert [g["response_length"] for g in graded(rows)] == list(range(8))


def test_nothing_in_nothing_out():
    assert list(grade_batches(iter(()))) == []
    assert graded([]) == []


def test_unicode_survives():
    contract = AnswerContract(type="text", gold="Zürich").canonical()
    [got] = graded(
        [
            row(response_text="Answer: Zu\u0308rich \U0001f3d4", contract=contract),
        ]
    )
    assert got["response_text"] == "Answer: Zu\u0308rich \U0001f3d4"
    assert got["rewards"][0]["gold_answer"] == "Zürich"
