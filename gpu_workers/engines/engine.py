"""The interface of an engine: one request in, one generation out, as many at once as the caller keeps in flight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from schemas.ids import canonical_json


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn; every field bears on the result and is recorded.

    Attributes:
        temperature: of the softmax; 0 is greedy.
        top_p: nucleus; 1 is off.
        top_k: -1 is off.
        min_p: 0 is off.
        max_tokens: at most so many are drawn.
        stop: texts that end the generation and are not part of it.
        schema: JSON schema that the text must follow (structured output); None where it is free.
        logprobs: whether log-probabilities of the drawn tokens are wanted.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = -1
    min_p: float = 0.0
    max_tokens: int = 512
    stop: tuple[str, ...] = ()
    schema: dict[str, Any] | None = None
    logprobs: bool = True

    def canonical(self) -> str:
        """The one JSON spelling, as stored beside every row."""
        held = {name: getattr(self, name) for name in self.__slots__}
        return canonical_json({**held, "stop": list(self.stop)})


@dataclass(frozen=True, slots=True)
class Request:
    """One draw.

    Attributes:
        key: names the draw in logs; two requests in flight have different keys.
        seed: of this draw alone; siblings of a group have seeds of their own (G§1.2).
        sampling: how tokens are drawn.
        messages: chat messages {role, content, ...}, rendered by the engine's chat template; empty where ``prompt_token_ids`` are given.
        prompt_token_ids: the prompt as tokens, taken as they are.
        salt: prompts share cached prefixes only with those of the same salt; the ordinal of the weights belongs in it.
        tools: OpenAI function schemas that the chat template (or the server) shows to the model; only with ``messages``.
        model: another model of the same server than the one that the engine was opened for; an engine that holds one model has no use for it.
    """

    key: str
    seed: int
    sampling: Sampling
    messages: tuple[dict[str, Any], ...] = ()
    prompt_token_ids: tuple[int, ...] | None = None
    salt: str = ""
    tools: tuple[dict[str, Any], ...] = ()
    model: str = ""


@dataclass(frozen=True, slots=True)
class Generation:
    """What came of one draw; a failed one has a class and a reason, and no text.

    Attributes:
        text: what was generated, special tokens left out; None where it failed.
        prompt_text: the rendered prompt; None where the engine does not tell.
        prompt_token_ids, token_ids: as the engine saw and drew them, end token included; None where it does not tell.
        logprobs: natural log, one per token, of the distribution that was sampled from (``processed``); None where unknown, never 0.0.
        finish_reason: stop, length, tool_calls, abort, error.
        weight_versions: ordinal of the weights that drew each token; None where the engine does not tell.
        prompt_tokens, cached_tokens, completion_tokens: usage; None where unknown.
        failure_class: one of schemas.handoff.FAILURE_CLASSES; None where it succeeded. ``truncated`` is no failure here: finish_reason says it.
        reason: of a failure, in one line of at most 500 characters.
        seconds: from request to end.
        raw: what else the engine said, for the column ``raw``.
        retryable: of a failure: the same request may well succeed now, and the engine has not tried that by itself.
    """

    text: str | None
    finish_reason: str
    prompt_text: str | None = None
    prompt_token_ids: tuple[int, ...] | None = None
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    weight_versions: tuple[int, ...] | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    failure_class: str | None = None
    reason: str | None = None
    seconds: float = 0.0
    raw: dict[str, Any] = field(default_factory=dict)
    retryable: bool = False

    @classmethod
    def failed(cls, failure_class: str, reason: str, *, seconds: float = 0.0, retryable: bool = False) -> Self:
        """A draw that came to nothing; of the reason the first 500 characters are kept, as one line."""
        finish = "abort" if failure_class == "aborted" else "error"
        line = " ".join(reason.split())[:500]
        return cls(None, finish, failure_class=failure_class, reason=line, seconds=seconds, retryable=retryable)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who generates: recorded in every row.

    Attributes:
        engine: vllm, openai ...
        engine_version: its version.
        model: what it serves, with its revision.
        dtype: of the weights as they sample; ``unknown`` where a server does not tell.
        logprobs_mode: processed or raw.
        chat_template_sha256: of the template that renders messages; None where a server keeps it to itself.
    """

    engine: str
    engine_version: str
    model: str
    dtype: str
    logprobs_mode: str
    chat_template_sha256: str | None = None


class EngineDeadError(RuntimeError):
    """The engine cannot go on: the worker gives its shard back and ends, and is started anew (G§3, ``engine_dead``)."""


class EngineHangError(EngineDeadError):
    """The engine lives but nothing comes from it any more (G§3, ``engine_hang``)."""


def unheard() -> None:
    """The listener of an engine to which nobody listens."""


class Engine(Protocol):
    """One loaded model, or one server.

    Attributes:
        identity: who generates.
        progress: called whenever anything comes back (tokens, a reply, a refusal): the sign of life that a watchdog waits for.
    """

    identity: Identity
    progress: Callable[[], None]

    async def generate(self, request: Request) -> Generation:
        """Draw once. What goes wrong with one request is in its Generation, and stops no other.

        Raises:
            EngineDeadError: the engine itself is gone.
        """

    async def score(self, prompt_token_ids: tuple[int, ...], token_ids: tuple[int, ...], temperature: float) -> Generation:
        """Log-probabilities of given tokens after a prompt, under these weights; ``token_ids`` and ``logprobs`` are filled.

        Raises:
            EngineDeadError: the engine itself is gone.
            NotImplementedError: a server that cannot score.
        """

    def extend(self, token_ids: tuple[int, ...], messages: tuple[dict[str, Any], ...]) -> tuple[int, ...] | None:
        """The prompt of an assistant's next turn: the tokens so far (prompt and what was drawn, as they are) and then ``messages``.

        Nothing is ever tokenised twice: what was drawn may be spelt by other tokens than a tokenizer would choose (R§6).

        Returns:
            None where the engine keeps its chat template to itself.

        Raises:
            ValueError: the template cannot take the messages.
        """

    async def load_policy(self, folder: str, version: int) -> None:
        """Take other weights; the caller has nothing in flight. Prefixes that older weights computed are forgotten."""

    async def close(self) -> None:
        """Free what the engine holds."""
