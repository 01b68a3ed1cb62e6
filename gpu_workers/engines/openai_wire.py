"""What an OpenAI-compatible server is sent for one draw, and what its reply says. Nothing here talks to anybody."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from gpu_workers.engines.engine import Generation, Request
from gpu_workers.engines.options import EngineOptions

#: What servers put where a log-probability is minus infinity or unknown; it is no figure to train on.
NO_LOGPROB = -9999.0
_FINISH = {"stop": "stop", "length": "length", "tool_calls": "tool_calls", "function_call": "tool_calls", "abort": "abort"}


class OpenAIOptions(EngineOptions):
    """Options of engine ``openai``.

    Attributes:
        base_url: up to and with the version, say ``http://127.0.0.1:8000/v1``.
        model: name that the server serves.
        api_key_env: name of the environment variable that holds the key; empty: no key is sent.
        deadline_seconds: of one draw, all its attempts and pauses together.
        attempt_seconds: of one attempt.
        attempts: tries of one draw.
        schema_by: how a JSON schema is asked for: the standard's ``response_format``, vLLM's ``structured_outputs``, or ``none``.
        logprobs: ask for log-probabilities (chat: ``logprobs``); false for servers that refuse.
        token_ids: ask for token ids (``return_token_ids``, which vLLM has).
        logprobs_mode: of which distribution the server's log-probabilities are; vLLM's default is ``raw``.
        max_tokens_field: ``max_tokens``, or ``max_completion_tokens`` for servers that want that.
        dtype: of the server's weights, where its operator knows.
    """

    base_url: str = Field(pattern=r"^https?://[^/@\s]+(/\S*)?$")
    model: str = Field(min_length=1)
    api_key_env: str = ""
    deadline_seconds: float = 900.0
    attempt_seconds: float = 600.0
    attempts: int = Field(default=8, ge=1)
    schema_by: Literal["response_format", "structured_outputs", "none"] = "response_format"
    logprobs: bool = True
    token_ids: bool = False
    logprobs_mode: Literal["processed", "raw"] = "raw"
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    dtype: str = "unknown"


class ReplyError(ValueError):
    """A body with status 200 that is no reply: cut, not JSON, without a choice."""


def body_of(request: Request, options: OpenAIOptions) -> tuple[str, dict[str, Any]]:
    """Path below the base URL, and the JSON body. Fields that are off are left out: not every server knows every field."""
    sampling = request.sampling
    body: dict[str, Any] = {
        "model": request.model or options.model,
        "seed": request.seed,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        options.max_tokens_field: sampling.max_tokens,
        "n": 1,
    }
    extensions = {"top_k": (sampling.top_k, -1), "min_p": (sampling.min_p, 0.0)}
    body |= {name: value for name, (value, off) in extensions.items() if value != off}
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if options.token_ids:
        body["return_token_ids"] = True
    if sampling.schema is not None and options.schema_by == "response_format":
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": sampling.schema, "strict": True}}
    elif sampling.schema is not None and options.schema_by == "structured_outputs":
        body["structured_outputs"] = {"json": sampling.schema}
    wanted = sampling.logprobs and options.logprobs
    if request.prompt_token_ids is not None:
        return "/completions", body | {"prompt": list(request.prompt_token_ids)} | ({"logprobs": 0} if wanted else {})
    if request.tools:
        body["tools"] = list(request.tools)
    return "/chat/completions", body | {"messages": list(request.messages)} | ({"logprobs": True} if wanted else {})


def read_reply(data: bytes) -> Generation:
    """The generation of a reply with status 200; what the server does not tell is None.

    Raises:
        ReplyError: it is no reply.
    """
    try:
        reply = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ReplyError(f"no JSON: {error}") from None
    choices = reply.get("choices") if isinstance(reply, dict) else None
    if not (isinstance(choices, list) and len(choices) == 1 and isinstance(choices[0], dict)):
        raise ReplyError("not exactly one choice")
    choice = choices[0]
    text, raw = _text(choice)
    raw |= {name: reply[name] for name in ("id", "model", "system_fingerprint") if isinstance(reply.get(name), str)}
    reason = choice.get("finish_reason")
    usage = _object(reply.get("usage"))
    details = _object(usage.get("prompt_tokens_details"))
    if reason == "content_filter":
        return Generation(None, "error", failure_class="engine_error", reason="withheld by the server's content filter", raw=raw)
    if reason not in _FINISH:
        raise ReplyError(f"finish reason {reason!r}")
    prompt_ids = choice.get("prompt_token_ids") or reply.get("prompt_token_ids")
    ids, logprobs = _ids(choice.get("token_ids")), _logprobs(choice.get("logprobs"))
    if ids is not None and logprobs is not None and len(ids) != len(logprobs):
        raw["unmatched_logprobs"], logprobs = len(logprobs), None
    if reason == "abort":
        return Generation(None, "abort", failure_class="aborted", reason="aborted by the server", raw=raw, retryable=True)
    return Generation(
        text,
        _FINISH[reason],
        prompt_token_ids=_ids(prompt_ids),
        token_ids=ids,
        logprobs=logprobs if ids is not None else None,  # of which token each is, cannot be known without ids
        prompt_tokens=_count(usage.get("prompt_tokens")),
        cached_tokens=_count(details.get("cached_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        raw=raw,
    )


def read_refusal(data: bytes) -> tuple[str, str]:
    """Code and message of an error body; whatever it is."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return "", data[:300].decode("utf-8", "replace")
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return "", str(error)[:300]
    return str(error.get("code") or error.get("type") or ""), str(error.get("message") or error.get("detail") or error)[:300]


def _text(choice: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Text of a choice, and what stands beside it."""
    message = choice.get("message")
    if not isinstance(message, dict):
        if not isinstance(choice.get("text"), str):
            raise ReplyError("a choice without text")
        return choice["text"], {}
    content = message.get("content")
    if not (content is None or isinstance(content, str)):
        raise ReplyError("content is no text")
    beside = ("refusal", "tool_calls", "reasoning", "reasoning_content")
    return content or "", {name: message[name] for name in beside if message.get(name)}


def _object(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _ids(found: Any) -> tuple[int, ...] | None:
    ok = isinstance(found, list) and all(type(i) is int and i >= 0 for i in found)
    return tuple(found) if ok else None


def _logprobs(found: Any) -> tuple[float, ...] | None:
    """One figure a token, of chat's or of completions' shape; None where any is missing."""
    if not isinstance(found, dict):
        return None
    content = found.get("content")
    values = (
        [c.get("logprob") if isinstance(c, dict) else None for c in content] if isinstance(content, list) else found.get("token_logprobs")
    )
    if not isinstance(values, list):
        return None
    sound = all(type(v) in (int, float) and math.isfinite(v) and NO_LOGPROB < v <= 1e-4 for v in values)
    return tuple(min(0.0, float(v)) for v in values) if sound else None


def _count(found: Any) -> int | None:
    return found if type(found) is int and found >= 0 else None
