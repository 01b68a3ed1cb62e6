"""Episodes of program ``agent`` over a scripted policy: turns, tokens, bounds, failures, what is graded; the environments are real."""

from __future__ import annotations

import gc
import json
from collections import Counter
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from gpu_workers.engines.engine import Generation
from gpu_workers.engines.options import EngineOptions
from gpu_workers.errors import RefusedRunError
from gpu_workers.programs.agent import AgentProgram, rules_of, sandbox_for
from gpu_workers.programs.host import Host
from gpu_workers.programs.policies import Policies
from gpu_workers.programs.program import Origin
from schemas.environment import Fingerprint
from schemas.handoff import AGENT_SHARD, PART_SCHEMAS
from schemas.ids import content_id, seed_from
from tests.engine_runs import lay_run
from tests.scripted_engine import END, ODD, ScriptedEngine, call, text_of
from udfs.sandbox.sandbox import Sandbox, SandboxUnavailableError
from udfs.store.parts import expected_rows, judge_rows
from udfs.trajectories.turns import turn_seed

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SETTINGS = {"temperature": 0.8, "max_response_tokens": 4000}


@pytest.fixture(scope="module")
def sandbox():
    try:
        return Sandbox.probe()
    except SandboxUnavailableError as error:
        pytest.skip(str(error))


def item(word, environment="python_tool", samples=1, max_turns=6, setting=None, system=""):
    return {
        "prompt_id": content_id("prompt", word), "round": 2, "system": system, "text": word, "question": "", "subject": "", "context": None, "options": "[]",
        "form": "answer_only", "n_samples": samples, "seed": 5, "environment": environment, "setting": json.dumps(setting or {}), "max_turns": max_turns,
    }  # fmt: skip


@pytest.fixture
def engines():
    """The engines that a test used, in order."""
    return []


@pytest.fixture
def play(tmp_path, sandbox, engines):
    """Plays the items of one run; returns the rows."""
    hosts = []

    def run(items, scripts, *, known=True, in_flight=8, engine="scripted", **settings):
        made = ScriptedEngine(scripts, known=known)
        engines.append(made)
        hosts.append(Host(made, EngineOptions(in_flight=in_flight), 30.0))
        laid = lay_run(tmp_path / f"run{len(hosts)}", "agent", engine, {"s0": items}, AGENT_SHARD, SETTINGS | settings)
        program = AgentProgram(laid.plan, hosts[-1], Policies(laid), lambda: NOW, sandbox)
        table = laid.shard_items("s0")
        rows = [row for finished in program.generate(table.to_pylist(), Origin("w7", 1), lambda _: None) for row in finished.rows]
        part = pa.Table.from_pylist(rows, schema=PART_SCHEMAS["agent"])
        assert judge_rows(laid.plan, expected_rows(laid.plan, table), part) is None
        return part.to_pylist()

    yield run
    for host in hosts:
        host.close()


@pytest.fixture
def one(play):
    """Plays one episode of one script; returns its row."""

    def run(replies, environment="python_tool", setting=None, max_turns=6, **settings):
        [row] = play([item("task", environment, setting=setting, max_turns=max_turns)], {"task": replies}, **settings)
        return row

    return run


def statuses(row):
    return [turn["tool_status"] for turn in row["turns"] if turn["role"] == "tool"]


def ended(row):
    return json.loads(row["raw"])["ended"]


