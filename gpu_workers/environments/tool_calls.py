"""Calls of tools in what a policy says.

Text: each call is ``<tool_call>`` JSON ``</tool_call>``, the JSON an object ``{"name": ..., "arguments": {...}}`` (the format that Hermes
models brought up, and that the chat templates of Qwen and SmolLM use). Several calls may follow each other in a turn. Whatever stands
before the last ``</think>`` is reasoning, in which nothing is called. Servers that take calls out of the text themselves give OpenAI's
``tool_calls`` instead, whose arguments are JSON in a string.

JSON is read strictly: no NaN, no key twice, nothing after the value; a call of an unknown tool, or with arguments that do not fit, is
malformed, and the policy is told why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpu_workers.environments.environment import Tool, ToolCall

OPEN, CLOSE = "<tool_call>", "</tool_call>"
#: Calls taken from one turn.
MAX_CALLS = 8
#: Characters of one call.
MAX_CALL = 1 << 18

_AFTER_THINKING = re.compile(r".*</think>", re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*")
_TYPES: dict[str, tuple[type, ...]] = {"string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,)}


@dataclass(frozen=True)
class Malformed:
    """What was meant as a call and is none.

    Attributes:
        id: as of a call.
        name: of the tool, as far as it can be told.
        reason: for the policy.
    """

    id: str
    name: str | None
    reason: str


Found = ToolCall | Malformed


class _StrictError(ValueError):
    """JSON that is not strict."""


def _no_constant(name: str) -> Any:
    raise _StrictError(f"{name} is not JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _StrictError("a key stands twice in one object")
    return found


def _number(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _StrictError(f"the number {text[:20]} is too large")
    return value


_STRICT = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_once, parse_float=_number)


def calls_in_text(text: str, tools: Sequence[Tool], turn: int) -> list[Found]:
    """The calls in a policy's text, in order; empty where it calls nothing.

    Args:
        text: as generated.
        tools: those there are.
        turn: ordinal of the turn, from 0; part of the calls' ids.
    """
    thought = _AFTER_THINKING.match(text)
    at = thought.end() if thought else 0
    found: list[Found] = []
    while (start := text.find(OPEN, at)) >= 0:
        ident = f"call_{turn}_{len(found)}"
        if len(found) == MAX_CALLS:
            found.append(Malformed(ident, None, f"more than {MAX_CALLS} calls in one turn; the further ones were not made"))
            break
        value, at, reason = _read(text, start + len(OPEN))
        found.append(Malformed(ident, None, reason) if reason else _checked(ident, value, tools))
    return found


def calls_of_server(listed: Any, tools: Sequence[Tool], turn: int) -> list[Found]:
    """The calls in OpenAI's ``tool_calls``; a server's own ids are kept where they are usable."""
    if not isinstance(listed, list):
        return [Malformed(f"call_{turn}_0", None, "tool_calls is not a list")]
    found: list[Found] = []
    for k, entry in enumerate(listed[:MAX_CALLS]):
        ident = f"call_{turn}_{k}"
        function = entry.get("function") if isinstance(entry, dict) else None
        if not isinstance(function, dict):
            found.append(Malformed(ident, None, "a tool call without a function"))
            continue
        given = entry.get("id")
        if isinstance(given, str) and 0 < len(given) <= 128 and given.isascii() and given.isprintable():
            ident = given
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            arguments, end, reason = _value(arguments or "{}", 0)
            if not reason and (function["arguments"] or "{}")[end:].strip(" \t\r\n"):
                reason = "something follows the arguments"
            if reason:
                found.append(Malformed(ident, _name(function.get("name")), reason))
                continue
        found.append(_checked(ident, {"name": function.get("name"), "arguments": arguments}, tools))
    if len(listed) > MAX_CALLS:
        found.append(
            Malformed(f"call_{turn}_{MAX_CALLS}", None, f"more than {MAX_CALLS} calls in one turn; the further ones were not made")
        )
    return found


def _read(text: str, start: int) -> tuple[Any, int, str]:
    """Value of the call that begins at ``start``, where to read on, and what is wrong with it."""
    value, end, reason = _value(text, start)
    if not reason:
        end = _SPACE.match(text, end).end()  # type: ignore[union-attr]  # it matches the empty text
        if text.startswith(CLOSE, end):
            return value, end + len(CLOSE), ""
        reason = f"the JSON of a call must be followed by {CLOSE}"
    close = text.find(CLOSE, start)
    return None, close + len(CLOSE) if close >= 0 else len(text), reason


def _value(text: str, start: int) -> tuple[Any, int, str]:
    """One JSON value, where it ends, and what is wrong with it."""
    begin = _SPACE.match(text, start).end()  # type: ignore[union-attr]  # it matches the empty text
    try:
        value, end = _STRICT.raw_decode(text, begin)
        text[begin:end].encode("utf-8")
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return None, begin, "half of a surrogate pair is no character"
    except (ValueError, RecursionError) as error:
        return None, begin, f"not valid JSON: {str(error)[:200]}"
    if end - begin > MAX_CALL:
        return None, begin, f"a call is longer than {MAX_CALL} characters"
    return value, end, ""


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and len(value) <= 128 and value.isprintable() else None


def _checked(ident: str, value: Any, tools: Sequence[Tool]) -> Found:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return Malformed(ident, None, 'a call is an object {"name": ..., "arguments": {...}}')
    if further := sorted(value.keys() - {"name", "arguments", "id"}):
        return Malformed(ident, _name(value["name"]), f"a call has no field {', '.join(further)[:100]}")
    tool = next((tool for tool in tools if tool.name == value["name"]), None)
    if tool is None:
        return Malformed(
            ident, _name(value["name"]), f"there is no tool of that name; there are: {', '.join(tool.name for tool in tools) or 'none'}"
        )
    arguments = value.get("arguments", {})
    if not isinstance(arguments, dict):
        return Malformed(ident, tool.name, "arguments must be an object")
    reason = misfit(arguments, tool.parameters)
    return Malformed(ident, tool.name, reason) if reason else ToolCall(ident, tool.name, arguments)


def misfit(arguments: dict[str, Any], schema: dict[str, Any]) -> str | None:
    """Why arguments do not fit the schema of a tool; None where they do."""
    properties: dict[str, Any] = schema.get("properties", {})
    if missing := [name for name in schema.get("required", ()) if name not in arguments]:
        return f"the argument {', '.join(missing)} is missing"
    if unknown := sorted(arguments.keys() - properties.keys()):
        return f"there is no argument {', '.join(unknown)[:100]}"
    for name, value in arguments.items():
        kind = properties[name]["type"]
        if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
            return f"the argument {name} must be of type {kind}"
    return None
