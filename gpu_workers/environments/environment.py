"""The interface of an environment: a policy's actions in, what it sees of them out.

An environment belongs to one episode. It begins from a snapshot (the files that the item's setting names, their digest is the image of
its fingerprint) and ends with ``close``: nothing that one trajectory did is there for another, whatever became of the first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from schemas.environment import Fingerprint, ToolStatus


class SettingError(ValueError):
    """The setting of an item that its environment cannot take: the planner's mistake, on which no policy is judged."""


class EnvironmentFaultError(RuntimeError):
    """The environment itself failed: the episode is begun again, and no policy is judged on it (law 6)."""


@dataclass(frozen=True)
class Tool:
    """A function that the policy may call.

    Attributes:
        name: by which it is called.
        description: what it does, for the policy.
        parameters: JSON schema of its arguments: an object whose properties are strings, integers, numbers or booleans.
    """

    name: str
    description: str
    parameters: dict[str, Any]

    def described(self) -> dict[str, Any]:
        """As OpenAI's function schema."""
        return {"type": "function", "function": {"name": self.name, "description": self.description, "parameters": self.parameters}}


def object_of(**properties: str) -> dict[str, Any]:
    """JSON schema of an object with these required string properties {name: description} and no other."""
    described = {name: {"type": "string", "description": text} for name, text in properties.items()}
    return {"type": "object", "properties": described, "required": list(described), "additionalProperties": False}


@dataclass(frozen=True)
class ToolCall:
    """A call that is well formed: the tool exists and the arguments fit its schema.

    Attributes:
        id: names the call within its episode.
        name: of the tool.
        arguments: by name.
    """

    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Message:
    """A turn that calls no tool: the policy has said what it had to say."""

    text: str


Action = ToolCall | Message


@dataclass(frozen=True)
class Observation:
    """What the policy is shown.

    Attributes:
        text: valid Unicode, bounded.
        truncated: whether something was left out of it; the text says so, too.
    """

    text: str
    truncated: bool = False


@dataclass(frozen=True)
class Step:
    """What came of one action.

    Attributes:
        observation: what the policy is shown.
        status: how the call ended; ``env_error`` is ours, and ends the episode.
        done: whether the episode has ended.
        answer: what is to be graded, where the action handed it in by itself (``submit``).
    """

    observation: Observation
    status: ToolStatus = "ok"
    done: bool = False
    answer: str | None = None


class Environment(Protocol):
    """One place to act in, for one episode; calls may block, and are made one at a time.

    Attributes:
        tools: what may be called; none where the policy only answers.
    """

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What may be called."""

    def reset(self, seed: int) -> Observation:
        """Begin from the snapshot; what is observed is added to the prompt (nothing, where the text is empty).

        Raises:
            EnvironmentFaultError: it cannot be begun.
        """

    def step(self, action: Action) -> Step:
        """Take one action. Never raises for anything that the policy or its code does; what fails on our side is ``env_error``."""

    def close(self) -> None:
        """End everything that was started; again does nothing. A call that still runs is waited for."""

    def fingerprint(self) -> Fingerprint:
        """Whatever can change what a tool answers."""


#: Of a text that is cut, this share is kept from its beginning, the rest from its end: errors stand at the end.
_HEAD = 0.6


def shown(text: str, limit: int, *, left_out: int = 0) -> Observation:
    """A text as it may be shown: valid Unicode without NUL, of at most ``limit`` characters beside the note that some are missing.

    Args:
        text: whatever it holds.
        limit: characters.
        left_out: characters that were dropped from its end already.
    """
    clean = text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
    if len(clean) <= limit:
        note = f"\n[{left_out} further characters left out]" if left_out else ""
        return Observation(clean + note, truncated=bool(left_out))
    head = int(limit * _HEAD)
    tail = limit - head
    middle = f"\n[{len(clean) - limit + left_out} characters left out]\n"
    return Observation(clean[:head] + middle + clean[len(clean) - tail :], truncated=True)
