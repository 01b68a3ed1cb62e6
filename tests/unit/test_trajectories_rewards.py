"""Reward rows: law 6 as a matrix, the product of format tasks, sanity of stored rewards."""

from __future__ import annotations

import pytest

from schemas.code import CodeContract, CodeTests
from schemas.contract import AnswerContract
from udfs.grading import VERIFIER, VERSION
from udfs.sandbox.sandbox import SandboxUnavailableError, default_sandbox
from udfs.trajectories.rewards import KNOWN_VERDICTS, UNKNOWN_VERDICTS, grade_response, outcome_of, reward_fault

NUMBER = AnswerContract(type="number", gold="42").canonical()
ONE_WORD = AnswerContract(type="text", gold="Paris", format="one_word").canonical()
JSON = AnswerContract(type="number", gold="42", format="json").canonical()
BROKEN_GOLD = AnswerContract(type="number", gold="a dozen or so").canonical()
BROKEN_GOLD_FORMAT = AnswerContract(type="number", gold="a dozen or so", format="json").canonical()


@pytest.mark.parametrize(
    ("contract", "response", "failure", "names", "verdict", "outcome"),
    [
        (NUMBER, "Answer: 42", None, ["correct"], "correct", 1.0),
        (NUMBER, "Answer: 41", None, ["correct"], "incorrect", 0.0),
        # the candidate's own fault is 0, never null: else it would pay better than being wrong
        (NUMBER, "I would rather not say.", None, ["correct"], "unparsable_pred", 0.0),
        (NUMBER, "", None, ["correct"], "unparsable_pred", 0.0),
        # ours is null, never 0
        (BROKEN_GOLD, "Answer: 42", None, ["correct"], "unparsable_gold", None),
        ("{not json", "Answer: 42", None, ["correct"], "unparsable_gold", None),
        (None, "Answer: 42", "unknown_prompt", ["correct"], "error", None),
        (NUMBER, None, "engine_dead", ["correct"], "error", None),
        (NUMBER, "Answer: 42", "duplicate_sample", ["correct"], "error", None),
        # format tasks: the outcome is the product
        (ONE_WORD, "Paris", None, ["correct", "format", "outcome"], "correct", 1.0),
        (ONE_WORD, "Rome", None, ["correct", "format", "outcome"], "incorrect", 0.0),
        (ONE_WORD, "Answer: Paris", None, ["correct", "format", "outcome"], "incorrect", 0.0),
        (JSON, '{"answer": 42}', None, ["correct", "format", "outcome"], "correct", 1.0),
        (JSON, '{"answer": 41}', None, ["correct", "format", "outcome"], "incorrect", 0.0),
        (JSON, "Answer: 42", None, ["correct", "format", "outcome"], "incorrect", 0.0),
        (BROKEN_GOLD_FORMAT, '{"answer": 42}', None, ["correct", "format", "outcome"], "unparsable_gold", None),
        (JSON, None, "oom", ["correct", "format", "outcome"], "error", None),
    ],
)
def test_law_6(contract, response, failure, names, verdict, outcome):
    rewards = grade_response(contract, response, failure)
    assert [r.reward_name for r in rewards] == names
    assert [r.is_outcome for r in rewards] == [False] * (len(names) - 1) + [True]
    assert [r.weight for r in rewards] == [0.0] * (len(names) - 1) + [1.0]
    assert (rewards[-1].verdict, rewards[-1].value, outcome_of(rewards)) == (verdict, outcome, outcome)
    for reward in rewards:
        assert reward_fault(reward.value, reward.verdict) is None
        assert (reward.verifier_name, reward.verifier_version) == (VERIFIER, VERSION)
        assert reward.verdict not in UNKNOWN_VERDICTS or reward.value is None
        assert reward.verdict not in KNOWN_VERDICTS or reward.value is not None


def test_the_components_of_a_product_say_which_one_failed():
    right, form, outcome = grade_response(JSON, "Answer: 42", None)
    assert (right.value, form.value, outcome.value) == (1.0, 0.0, 0.0)
    assert "wrong_form" in outcome.flags
    wrong, form, outcome = grade_response(JSON, '{"answer": 41}', None)
    assert (wrong.value, form.value, outcome.value) == (0.0, 1.0, 0.0)
    assert "wrong_form" not in outcome.flags


def test_failures_are_named_in_the_flags_and_runs_differ_by_contract():
    assert grade_response(NUMBER, None, "engine_hang")[0].flags == ("engine_hang",)
    runs = {grade_response(c, "Paris", None)[0].verifier_run_id for c in (NUMBER, ONE_WORD, JSON)}
    assert len(runs) == 3


@pytest.mark.parametrize(
    ("value", "verdict", "fault"),
    [
        (1.0, "correct", None),
        (0.0, "incorrect", None),
        (0.5, "partial", None),
        (0.0, "timeout", None),  # the candidate's own endless loop
        (None, "timeout", None),  # ours, after one retry
        (None, "error", None),
        (None, None, "missing"),
        (float("nan"), "correct", "not_finite"),
        (float("inf"), "correct", "not_finite"),
        (1.5, "correct", "out_of_range"),
        (-1.0, "incorrect", "out_of_range"),
        (None, "incorrect", "null_but_known"),
        (None, "unparsable_pred", "null_but_known"),
        (0.0, "unparsable_gold", "value_but_unknown"),
        (0.0, "correct", "correct_without_reward"),
        (1.0, "incorrect", "incorrect_with_reward"),
        (1.0, "timeout", "incorrect_with_reward"),
    ],
)
def test_reward_sanity(value, verdict, fault):
    assert reward_fault(value, verdict) == fault


DOUBLE = CodeContract(
    tests=CodeTests(kind="call", entry_point="double", inputs=("[1]", "[-3]"), outputs=("2", "-6"), public=(0,)), prompt="Double a number."
).canonical()


@pytest.mark.parametrize(
    ("contract", "response", "failure", "verdict", "outcome"),
    [
        pytest.param(DOUBLE, "```python\ndef double(x):\n    return 2 * x\n```", None, "correct", 1.0, id="solved"),
        pytest.param(DOUBLE, "```python\ndef double(x):\n    return x\n```", None, "incorrect", 0.0, id="wrong: the candidate's fault"),
        pytest.param(DOUBLE, "I do not know.", None, "unparsable_pred", 0.0, id="no program: the candidate's fault"),
        pytest.param(DOUBLE, None, "engine_dead", "error", None, id="the infrastructure's fault"),
        pytest.param(DOUBLE.replace('"kind":"call"', '"kind":"none"'), "x", None, "unparsable_gold", None, id="a broken contract is ours"),
    ],
)
def test_a_contract_of_code_is_tried_in_the_sandbox(contract, response, failure, verdict, outcome):
    try:
        default_sandbox()
    except SandboxUnavailableError as error:
        pytest.skip(str(error))
    rows = grade_response(contract, response, failure)
    assert [row.reward_name for row in rows] == ["format", "rules", "public_tests", "hidden_tests", "outcome"]
    assert (rows[-1].verdict, outcome_of(rows)) == (verdict, outcome)
    assert failure is None or {row.flags for row in rows} == {(failure,)}


def test_no_answer_contract_is_taken_for_one_of_code():
    quoting = AnswerContract(type="text", gold='{"tests":{"kind":"call"}}')
    assert [row.reward_name for row in grade_response(quoting.canonical(), 'Answer: {"tests":{"kind":"call"}}', None)] == ["correct"]
