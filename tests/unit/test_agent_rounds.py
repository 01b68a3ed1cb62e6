"""What an agent is given of its task: public tests that stand alone, and nothing that a hidden test is made of."""

from __future__ import annotations

import json
from typing import get_args

import pyarrow as pa
import pytest

from gpu_workers.environments.environment import ToolCall
from gpu_workers.environments.python_tests import PythonTestsSetting
from gpu_workers.environments.python_tool import PythonTool
from gpu_workers.environments.registry import SANDBOXED, build_environment
from gpu_workers.environments.session import SessionSetting
from gpu_workers.programs.agent import sandbox_for
from jobs.config import load_config
from jobs.handoff.spark_launcher import _profile
from schemas.code import CodeContract
from schemas.conf_rounds import AgentLimits, EnvironmentName
from schemas.contract import AnswerContract
from tests.coding_tasks import sandbox_or_skip
from udfs.agents.public import MOST_TESTS
from udfs.agents.setting import PLACED, TASKS, place_batches, setting_of
from udfs.trajectories.rewards import grade_response

LIMITS = load_config().agent.limits.model_dump(mode="json")
#: Stands in everything that no agent may see.
SECRET = "7654321"  # noqa: S105 - a number that is easy to find


def code(prompt="", **tests):
    return CodeContract.of({"tests": {"entry_point": "f", **tests}, "prompt": prompt}).canonical()


SHARED_DATA = f"EXPECTED = [2, {SECRET}]\ndef reference(x): return x + {SECRET}\nimport math"
CHECK = f"""METADATA = {{'author': {SECRET}}}
def check(candidate):
    table = [{SECRET}]
    assert candidate(1) == 2
    assert candidate(2) == table[0]
    assert all(candidate(i) == i + 1 for i in range(3))
    assert candidate(3) == {SECRET}
"""
PROMPT = "from typing import List\n\ndef helper(x):\n    return x\n\ndef f(x: int) -> int:\n    '''Adds one.'''\n"

