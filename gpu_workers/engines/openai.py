"""Engine ``openai``: any server that speaks the OpenAI protocol.

Each draw ends in exactly one Generation, whatever the server does: a refusal of the moment (429, 5xx, resets, cut bodies, stalls)
is tried again within one deadline, a refusal of the prompt (400) is not. A refusal of the caller (key, model, quota) ends the
worker, and so does a server from which no draw gets an answer any more: an outage must not turn a shard into declared failures.

A body that came before is a server's second answer to an earlier draw: the connection is given up and the draw is asked for again on
a new one. Connections are kept only after a reply that is beyond doubt (:mod:`gpu_workers.engines.lanes`).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp

from gpu_workers.engines.engine import EngineDeadError, Generation, Identity, Request, unheard
from gpu_workers.engines.lanes import Lane, Lanes
from gpu_workers.engines.openai_wire import OpenAIOptions, ReplyError, body_of, read_refusal, read_reply
from gpu_workers.errors import RefusedRunError

ENGINE = "openai"
#: Version of what this module sends and reads; the server's own is in ``raw`` as far as it tells.
ENGINE_VERSION = "1"

#: Longest body read, in bytes: a server that never ends must not fill the memory.
MAX_BODY = 64 << 20
#: Pauses between attempts: doubled from the first to the longest, seconds, each shortened by up to a half by chance.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
#: Bodies remembered, by digest.
_SEEN = 1 << 16

#: Nothing is wrong with the request (G§3): another attempt may succeed.
_MOMENTARY = frozenset({408, 409, 425, 429})
#: This very request is refused, and would be for ever.
_OF_THE_PROMPT = frozenset({400, 413, 422})
#: Codes by which a server says with any status that no request of this worker can succeed.
_OF_THE_CALLER = frozenset({
    "insufficient_quota", "invalid_api_key", "model_not_found", "unknown_parameter", "unsupported_parameter", "unsupported_value",
})  # fmt: skip


@dataclass(frozen=True)
class _Answer:
    """What came of one attempt: a status with its body, or none where the connection failed."""

    status: int | None
    body: bytes = b""
    retry_after: str | None = None
    trouble: str = ""


class OpenAIEngine:
    """A server, behind one session of bounded connections."""

    def __init__(self, options: OpenAIOptions) -> None:
        """Open nothing yet.

        Raises:
            RefusedRunError: the environment variable that should hold the key is not set.
        """
        self.identity = Identity(ENGINE, ENGINE_VERSION, options.model, options.dtype, options.logprobs_mode)
        self.progress: Callable[[], None] = unheard
        self._options = options
        self._headers = {"Content-Type": "application/json"}
        if options.api_key_env:
            key = os.environ.get(options.api_key_env)
            if not key:
                raise RefusedRunError(f"engine {ENGINE}: the environment variable {options.api_key_env} is not set.")
            self._headers["Authorization"] = f"Bearer {key}"
        self._base = options.base_url.rstrip("/")
        self._lanes: Lanes | None = None
        self._seen: OrderedDict[bytes, None] = OrderedDict()
        self._unique = True
        self._hold_until = 0.0
        self._succeeded = 0

    async def open(self) -> None:
        """Connect, and ask for the model.

        Raises:
            RefusedRunError: the server cannot be reached, refuses the key, or does not serve the model.
        """
        self._lanes = Lanes(self._options.in_flight, self._headers)
        async with self._lanes.borrow() as lane:
            answer = await self._ask(lane, "GET", "/models", None, min(30.0, self._options.attempt_seconds))
            lane.spoilt = True
        if answer.status == 200 and self._serves(answer.body):
            return
        await self.close()
        problem = answer.trouble or (": ".join(read_refusal(answer.body)) if answer.status != 200 else f"serves no {self._options.model}")
        raise RefusedRunError(f"engine {ENGINE}: {self._base}/models: {answer.status or 'no answer'} {problem}")

    def _serves(self, body: bytes) -> bool:
        """Whether the list of models has ours; a server with a list that cannot be read is believed to."""
        try:
            listed = json.loads(body)["data"]
            names = {model["id"] for model in listed}
        except (ValueError, LookupError, TypeError):
            return True
        return not names or self._options.model in names

    async def generate(self, request: Request) -> Generation:
        """As :class:`gpu_workers.engines.engine.Engine`; failures have been tried again already."""
        begin, before = time.monotonic(), self._succeeded
        path, held = body_of(request, self._options)
        try:
            body = json.dumps(held, ensure_ascii=False, allow_nan=False).encode("utf-8")
        except (ValueError, UnicodeEncodeError) as error:  # NaN, lone surrogates
            return Generation.failed("prompt_invalid", f"cannot be written as JSON: {error}")
        end = begin + self._options.deadline_seconds
        trouble = "no attempt"
        for attempt in range(1, self._options.attempts + 1):
            await asyncio.sleep(max(0.0, min(self._hold_until, end) - time.monotonic()))
            left = end - time.monotonic()
            if left <= 0:
                break
            answer = await self._post(path, body, min(left, self._options.attempt_seconds))
            found = self._judge(answer, time.monotonic() - begin)
            if isinstance(found, Generation):
                found.raw["http_attempts"] = attempt
                return replace(found, seconds=time.monotonic() - begin)
            trouble = found
            if attempt < self._options.attempts:
                await self._pause(attempt, answer, end)
        reason = f"{self._options.attempts} attempts or {self._options.deadline_seconds:.0f} s used up: {trouble}"
        if self._succeeded == before:  # nor did any other draw succeed meanwhile
            raise EngineDeadError(f"{self._base}: {reason}")
        return Generation.failed("engine_error", reason, seconds=time.monotonic() - begin)

    async def score(self, prompt_token_ids: tuple[int, ...], token_ids: tuple[int, ...], temperature: float) -> Generation:
        """The protocol has no way to score given tokens at a temperature.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(f"engine {ENGINE} cannot score tokens; use vllm")

    def extend(self, token_ids: tuple[int, ...], messages: tuple[dict[str, Any], ...]) -> tuple[int, ...] | None:
        """The server renders; whether its prompts hold what was drawn, unchanged, shows only where it returns token ids."""
        del token_ids, messages
        return None

    async def load_policy(self, folder: str, version: int) -> None:
        """The server's weights are its operator's.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(f"engine {ENGINE} cannot take weights; restart its server")

    async def close(self) -> None:
        """Close all connections."""
        if self._lanes is not None:
            await self._lanes.close()

    async def _post(self, path: str, body: bytes, seconds: float) -> _Answer:
        """One attempt; where the reply may be another draw's, a second one on another connection."""
        if self._lanes is None:
            raise EngineDeadError(f"engine {ENGINE} is not open")
        async with self._lanes.borrow() as lane:
            answer = await self._ask(lane, "POST", path, body, seconds)
            lane.spoilt = answer.status != 200 or not self._unique
            known = answer.status == 200 and self._unique and not self._remember(answer.body)
            lane.spoilt |= known
            if known and lane.calls == 0:
                self._unique = False  # its replies carry no id: equal ones say nothing, and no connection is used twice any more
            lane.calls += 1
            doubtful = known and lane.calls > 1
        return await self._post(path, body, seconds) if doubtful else answer

    def _remember(self, body: bytes) -> bool:
        """False where the same bytes came before."""
        digest = hashlib.blake2b(body, digest_size=16).digest()
        if digest in self._seen:
            return False
        self._seen[digest] = None
        if len(self._seen) > _SEEN:
            self._seen.popitem(last=False)
        return True

    async def _ask(self, lane: Lane, method: str, path: str, body: bytes | None, seconds: float) -> _Answer:
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=min(30.0, seconds))
        try:
            # Redirects are not followed: the key is meant for one server.
            async with lane.session.request(method, self._base + path, data=body, timeout=timeout, allow_redirects=False) as reply:
                data = bytearray()
                async for chunk in reply.content.iter_any():
                    data += chunk
                    if len(data) > MAX_BODY:
                        return _Answer(None, trouble=f"a body of more than {MAX_BODY} bytes")
                self.progress()
                return _Answer(reply.status, bytes(data), reply.headers.get("Retry-After"))
        except TimeoutError:
            return _Answer(None, trouble=f"no reply within {seconds:.0f} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return _Answer(None, trouble=f"{type(error).__name__}: {error}")

    def _judge(self, answer: _Answer, seconds: float) -> Generation | str:
        """The end of a draw, or what went wrong for the moment.

        Raises:
            EngineDeadError: no draw of this worker can succeed.
        """
        if answer.status is None:
            return answer.trouble
        if answer.status == 200:
            try:
                found = read_reply(answer.body)
            except ReplyError as error:
                return f"malformed reply: {error}"
            self._succeeded += 1
            return found
        code, message = read_refusal(answer.body)
        trouble = f"{answer.status} {code}: {message}"
        if code in _OF_THE_CALLER:
            raise EngineDeadError(trouble)
        if answer.status in _OF_THE_PROMPT:
            return Generation.failed("prompt_invalid", trouble, seconds=seconds)
        if answer.status in _MOMENTARY or answer.status >= 500:
            return trouble
        raise EngineDeadError(trouble)

    async def _pause(self, attempt: int, answer: _Answer, end: float) -> None:
        """Wait before the next attempt; what a server asks for, all draws wait."""
        asked = seconds_of(answer.retry_after)
        if asked is not None:
            self._hold_until = max(self._hold_until, time.monotonic() + asked)
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (attempt - 1)) * random.uniform(0.5, 1.0)  # noqa: S311  # spreads attempts in time, no more
        await asyncio.sleep(max(0.0, min(pause + (asked or 0.0) * random.uniform(0.0, 0.1), end - time.monotonic())))  # noqa: S311  # likewise


def seconds_of(retry_after: str | None) -> float | None:
    """What a ``Retry-After`` asks for: seconds or a date (RFC 9110, 10.2.3); None where it says nothing that can be read."""
    if not retry_after:
        return None
    try:
        return min(3600.0, max(0.0, float(retry_after)))
    except ValueError:
        pass
    try:
        return min(3600.0, max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time()))
    except ValueError:
        return None
