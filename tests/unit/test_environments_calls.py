"""Calls in a policy's words: what is one, what is malformed and why, how observations are cut."""

from __future__ import annotations

import json

import pytest

from gpu_workers.environments.environment import Tool, ToolCall, object_of, shown
from gpu_workers.environments.tool_calls import MAX_CALL, MAX_CALLS, Malformed, calls_in_text, calls_of_server, misfit
from tests.scripted_engine import call

MIXED = {
    "type": "object",
    "properties": {"s": {"type": "string"}, "i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"}},
    "required": ["s"],
}
TOOLS = (Tool("python", "runs", object_of(code="code")), Tool("mixed", "takes much", MIXED))


def read(text):
    return calls_in_text(text, TOOLS, 4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no call at all", []),
        (call("python", code="1"), [{"code": "1"}]),
        ('I think\n<tool_call>{"name":"python","arguments":{"code":"a"}}</tool_call> then', [{"code": "a"}]),
        (call("python", code="1") + "\n" + call("python", code="2"), [{"code": "1"}, {"code": "2"}]),
        # The closing tag inside a string does not end the call; nor does an opening one begin another.
        (call("python", code="print('</tool_call><tool_call>')"), [{"code": "print('</tool_call><tool_call>')"}]),
        ("<think>" + call("python", code="no") + "</think>" + call("python", code="yes"), [{"code": "yes"}]),
        ("<think>" + call("python", code="only a thought") + "</think> done", []),
        (call("python", code="Zürich 北京"), [{"code": "Zürich 北京"}]),
        (call("mixed", s="", i=-3, n=2.5, b=True), [{"s": "", "i": -3, "n": 2.5, "b": True}]),
    ],
)
def test_calls_are_read_from_text(text, expected):
    found = read(text)
    assert [c.arguments for c in found] == expected
    assert [c.id for c in found] == [f"call_4_{k}" for k in range(len(found))]


@pytest.mark.parametrize(
    ("inner", "reason"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("{'name': 'python'}", "not valid JSON"),
        ('{"name":"python","arguments":{"code":NaN}}', "NaN is not JSON"),
        ('{"name":"mixed","arguments":{"s":"","n":1e999}}', "too large"),
        ('{"name":"python","name":"python","arguments":{"code":""}}', "twice"),
        ('{"name":"python","arguments":{"code":""}} {}', "must be followed"),
        ('{"name":"mixed","arguments":{"s":"","i":' + "9" * 5000 + "}}", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ('["python"]', "a call is an object"),
        ('{"name":3}', "a call is an object"),
        ('{"name":"shell","arguments":{}}', "there are: python, mixed"),
        ('{"name":"python","arguments":[]}', "must be an object"),
        ('{"name":"python","arguments":{}}', "code is missing"),
        ('{"name":"python","arguments":{"code":"","mode":"x"}}', "no argument mode"),
        ('{"name":"python","arguments":{"code":1}}', "of type string"),
        ('{"name":"mixed","arguments":{"s":"","i":true}}', "of type integer"),
        ('{"name":"mixed","arguments":{"s":"","i":1.0}}', "of type integer"),
        ('{"name":"mixed","arguments":{"s":"","b":0}}', "of type boolean"),
        ('{"name":"python","arguments":{"code":""},"tool":"x"}', "no field tool"),
        ('{"name":"python","arguments":{"code":"\\ud800"}}', "surrogate"),
        ('{"name":"python","arguments":{"code":"' + "x" * MAX_CALL + '"}}', "longer than"),
    ],
)
def test_what_is_malformed_is_said(inner, reason):
    [found] = read(f"<tool_call>{inner}</tool_call>")
    assert isinstance(found, Malformed)
    assert reason in found.reason
    assert len(found.reason) < 400


def test_a_malformed_call_does_not_hide_the_next_one_and_an_open_one_ends_the_text():
    found = read("<tool_call>{]</tool_call>" + call("python", code="1"))
    assert [type(c) for c in found] == [Malformed, ToolCall]
    [found] = read('<tool_call>{"name":"python","arguments":{"code":"1"}}')
    assert "must be followed by </tool_call>" in found.reason
    found = read(call("python", code="1") * (MAX_CALLS + 5))
    assert [type(c) for c in found] == [ToolCall] * MAX_CALLS + [Malformed]


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ([{"id": "x7", "type": "function", "function": {"name": "python", "arguments": '{"code": "1"}'}}], [("x7", {"code": "1"})]),
        ([{"function": {"name": "python", "arguments": {"code": "1"}}}], [("call_4_0", {"code": "1"})]),
        ([{"id": "é" * 3, "function": {"name": "python", "arguments": '{"code": "1"} '}}], [("call_4_0", {"code": "1"})]),
        ([{"id": "a", "function": {"name": "python", "arguments": ""}}], [("a", "code is missing")]),
        ([{"id": "a", "function": {"name": "python", "arguments": "{"}}], [("a", "not valid JSON")]),
        ([{"id": "a", "function": {"name": "python", "arguments": '{"code": "1"} 2'}}], [("a", "follows")]),
        ([{"id": "a", "function": {"name": "python", "arguments": "null"}}], [("a", "must be an object")]),
        ([{"id": "a"}, 3], [("call_4_0", "without a function"), ("call_4_1", "without a function")]),
        ("x", [("call_4_0", "not a list")]),
    ],
)
def test_calls_of_a_server(listed, expected):
    found = calls_of_server(listed, TOOLS, 4)
    assert [c.id for c in found] == [ident for ident, _ in expected]
    for made, (_, wanted) in zip(found, expected, strict=True):
        assert made.arguments == wanted if isinstance(wanted, dict) else wanted in made.reason


def test_tools_are_described_as_openai_function_schemas():
    assert TOOLS[0].described() == {
        "type": "function",
        "function": {
            "name": "python",
            "description": "runs",
            "parameters": {
                "type": "object",
                "properties": {"code": {"type": "string", "description": "code"}},
                "required": ["code"],
                "additionalProperties": False,
            },
        },
    }
    assert misfit(json.loads('{"code": "x"}'), TOOLS[0].parameters) is None


@pytest.mark.parametrize(
    ("text", "limit", "left_out", "expected"),
    [
        ("abc", 3, 0, ("abc", False)),
        ("abc", 3, 7, ("abc\n[7 further characters left out]", True)),
        ("a" * 6 + "b" * 4, 5, 0, ("aaa\n[5 characters left out]\nbb", True)),
        ("a\0b\ud800", 9, 0, ("a\ufffdb?", False)),
    ],
)
def test_an_observation_keeps_both_ends_and_says_what_is_missing(text, limit, left_out, expected):
    seen = shown(text, limit, left_out=left_out)
    assert (seen.text, seen.truncated) == expected