def test_an_episode_is_kept_turn_by_turn_with_what_was_drawn_and_seen(one):
    first, second = call("python", code="x = 20") + call("python", code="x + 1"), call("python", code="x * 2")
    row = one([first, second, "The answer is 40."])
    assert [(t["role"], t["tool_name"], t["tool_status"]) for t in row["turns"]] == [
        ("assistant", None, None), ("tool", "python", "ok"), ("tool", "python", "ok"),
        ("assistant", None, None), ("tool", "python", "ok"), ("assistant", None, None),
    ]  # fmt: skip
    assert [t["content"] for t in row["turns"]] == [first, "(no output)", "21", second, "40", "The answer is 40."]
    assert json.loads(row["turns"][0]["tool_calls"]) == [
        {"id": "call_0_0", "name": "python", "arguments": {"code": "x = 20"}},
        {"id": "call_0_1", "name": "python", "arguments": {"code": "x + 1"}},
    ]
    assert row["response_text"] == "The answer is 40."
    assert (row["finish_reason"], row["failure_class"], row["env_retries"], row["worker_id"], row["program"]) == (
        "stop",
        None,
        0,
        "w7",
        "agent",
    )
    assert (ended(row), row["completion_tokens"]) == ("answered", sum(t["completion_tokens"] or 0 for t in row["turns"]))
    where = Fingerprint.model_validate_json(row["environment"])
    assert (where.environment, where.network) == ("python_tool@1", "none")


def test_tokens_are_extended_and_never_made_anew(engines, one):
    row = one([call("python", code="1"), call("python", code="2"), "two"])
    seen = list(row["prompt_token_ids"])
    requests = iter(engines[-1].requests)
    next(requests)
    for turn in row["turns"]:
        if turn["role"] == "assistant" and turn is not row["turns"][0]:
            assert list(next(requests).prompt_token_ids) == seen
        seen += turn["token_ids"]
    own = [t for t in row["turns"] if t["role"] == "assistant"]
    # Each drawn turn holds a token that no text gives back: re-tokenised, it would be gone from the later prompts.
    assert [t["token_ids"][-2:] for t in own] == [[ODD, END]] * 3
    assert seen.count(ODD) == 3
    assert text_of(row["turns"][1]["token_ids"]) == "<user><tool_response>\n1\n</tool_response>|<assistant>"
    assert [t["logprobs"] is None for t in row["turns"]] == [False, True, False, True, False]
    assert row["response_token_ids"] == [i for t in own for i in t["token_ids"]]
    assert len(row["response_logprobs"]) == len(row["weight_versions"]) == len(row["response_token_ids"])


def test_an_engine_that_tells_no_tokens_gets_messages_and_no_tokens_are_made_up(engines, one):
    row = one([call("python", code="1"), "one"], known=False, engine="openai")
    assert (row["response_text"], row["prompt_token_ids"], row["response_token_ids"], row["response_logprobs"]) == ("one", None, None, None)
    assert [t["token_ids"] for t in row["turns"]] == [None, None, None]
    [_, second] = engines[-1].requests
    assert [(m["role"], m["content"]) for m in second.messages[1:]] == [
        ("user", "task"), ("assistant", call("python", code="1")), ("user", "<tool_response>\n1\n</tool_response>"),
    ]  # fmt: skip
    assert '"name":"python"' in second.messages[0]["content"]


def test_native_tools_go_to_the_template_and_calls_of_a_server_are_answered_by_their_ids(engines, one):
    listed = [{"id": "abc", "type": "function", "function": {"name": "python", "arguments": '{"code":"1+1"}'}}]
    made = Generation("", "tool_calls", completion_tokens=5, raw={"tool_calls": listed})
    row = one([made, "two"], known=False, engine="openai", tool_format="native")
    assert [(t["role"], t["content"]) for t in row["turns"]] == [("assistant", ""), ("tool", "2"), ("assistant", "two")]
    first, second = engines[-1].requests
    assert first.tools[0]["function"]["name"] == "python"
    assert [m["role"] for m in first.messages] == ["user"]
    assert second.messages[1]["tool_calls"] == listed
    assert second.messages[2] == {"role": "tool", "tool_call_id": "abc", "content": "2"}


def test_a_prompt_that_does_not_begin_with_what_was_seen_leaves_the_observations_without_tokens(one, monkeypatch):
    monkeypatch.setattr(ScriptedEngine, "extend", lambda *_: None)
    row = one([call("python", code="1"), "one"])
    assert json.loads(row["raw"])["retokenised"] is True
    assert [t["token_ids"] is None for t in row["turns"]] == [False, True, False]


