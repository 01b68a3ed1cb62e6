"""Several turns of one delivery: what each lacks, what is graded, ids and seeds of its calls."""

from __future__ import annotations

import pyarrow as pa
import pytest

from schemas.bronze.rollouts import ROLLOUTS, TURNS
from schemas.contract import AnswerContract
from schemas.ids import content_id
from udfs.trajectories.grading_batch import grade_batches, graded_schema, trajectory_id
from udfs.trajectories.turns import read_turns, turn_seed

NUMBER = AnswerContract(type="number", gold="42").canonical()
SCHEMA = pa.schema([
    *(ROLLOUTS.schema.field(n) for n in (
        "run_id", "prompt_id", "sample_index", "response_text", "prompt_token_ids", "response_token_ids", "response_logprobs", "finish_reason",
        "failure_class", "logprobs_mode", "turns", "seed", "program",
    )),
    pa.field("repeat", pa.int32()),
    pa.field("planned_samples", pa.int32()),
    pa.field("contract", pa.string()),
    pa.field("system", pa.string()),
])  # fmt: skip


def said(content="...", ids=(3, 4), logprobs=(-0.5, -0.25), versions=None):
    return {"role": "assistant", "content": content, "token_ids": ids, "logprobs": logprobs, "weight_versions": versions}


def tool(content="1", ids=(9,), **more):
    return {"role": "tool", "content": content, "tool_name": "python", "tool_status": "ok", "token_ids": ids, **more}


def graded(turns, **change):
    row = {
        "run_id": "r", "prompt_id": "p", "sample_index": 0, "response_text": None, "prompt_token_ids": [1, 2], "response_token_ids": None,
        "response_logprobs": None, "finish_reason": "stop", "failure_class": None, "logprobs_mode": "processed", "repeat": 0, "planned_samples": 8,
        "contract": NUMBER, "system": "Be brief.", "turns": turns, "seed": 7, "program": "agent",
    }  # fmt: skip
    table = pa.Table.from_pylist([row | change], schema=SCHEMA)
    return pa.Table.from_batches(grade_batches(table.to_batches()), schema=graded_schema(SCHEMA)).to_pylist()[0]


SOUND = (said("I look."), tool(), said("Answer: 42", (5,), (-1.0,)))


def test_a_sound_episode_counts_the_tokens_of_all_sampled_turns():
    got = graded(SOUND)
    assert (got["status"], got["failure"], got["lossy"], got["outcome_reward"]) == ("completed", None, [], 1.0)
    assert (got["prompt_length"], got["response_length"], got["usable_logprobs"]) == (2, 3, True)


def test_each_call_has_an_id_and_the_seed_of_its_turn():
    got = graded(SOUND)
    ident = trajectory_id("r", "p", 0, 0)
    # system 0, user 1, so that the turns begin at 2
    assert got["engine_calls"] == [
        {"place": 0, "call_id": content_id(ident, 2), "seed": turn_seed(7, 0)},
        {"place": 2, "call_id": content_id(ident, 4), "seed": turn_seed(7, 1)},
    ]
    assert [c["seed"] for c in graded(SOUND, program=None)["engine_calls"]] == [7, 7]
    alone = graded(None, response_text="Answer: 42")
    assert alone["engine_calls"] == [{"place": 0, "call_id": alone["call_id"], "seed": 7}]
    assert graded([], response_text="Answer: 42")["engine_calls"] == alone["engine_calls"]


@pytest.mark.parametrize(
    ("turns", "response", "reward", "verdict"),
    [
        (SOUND, None, 1.0, "correct"),
        # What was handed in goes before what was said last.
        (SOUND, "Answer: 41", 0.0, "incorrect"),
        ((said("Answer: 42"), tool(), said("I do not know.")), None, 0.0, "unparsable_pred"),
        # A tool that shows the gold answers nothing.
        ((said("hm"), tool("Answer: 42")), None, 0.0, "unparsable_pred"),
        ((said(""),), None, 0.0, "unparsable_pred"),
    ],
)
def test_the_last_turn_of_the_policy_is_graded_or_what_it_handed_in(turns, response, reward, verdict):
    got = graded(turns, response_text=response)
    assert (got["failure"], got["outcome_reward"]) == (None, reward)
    assert got["rewards"][0]["verdict"] == verdict


@pytest.mark.parametrize(
    ("turns", "failure", "usable", "lossy"),
    [
        ((said(logprobs=(-0.5,)), tool(), said()), "bad_lengths", False, []),
        # The sum of all turns is right, and each is wrong.
        ((said(logprobs=(-0.5,)), tool(), said(logprobs=(-0.5,) * 3)), "bad_lengths", False, []),
        ((said(versions=(1,)), tool(), said()), "bad_lengths", False, []),
        ((said(logprobs=(-0.5, 0.5)), tool(), said()), "bad_logprobs", False, []),
        ((said(logprobs=(-0.5, None)), tool(), said()), "bad_logprobs", False, []),
        ((said(ids=(3, -4)), tool(), said()), "bad_tokens", True, []),
        ((said(), tool(ids=(-9,)), said()), "bad_tokens", True, []),
        ((said(ids=None, logprobs=None), tool(), said()), None, False, ["no_logprobs", "no_token_ids"]),
        ((said(logprobs=None), tool(), said()), None, False, ["no_logprobs"]),
        ((said(), tool(ids=None), said()), None, True, ["no_tool_token_ids"]),
        ((said(), tool(), tool(ids=()), said(), tool(ids=None)), None, True, []),  # the engine never saw the last one
        ((said(), tool(), said(None, None, None)), "no_response", True, []),  # a generation that failed has nothing to tell
        ((tool(),), "no_response", True, []),
    ],
)
def test_what_a_turn_lacks_is_named(turns, failure, usable, lossy):
    got = graded(turns)
    assert (got["failure"], got["usable_logprobs"], got["lossy"]) == (failure, usable, lossy)
    assert (got["outcome_reward"] is None) == (failure is not None)


def test_an_episode_that_the_environment_failed_has_no_reward_whatever_was_said():
    got = graded(SOUND, failure_class="env_error", response_text="Answer: 42")
    assert (got["status"], got["failure"], got["outcome_reward"]) == ("failed", "env_error", None)


def test_rows_are_read_alike_however_they_are_cut():
    column = pa.array([SOUND, None, [], [said()], [tool(), said("x", None, None)]], TURNS)
    whole = read_turns(column)
    assert [None if t is None else (t.sampled, t.tokens, t.last_text) for t in whole] == [
        ([0, 2], 3, "Answer: 42"), None, None, ([0], 2, "..."), ([1], None, "x"),
    ]  # fmt: skip
    assert [t for k in range(5) for t in read_turns(column.slice(k, 1))] == whole