#: contract, setup, public tests, how many are left out.
SHOWN = {
    "one of two": (code(kind="assert", code=f"assert f(1) == 2\nassert f({SECRET}) == 3", public=[0]), "", ["assert f(1) == 2"], 0),
    "out of order": (code(kind="assert", code="assert f(1) == 2\nassert f(2) == 3", public=[1, 0]), "", ["assert f(1) == 2", "assert f(2) == 3"], 0),
    "imports that are used": (
        code(kind="assert", setup=f"import math\nimport os\nX = {SECRET}", code=f"assert math.isclose(f(1), 2)\nassert f(2) == {SECRET}", public=[0]),
        "import math", ["assert math.isclose(f(1), 2)"], 0,
    ),
    "data and helpers of hidden tests": (
        code(kind="assert", setup=SHARED_DATA, code="assert f(0) == 1\nassert f(1) == EXPECTED[0]\nassert f(2) == reference(2)", public=[0, 1, 2]),
        "", ["assert f(0) == 1"], 2,
    ),
    "check(candidate)": (
        code(PROMPT, kind="assert", code=CHECK, public=[0, 1, 2]), "from typing import List\n\ndef helper(x):\n    return x",
        ["assert f(1) == 2", "assert all((f(i) == i + 1 for i in range(3)))"], 1,
    ),
    "what stands before a test": (code(kind="assert", code=f"x = {SECRET}\nassert f(1) == 2\nassert f(2) == x", public=[0]), "", ["assert f(1) == 2"], 0),
    "stored, in JSON": (
        code(kind="call", inputs=["[[1, true]]", f"[{SECRET}]"], outputs=["[2, null]", SECRET], tuple_as_list=True, public=[0]),
        "import json", ["assert json.loads(json.dumps(f([1, True]))) == [2, None]"], 0,
    ),
    "stored, as literals": (
        code(kind="call", encoding="literal", inputs=["[(1, 'a')]", f"[{SECRET}]"], outputs=["(1,)", SECRET], public=[0]), "", ["assert f((1, 'a')) == (1,)"], 0,
    ),
    "within a tolerance": (
        code(kind="call", inputs=["[1]", f"[{SECRET}]"], outputs=["2.5", f"{SECRET}.0"], tolerance=0.001, public=[0]), "",
        ["assert abs(f(1) - 2.5) <= 0.001 * max(1.0, abs(2.5))"], 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(SHOWN))
def test_public_tests_are_shown_alone(name):
    contract, setup, tests, left_out = SHOWN[name]
    assert (SECRET in contract) == (name != "out of order")
    placed = setting_of("python_tests", contract, LIMITS)
    setting = PythonTestsSetting.model_validate(json.loads(placed.setting))  # the environment's own reading, which knows no other field
    assert (setting.entry_point, setting.setup, list(setting.public_tests), placed.tests_left_out) == ("f", setup, tests, left_out)
    for environment in ("python_tests", "workspace", "python_tool"):
        assert SECRET not in setting_of(environment, contract, LIMITS).setting


@pytest.mark.parametrize("name", list(SHOWN))
def test_public_tests_mean_what_grading_means(name):
    """A right function passes every public test that is shown, a wrong one fails them all: the statements are Python that runs."""
    _, setup, tests, _ = SHOWN[name]
    right = {
        "imports that are used": "lambda x: x + 1",
        "stored, in JSON": "lambda x: (2, None)",
        "stored, as literals": "lambda x: (1,)",
        "within a tolerance": "lambda x: 2.5001",
    }
    for source, expected in ((right.get(name, "lambda x: x + 1"), True), ("lambda x: -3", False)):
        space: dict[str, object] = {}
        exec(f"{setup}\nf = {source}", space)  # noqa: S102 - of this file alone
        for test in tests:
            try:
                exec(test, space)  # noqa: S102
                passed = True
            except AssertionError:
                passed = False
            assert passed == expected


@pytest.mark.parametrize(
    ("environment", "contract", "reason"),
    [
        ("python_tests", AnswerContract(type="number", gold=SECRET).canonical(), "not_code"),
        ("python_tests", code(kind="assert", code=f"assert f(1) == {SECRET}"), "no_public_tests"),
        ("python_tests", code(kind="assert", setup=f"X = {SECRET}", code="assert f(1) == X", public=[0]), "no_public_tests"),
        ("python_tests", code(kind="stdin", entry_point=None, inputs=["1\n"], outputs=[f"{SECRET}\n"], public=[0]), "no_function"),
        ("python_tests", code(kind="assert", code="assert f(1) == 1").replace("assert f(1) == 1", "assert"), "broken_contract"),
        ("python_tool", AnswerContract(type="number", gold=SECRET).canonical(), None),
        ("workspace", code(kind="assert", code=f"assert f(1) == {SECRET}"), None),
        ("question_answering", code(kind="assert", code=f"assert f(1) == {SECRET}"), None),
    ],
)
def test_what_an_environment_cannot_take_is_named_and_no_gold_is_seen(environment, contract, reason):
    placed = setting_of(environment, contract, LIMITS)
    assert (placed.setting is None, placed.unplaced) == (reason is not None, reason)
    assert SECRET not in (placed.setting or "")


def test_texts_of_programs_that_are_run_as_a_whole_lie_in_the_workspace():
    contract = code(kind="stdin", entry_point=None, inputs=["1\n", f"{SECRET}\n"], outputs=["2\n", "3\n"], public=[0])
    setting = SessionSetting.model_validate(json.loads(setting_of("workspace", contract, LIMITS).setting))
    assert setting.files == {"public_tests/0.in": "1\n", "public_tests/0.out": "2\n"}


def test_more_tests_than_an_environment_takes_are_counted():
    contract = code(
        kind="call", inputs=[f"[{k}]" for k in range(MOST_TESTS + 3)], outputs=["1"] * (MOST_TESTS + 3), public=list(range(MOST_TESTS + 3))
    )
    placed = setting_of("python_tests", contract, LIMITS)
    assert (len(json.loads(placed.setting)["public_tests"]), placed.tests_left_out) == (MOST_TESTS, 3)
    PythonTestsSetting.model_validate(json.loads(placed.setting))


def test_names_and_limits_are_those_of_the_environments():
    assert set(AgentLimits.model_fields) == set(SessionSetting.model_fields["limits"].annotation.model_fields)
    assert set(get_args(EnvironmentName)) == {*SANDBOXED, "question_answering"}
    held = build_environment("question_answering", setting_of("question_answering", "{}", LIMITS).setting, None)
    assert held.tools == ()


def test_only_kinds_of_task_with_an_environment_are_placed():
    rows = [
        {"prompt_id": "a", "task_type": "code", "contract": SHOWN["one of two"][0]},
        {"prompt_id": "b", "task_type": "code", "contract": code(kind="assert", code="assert f(1) == 2")},
        {"prompt_id": "c", "task_type": "fact", "contract": AnswerContract(type="number", gold="1").canonical()},
    ]
    [made] = place_batches([pa.RecordBatch.from_pylist(rows, schema=TASKS)], {"code": "python_tests"}, LIMITS)
    assert made.schema == PLACED
    assert [(row["prompt_id"], row["environment"], row["unplaced"]) for row in made.to_pylist()] == [
        ("a", "python_tests", None),
        ("b", None, "no_public_tests"),
        ("c", None, None),
    ]


def test_an_episode_may_print_more_than_one_short_run():
    """Six times 40,000 bytes past the tool's own Python are more than the 64 KiB of a single run, and the interpreter lives on."""
    held = PythonTool("{}", sandbox_or_skip())
    try:
        held.reset(1)
        for number in range(6):
            seen = held.step(
                ToolCall(str(number), "python", {"code": "import os\nn = globals().get('n', 0) + 1\nos.write(1, b'x' * 40_000)\nn"})
            )
            assert (seen.status, seen.observation.text.split("\n")[0]) == ("ok", str(number + 1))
    finally:
        held.close()


@pytest.mark.parametrize(("allowed", "tiers"), [(False, False), (True, True)])
def test_a_weak_sandbox_is_asked_for_where_it_is_allowed_alone(monkeypatch, allowed, tiers):
    asked = []
    monkeypatch.setattr("udfs.coding.rewards.default_sandbox", lambda *, allow_weaker: asked.append(allow_weaker) or sandbox_or_skip())
    monkeypatch.setattr("gpu_workers.programs.agent.default_sandbox", lambda *, allow_weaker: asked.append(allow_weaker))
    contract = SHOWN["one of two"][0]
    grade_response(contract, "def f(x):\n    return x + 1\n", None, allow_weak_sandbox=allowed)
    sandbox_for({"allow_weak_sandbox": True} if allowed else {})
    assert asked == [tiers, tiers]


def test_what_a_worker_asks_spark_for():
    """The request of [work] gpus, as Spark is given it; a whole worker takes one core."""
    request = _profile(load_config(overrides=["work.gpus=0.5"]).work)
    assert {name: wanted.amount for name, wanted in request.taskResources.items()} == {"cpus": 1.0, "gpu": 0.5}
    assert request.executorResources == {}  # executors are what the cluster gives them
    assert _profile(load_config(overrides=["work.gpus=2"]).work).taskResources["gpu"].amount == 2.0
    assert _profile(load_config().work) is None