@pytest.mark.parametrize(
    ("replies", "settings", "end", "told", "finish"),
    [
        (["done"], {}, "answered", [], "stop"),
        (
            [call("python", code="1"), call("python", code="2"), call("python", code="3")],
            {"max_turns": 2},
            "max_turns",
            ["ok", "ok"],
            "length",
        ),
        ([call("python", code="'" + "x" * 90 + "'")], {"max_response_tokens": 100}, "token_budget", [], "length"),
        ([call("python", code="1")], {"max_response_tokens": 180}, "token_budget", ["ok", "ok"], "length"),
        ([call("python", code="7")], {}, "loop", ["ok", "ok", "loop"], "stop"),
        ([call("python", code="7")], {"loop_after": 2}, "loop", ["ok", "loop"], "stop"),
        (["<tool_call>{}</tool_call>"], {}, "malformed_call", ["malformed_call"] * 3, "stop"),
        ([call("shell", code="7"), call("python", code="7"), "ok"], {}, "answered", ["malformed_call", "ok"], "stop"),
        ([call("python", code="1/0"), "ok"], {}, "answered", ["tool_error"], "stop"),
    ],
)
def test_what_the_policy_does_ends_its_episode_within_bounds_and_is_graded(one, replies, settings, end, told, finish):
    row = one(replies, **settings)
    assert (ended(row), statuses(row), row["finish_reason"]) == (end, told, finish)
    # Its own doing: no failure, and a text that a grader can give 0 to (law 6).
    assert row["failure_class"] is None
    own = [t for t in row["turns"] if t["role"] == "assistant"]
    assert row["response_text"] == own[-1]["content"]
    assert sum(t["completion_tokens"] for t in own) <= settings.get("max_response_tokens", 4000)


def test_what_is_handed_in_is_graded_and_ends_the_episode(one):
    setting = {"entry_point": "f", "public_tests": ["assert f(1) == 2"]}
    tried, handed_in = call("run_tests", code="def f(x): return 2"), call("submit", code="def f(x): return x + 1")
    row = one([tried, handed_in, "never said"], "python_tests", setting)
    assert row["response_text"] == "def f(x): return x + 1"
    assert (ended(row), statuses(row)) == ("submitted", ["ok", "ok"])
    assert "1 of 1 public tests passed" in row["turns"][1]["content"]
    assert row["turns"][-1]["content"] == "Handed in."


def test_a_question_is_answered_in_one_turn_and_needs_no_sandbox(one):
    row = one([call("python", code="1") + " Answer: 3"], "question_answering")
    assert [t["role"] for t in row["turns"]] == ["assistant"]
    assert (row["turns"][0]["tool_calls"], ended(row)) == (None, "answered")
    assert Fingerprint.model_validate_json(row["environment"]).tier == "-"
    assert sandbox_for({"environments": ["question_answering"]}) is None


def test_a_huge_observation_is_cut_and_that_is_noted(one):
    row = one([call("python", code="print('y' * 10**7)"), "long"], setting={"limits": {"observation_chars": 300}})
    text = row["turns"][1]["content"]
    assert len(text) < 400
    assert "characters left out]" in text
    assert json.loads(row["raw"])["observation_truncated"] == [1]


def test_seeds_belong_to_prompt_sample_and_turn(engines, play, one):
    row = one([call("python", code="1"), "x"])
    assert row["seed"] == seed_from(5, row["prompt_id"], 0, "policy-0")
    assert [request.seed for request in engines[-1].requests] == [turn_seed(row["seed"], k) for k in range(2)]
    rows = play([item("task", samples=5)], {"task": [call("python", code="import random; random.random()"), "x"]})
    assert len({row["seed"] for row in rows}) == 5
    drawn = [row["turns"][1]["content"] for row in rows]
    assert len(set(drawn)) == 5
    again = play([item("task", samples=5)], {"task": [call("python", code="import random; random.random()"), "x"]})
    assert [row["turns"][1]["content"] for row in again] == drawn


