"""Reward rows of code: law 6 as a matrix, shares, what a row tells; the gold self-test."""

from __future__ import annotations

import json

import pytest

from tests.coding_tasks import asserts, contract, sandbox_or_skip
from udfs.coding.rewards import ROWS, VERIFIER, VERSION, grade_code
from udfs.coding.self_test import self_test
from udfs.trajectories.rewards import outcome_of, reward_fault

TASK = contract(
    {"kind": "assert", "entry_point": "f", "code": "assert f(1) == 2\nassert f(5) == 6\nassert f(7) == 8\nassert f(-1) == 0", "public": [0]}
)
RIGHT = "```python\ndef f(x):\n    return x + 1\n```"
HALF = "```python\ndef f(x):\n    return x + 1 if x < 5 else 0\n```"
BROKEN = asserts("assert f(root) == 1", setup="root = Node(1)", entry_point="f")


def rows(task, response):
    made = grade_code(task, response, sandbox_or_skip())
    assert [row.reward_name for row in made] == list(ROWS)
    for row in made:
        assert reward_fault(row.value, row.verdict) is None
        assert (row.verifier_name, row.verifier_version, row.gold_answer) == (VERIFIER, VERSION, None)
        assert (row.is_outcome, row.weight) == ((True, 1.0) if row.reward_name == "outcome" else (False, 0.0))
        assert row.detail is None or json.loads(row.detail)
    assert outcome_of(made) == made[-1].value
    return made


@pytest.mark.parametrize(
    ("task", "response", "values", "verdict"),
    [
        (TASK, RIGHT, [1, 1, 1, 1, 1], "correct"),
        (TASK, "def f(x):\n    return x + 1", [1, 1, 1, 1, 1], "correct"),
        (TASK, HALF, [1, 1, 1, 1 / 3, 0], "incorrect"),
        (TASK, "```python\ndef f(x):\n    return {1: 2, 5: 6, 7: 8, -1: 0}[x]\n```", [1, 0, 1, 1, 0], "incorrect"),
        (TASK, "```python\nimport sys\nsys._getframe().f_back\ndef f(x):\n    return x + 1\n```", [1, 1, 1, 1, 0], "incorrect"),
        (TASK, "I would rather not.", [0, 0, 0, 0, 0], "unparsable_pred"),
        (TASK, "", [0, 0, 0, 0, 0], "unparsable_pred"),
        (TASK, "```python\ndef g(x):\n    return x + 1\n```", [0, 0, 0, 0, 0], "unparsable_pred"),
        (TASK, "```python\nimport os\nos._exit(0)\ndef f(x):\n    return x + 1\n```", [1, 1, 0, 0, 0], "incorrect"),
        # ours: null, never 0
        (TASK, None, [None] * 5, "error"),
        (BROKEN, RIGHT, [1, 1, None, None, None], "unparsable_gold"),
        ('{"type":"code"}', RIGHT, [None] * 5, "unparsable_gold"),
        ('{"tests":{"kind":"call","entry_point":"f"}}', RIGHT, [None] * 5, "unparsable_gold"),
        ("not json", RIGHT, [None] * 5, "unparsable_gold"),
    ],
)
def test_law_6(task, response, values, verdict):
    made = rows(task, response)
    assert [row.value for row in made] == pytest.approx(values)
    assert made[-1].verdict == verdict


def test_what_rows_tell():
    form, rules, public, hidden, outcome = rows(TASK.canonical(), HALF)
    assert [r.kind for r in (form, rules, public, hidden, outcome)] == ["rule", "rule", "execution", "execution", "execution"]
    assert (
        public.tests_passed,
        public.tests_total,
        hidden.tests_passed,
        hidden.tests_total,
        outcome.tests_passed,
        outcome.tests_total,
    ) == (1, 1, 1, 3, 2, 4)
    assert (hidden.verdict, public.verdict, form.sandbox_tier, rules.tests_total) == ("partial", "correct", None, None)
    assert outcome.sandbox_tier == sandbox_or_skip().tier
    assert json.loads(hidden.detail) == {"test": "hidden 1", "what": "wrong", "detail": "wrong answer"}
    assert outcome.extracted_answer == "def f(x):\n    return x + 1 if x < 5 else 0\n"
    assert len({r.verifier_run_id for r in (form, rules, public, hidden, outcome)}) == 1


def test_flags_stand_in_every_row_and_no_tests_of_a_kind_is_skipped():
    made = rows(asserts("assert f(1) == 1", entry_point="f"), "def f(x):\n    import os\n    os._exit(0)")
    assert {row.flags for row in made} == {("died", "exits", "no_code_block")}
    assert [(row.value, row.verdict) for row in made][2:4] == [(None, "skipped"), (0.0, "incorrect")]


def test_true_is_no_one():
    for task in (
        asserts("assert f(3) == 1\nassert f(4) == 1", entry_point="f"),
        contract({"kind": "call", "entry_point": "f", "inputs": ["[3]"], "outputs": ["1"]}),
    ):
        outcome = rows(task, "def f(x):\n    return x > 0")[-1]
        assert (outcome.value, outcome.tests_passed) == (0.0, 0)
        assert "bool_for_number" in outcome.flags
    nested = rows(asserts("assert f(3) == [1, {'a': 0}]", entry_point="f"), "def f(x):\n    return [x > 0, {'a': False}]")[-1]
    assert (nested.value, nested.flags) == (0.0, ("bool_for_number", "no_code_block"))


@pytest.mark.parametrize(
    ("task", "reference", "problem"),
    [
        (TASK, RIGHT, None),
        (TASK, HALF, "reference: test 1 wrong"),
        (TASK, "def f(x):\n    return {1: 2, 5: 6, 7: 8, -1: 0}[x]", "reference: looks like a hack (hard_coded)"),
        (TASK, "no code", "reference: syntax_error"),
        (BROKEN, "class Node:\n    def __init__(self, x): pass\ndef f(x):\n    return 1", "tests: cannot run: setup: NameError: name 'Node' is not defined"),
        (asserts("assert f(3) == 3", entry_point="f"), "def f(x):\n    return x", "weak: a program that echoes its first argument passes every test"),
        (asserts("assert not f(3)", entry_point="f"), "def f(x):\n    return x > 5", "weak: a program that returns None passes every test"),
        (asserts("def never():\n    assert f(3)", entry_point="f"), "def f(x):\n    return x", "tests: code contract (assert): no test at all in code"),
        (asserts("assert f(undefined) == 3", entry_point="f"), "def f(x):\n    return x", "reference: test 0 wrong: the answer does not fit the test: NameError"),
        (contract({"kind": "stdin", "inputs": ["a\n"], "outputs": ["a\n"]}), "print(input())", "weak: a program that echoes its input passes every test"),
        (contract({"kind": "stdin", "inputs": ["1\n"], "outputs": ["2\n"]}), "print(int(input()) + 1)", None),
    ],
)  # fmt: skip
def test_a_task_is_tried_on_itself(task, reference, problem):
    found = self_test(task, reference, sandbox_or_skip())
    assert found.sound is (problem is None)
    assert problem is None or any(said.startswith(problem) for said in found.problems)
