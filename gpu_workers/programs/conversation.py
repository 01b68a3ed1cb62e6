"""The messages and the tokens of one episode, side by side: what the engine is given next, and the rows of its turns.

Tokens are extended, never made anew: the next prompt is the last one, what was drawn after it, and what the chat template writes for the
observations (R§6). Whether the engine kept to that is read off the prompt that it reports: only where it begins with all that was seen
and drawn so far, the rest of it is known to be the observations' tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from gpu_workers.engines.engine import Generation, Request, Sampling
from gpu_workers.environments.environment import Observation, Tool, ToolCall
from gpu_workers.environments.tool_calls import Found
from gpu_workers.programs.program import Row
from schemas.environment import ToolStatus
from schemas.ids import canonical_json

#: ``text``: tools are described in the system message and answered in the user's, for any model. ``native``: they are handed to the chat
#: template or to the server, which must know them.
ToolFormat = Literal["text", "native"]


class Speaker(Protocol):
    """What an episode needs of an engine; see :class:`gpu_workers.engines.engine.Engine`."""

    async def generate(self, request: Request) -> Generation:
        """Draw once."""

    def extend(self, token_ids: tuple[int, ...], messages: tuple[dict[str, Any], ...]) -> tuple[int, ...] | None:
        """The prompt of the next turn as tokens."""


_HOW = """You can use tools. To call one, write a JSON object between <tool_call> and </tool_call>:
<tool_call>
{"name": "the tool", "arguments": {"an argument": "its value"}}
</tool_call>
You may make several calls in one turn. What they return comes back between <tool_response> and </tool_response>.
A turn without a call is your final answer.
Tools, as JSON schemas:
"""


def clean(text: str) -> str:
    """Valid Unicode: halves of surrogate pairs, which JSON can spell, become replacement characters."""
    return text.encode("utf-8", "replace").decode("utf-8")


class Conversation:
    """One episode's talk.

    Attributes:
        turns: rows of schemas.bronze.rollouts.TURNS.
        seconds: how long each of them took.
        opening: what came of the first generation: its prompt is the episode's.
        truncated: positions in ``turns`` of observations that were cut.
        retokenised: an engine's prompt did not begin with what was seen and drawn before.
    """

    def __init__(self, engine: Speaker, system: str, user: str, tools: Sequence[Tool], tool_format: ToolFormat) -> None:
        self._engine, self._native = engine, tool_format == "native"
        self._tools = tuple(tool.described() for tool in tools)
        if self._tools and not self._native:
            system = "\n\n".join(part for part in (system, _HOW + "\n".join(map(canonical_json, self._tools))) if part)
        self._messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
        self._messages.append({"role": "user", "content": user})
        self.turns: list[Row] = []
        self.seconds: list[float] = []
        self.opening: Generation | None = None
        self.truncated: list[int] = []
        self.retokenised = False
        self._next: tuple[int, ...] | None = None
        self._seen: tuple[int, ...] | None = None

    @property
    def prompt_text(self) -> str:
        """The prompt: as the engine rendered it, else its messages."""
        if self.opening is not None and self.opening.prompt_text is not None:
            return clean(self.opening.prompt_text)
        return clean(
            "\n\n".join(f"{message['role']}: {message['content']}" for message in self._messages[:2] if message["role"] != "assistant")
        )

    def request(self, key: str, seed: int, sampling: Sampling, salt: str) -> Request:
        """The next draw."""
        if self._next is not None:
            return Request(key, seed, sampling, prompt_token_ids=self._next, salt=salt)
        return Request(key, seed, sampling, messages=tuple(self._messages), salt=salt, tools=self._tools if self._native else ())

    def took(self, made: Generation, calls: Sequence[Found]) -> None:
        """Take what was drawn, and the calls in it; a failed draw is a turn without content."""
        self.opening = self.opening or made
        prompt = made.prompt_token_ids if made.prompt_token_ids is not None else self._next
        self._place(prompt)
        self._seen = None if prompt is None or made.token_ids is None else prompt + made.token_ids
        self._next = None
        self.turns.append({
            "role": "assistant",
            "content": None if made.text is None else clean(made.text),
            "tool_calls": _listed(calls),
            "tool_name": None,
            "tool_status": None,
            "token_ids": made.token_ids,
            "logprobs": made.logprobs,
            "weight_versions": made.weight_versions,
            "finish_reason": made.finish_reason,
            "prompt_tokens": made.prompt_tokens,
            "completion_tokens": made.completion_tokens,
        })  # fmt: skip
        self.seconds.append(made.seconds)
        said: dict[str, Any] = {"role": "assistant", "content": made.text or ""}
        if "tool_calls" in made.raw:  # a server that took the calls out of the text wants to see them again, each with its answer
            said["tool_calls"] = [_for_server(call) for call in calls]
        self._messages.append(said)

    def saw(self, call: Found, observation: Observation, status: ToolStatus, seconds: float) -> None:
        """Take what one call returned; its tokens are known when the engine was given them."""
        if observation.truncated:
            self.truncated.append(len(self.turns))
        self.turns.append({
            "role": "tool",
            "content": clean(observation.text),
            "tool_calls": None,
            "tool_name": call.name,
            "tool_status": status,
            "token_ids": None,
            "logprobs": None,
            "weight_versions": None,
            "finish_reason": None,
            "prompt_tokens": None,
            "completion_tokens": None,
        })  # fmt: skip
        self.seconds.append(seconds)

    def answer(self, seen: Sequence[tuple[Found, Observation]]) -> None:
        """Make what was seen the next messages.

        Raises:
            ValueError: the chat template cannot take them.
        """
        if self._native:
            further = [{"role": "tool", "tool_call_id": call.id, "content": observation.text} for call, observation in seen]
        else:
            text = "\n".join(f"<tool_response>\n{observation.text}\n</tool_response>" for _, observation in seen)
            further = [{"role": "user", "content": text}]
        self._messages += further
        if self._seen is not None:
            self._next = self._engine.extend(self._seen, tuple(further))

    def _place(self, prompt: tuple[int, ...] | None) -> None:
        """Give the tokens that the engine saw since the last draw to the first of the turns that they show."""
        if self._seen is None or prompt is None or not self.turns:
            return
        if prompt[: len(self._seen)] != self._seen:
            self.retokenised = True
            return
        first = len(self.turns)
        while first and self.turns[first - 1]["role"] == "tool":
            first -= 1
        for turn in self.turns[first:]:
            turn["token_ids"] = ()
        if first < len(self.turns):
            self.turns[first]["token_ids"] = prompt[len(self._seen) :]


def _listed(calls: Sequence[Found]) -> str | None:
    """The calls as they are stored; of a malformed one what could be told."""
    if not calls:
        return None
    return clean(canonical_json([
        {"id": call.id, "name": call.name, "arguments": call.arguments if isinstance(call, ToolCall) else None} for call in calls
    ]))  # fmt: skip


def _for_server(call: Found) -> dict[str, Any]:
    arguments = canonical_json(call.arguments) if isinstance(call, ToolCall) else "{}"
    return {"id": call.id, "type": "function", "function": {"name": call.name or "unknown", "arguments": arguments}}