@pytest.mark.parametrize(
    ("made", "turn", "failure", "text"),
    [
        (Generation.failed("engine_error", "why"), 0, "engine_error", None),
        (Generation.failed("engine_error", "why"), 1, "engine_error", None),
        (Generation.failed("prompt_invalid", "the prompt is longer than the maximum model length of 128"), 0, "prompt_invalid", None),
        # It has filled its context by itself.
        (
            Generation.failed("prompt_invalid", "the prompt is longer than the maximum model length of 128"),
            1,
            None,
            call("python", code="1"),
        ),
        (Generation.failed("prompt_invalid", "role tool is unknown"), 1, "prompt_invalid", None),
    ],
)
def test_failures_of_the_engine_are_declared_and_keep_what_was_said_before(one, made, turn, failure, text):
    row = one([*[call("python", code="1")] * turn, made])
    assert (row["failure_class"], row["response_text"]) == (failure, text)
    assert len(row["turns"]) == 2 * turn + (failure is not None)
    if failure is None:
        assert (ended(row), row["finish_reason"]) == ("context_full", "length")
    else:
        assert (row["response_token_ids"], json.loads(row["raw"])["reason"]) == (None, made.reason)
        assert row["turns"][-1]["content"] is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [({"environment": "shell"}, "there is no environment shell"), ({"setting": "{"}, "not JSON"), ({"max_turns": 0}, "at least 1")],
)
def test_a_broken_item_is_the_planners_fault(play, change, reason):
    [row] = play([item("task") | change], {"task": ["x"]})
    assert (row["failure_class"], row["turns"], row["response_text"]) == ("prompt_invalid", None, None)
    assert reason in json.loads(row["raw"])["reason"]


def test_text_that_is_no_unicode_reaches_no_file(one):
    row = one(
        [
            "\ud800" + call("python", code="chr(0xD800) + chr(0)"),
            '<tool_call>{"name":"python","arguments":{"code":"\\ud800"}}</tool_call>',
            "\ud800",
        ]
    )
    assert statuses(row) == ["ok", "malformed_call"]
    assert row["response_text"] == "?"


def test_fifty_episodes_at_once_do_not_mix(play):
    words = [f"word{k:02d}" for k in range(10)]
    scripts = {w: [call("python", code=f"x = '{w}'"), call("python", code="x"), f"It was {w}."] for w in words}
    rows = play([item(w, samples=5, setting={"limits": {"call_seconds": 60.0}}) for w in words], scripts, in_flight=50)
    assert Counter((row["turns"][3]["content"], row["response_text"]) for row in rows) == {(f"'{w}'", f"It was {w}."): 5 for w in words}
    assert {row["failure_class"] for row in rows} == {None}


@pytest.mark.parametrize("settings", [{"tool_format": "xml"}, {"env_attempts": 0}, {"loop_after": -1}])
def test_settings_by_which_no_episode_can_be_played_are_refused(settings):
    with pytest.raises(RefusedRunError, match=next(iter(settings))):
        rules_of(SETTINGS | settings)


def test_a_program_that_is_let_go_closes_its_engine_at_once(tmp_path, sandbox):
    # At the interpreter's exit it would be too late: multiprocessing waits there for the engine's processes before anything is closed.
    engine = ScriptedEngine({"task": [call("python", code="1"), "x"]})
    laid = lay_run(tmp_path, "agent", "scripted", {"s0": [item("task")]}, AGENT_SHARD, SETTINGS)
    program = AgentProgram(laid.plan, Host(engine, EngineOptions(in_flight=8), 30.0), Policies(laid), lambda: NOW, sandbox)
    gc.disable()
    try:
        assert len(list(program.generate(laid.shard_items("s0").to_pylist(), Origin("w", 1), lambda _: None))) == 1
        del program
        assert engine.closed
    finally:
        gc.enable()
