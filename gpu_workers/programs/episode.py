"""One episode: the policy speaks, its calls are made, what they return is shown to it, until it is done or a bound is met.

How an episode ended is in ``raw.ended``: ``answered`` (a turn without a call), ``submitted``, ``max_turns``, ``token_budget``,
``context_full``, ``malformed_call``, ``loop``. All of these are the policy's doing, and are graded by what it said last (law 6). A failure of
the engine has its class; a failure of the environment begins the episode again with the same seeds, a bounded number of times, and
is ``env_error`` after that: both have no text and no reward.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from gpu_workers.engines.engine import Generation, Sampling
from gpu_workers.environments.environment import Environment, EnvironmentFaultError, Message, Observation, SettingError, Step
from gpu_workers.environments.tool_calls import Found, Malformed, calls_in_text, calls_of_server
from gpu_workers.programs.conversation import Conversation, Speaker, ToolFormat, clean
from gpu_workers.programs.program import Row
from schemas.ids import canonical_json
from udfs.trajectories.turns import turn_seed

T = TypeVar("T")
#: How engines say that a prompt has become longer than they can hold.
_TOO_LONG = re.compile(r"context|max_model_len|too long|longer than|maximum.{0,20}length", re.IGNORECASE)
#: Characters of a token, where an engine does not count tokens: a low guess, so that the budget is rather met too early.
_CHARS = 3


@dataclass(frozen=True)
class Rules:
    """Bounds of every episode of a run.

    Attributes:
        sampling: of each turn; ``max_tokens`` is the budget of all turns together.
        env_attempts: episodes begun for one sample, where the environment fails.
        max_malformed: malformed calls in an episode; the last one ends it.
        loop_after: the same call with the same result so many times in a row ends it.
        tool_format: how tools are shown.
    """

    sampling: Sampling
    env_attempts: int = 3
    max_malformed: int = 3
    loop_after: int = 3
    tool_format: ToolFormat = "text"


@dataclass(frozen=True)
class Stage:
    """What one episode begins with.

    Attributes:
        key: names the sample.
        seed: of the sample; those of its turns follow from it.
        env_seed: of the environment, the same for each policy.
        salt: as of a Request.
        system, user: of the prompt.
        max_turns: of the policy.
        build: makes the environment; raises SettingError.
    """

    key: str
    seed: int
    env_seed: int
    salt: str
    system: str
    user: str
    max_turns: int
    build: Callable[[], Environment]


@dataclass(frozen=True, slots=True)
class Episode(Generation):
    """A draw that took several turns.

    Its text is what is to be graded; tokens, log-probabilities and versions are those of all sampled turns, one after the other; usage is of
    all calls together.

    Attributes:
        turns: rows of schemas.bronze.rollouts.TURNS.
        turn_seconds: how long each of them took.
        environment: fingerprint, canonical JSON; None where no environment was there.
        env_retries: how often it was begun again.
    """

    turns: tuple[Row, ...] = ()
    turn_seconds: tuple[float, ...] = ()
    environment: str | None = None
    env_retries: int = 0


class Player:
    """Plays episodes with one engine.

    Args:
        engine: draws.
        rules: bounds.
        aside: runs a blocking function in another thread.
        progress: told after every call of a tool, so that a slow one is not taken for a hanging engine.
    """

    def __init__(self, engine: Speaker, rules: Rules, aside: Callable[..., Awaitable[Any]], progress: Callable[[], None]) -> None:
        self._engine, self._rules, self._aside, self._progress = engine, rules, aside, progress

    async def play(self, stage: Stage) -> Episode:
        """One episode; what goes wrong is in it.

        Raises:
            EngineDeadError: the engine is gone.
        """
        retries = 0
        while True:
            made = await self._once(stage)
            if made.failure_class != "env_error" or retries + 1 >= self._rules.env_attempts:
                return replace(made, env_retries=retries)
            retries += 1

    async def _once(self, stage: Stage) -> Episode:
        try:
            environment: Environment = await self._aside(stage.build)
        except SettingError as error:
            return Episode.failed("prompt_invalid", str(error))
        try:
            return await _Run(self._engine, self._rules, self._aside, self._progress, stage, environment).act()
        finally:
            # Also where this is cancelled: a call that still runs in its thread is waited for there.
            await asyncio.shield(self._aside(environment.close))


class _Run:
    """One episode in one environment."""

    def __init__(
        self,
        engine: Speaker,
        rules: Rules,
        aside: Callable[..., Awaitable[Any]],
        progress: Callable[[], None],
        stage: Stage,
        environment: Environment,
    ) -> None:
        self._engine, self._rules, self._aside, self._progress, self._stage = engine, rules, aside, progress, stage
        self._environment = environment
        self._begun = time.monotonic()
        self._talk: Conversation | None = None
        self._made: list[Generation] = []
        self._malformed = 0
        self._last_call: tuple[str, str] | None = None
        self._repeats = 0

    async def act(self) -> Episode:
        """Until it ends."""
        stage, rules = self._stage, self._rules
        fingerprint = (await self._aside(self._environment.fingerprint)).canonical()
        try:
            first: Observation = await self._aside(self._environment.reset, stage.env_seed)
        except EnvironmentFaultError as error:
            return replace(Episode.failed("env_error", str(error)), environment=fingerprint)
        user = "\n\n".join(part for part in (stage.user, first.text) if part)
        talk = self._talk = Conversation(self._engine, stage.system, user, self._environment.tools, rules.tool_format)
        left, ended = rules.sampling.max_tokens, "max_turns"
        for turn in range(stage.max_turns):
            sampling = replace(rules.sampling, max_tokens=left)
            made = await self._engine.generate(talk.request(f"{stage.key}.{turn}", turn_seed(stage.seed, turn), sampling, stage.salt))
            if made.failure_class == "prompt_invalid" and turn and _TOO_LONG.search(made.reason or ""):
                return self._end(fingerprint, "context_full", cut=True)
            calls = self._calls(made, turn)
            talk.took(made, calls)
            self._made.append(made)
            if made.failure_class is not None:
                return self._failed(fingerprint, made.failure_class, made.reason or "", made.finish_reason)
            left -= _tokens(made)
            if made.finish_reason == "length":
                return self._end(fingerprint, "token_budget", cut=True)
            answer, over = await self._answer_turn(made, calls)
            if over in ("env_error", "prompt_invalid"):
                return self._failed(fingerprint, over, answer or "", "error")
            if over is not None:
                return self._end(fingerprint, over, answer)
            if left <= 0:
                ended = "token_budget"
                break
        return self._end(fingerprint, ended, cut=True)

    def _calls(self, made: Generation, turn: int) -> list[Found]:
        if made.text is None or made.finish_reason == "length" or not self._environment.tools:
            return []
        if "tool_calls" in made.raw:
            return calls_of_server(made.raw["tool_calls"], self._environment.tools, turn)
        return calls_in_text(made.text, self._environment.tools, turn)

    async def _answer_turn(self, made: Generation, calls: Sequence[Found]) -> tuple[str | None, str | None]:
        """Make the calls of a turn: what was handed in (of a failure: the reason), and how the episode ended; None where it goes on."""
        talk = self._talk
        if talk is None:
            raise AssertionError("a turn before the conversation")
        if not calls:
            last: Step = await self._aside(self._environment.step, Message(made.text or ""))
            return (last.observation.text, "env_error") if last.status == "env_error" else (last.answer, "answered")
        seen: list[tuple[Found, Observation]] = []
        for call in calls:
            begun = time.monotonic()
            step, over = await self._step(call)
            self._progress()
            seen.append((call, step.observation))
            talk.saw(call, step.observation, step.status, time.monotonic() - begun)
            if over is not None:
                return step.observation.text if over == "env_error" else step.answer, over
        try:
            talk.answer(seen)
        except ValueError as error:
            return str(error), "prompt_invalid"
        return None, None

    async def _step(self, call: Found) -> tuple[Step, str | None]:
        """One call, and how it ended the episode, if it did."""
        if isinstance(call, Malformed):
            self._malformed += 1
            text = f"This call was not made: {call.reason}."
            return Step(
                Observation(clean(text)), "malformed_call"
            ), "malformed_call" if self._malformed >= self._rules.max_malformed else None
        step: Step = await self._aside(self._environment.step, call)
        if step.status == "env_error":
            return step, "env_error"
        if step.done:
            return step, "submitted"
        made = (canonical_json([call.name, call.arguments]), step.observation.text)
        self._repeats = self._repeats + 1 if made == self._last_call else 1
        self._last_call = made
        return (replace(step, status="loop"), "loop") if self._repeats >= self._rules.loop_after else (step, None)

    def _failed(self, fingerprint: str, failure_class: str, reason: str, finish_reason: str) -> Episode:
        """An episode on which nobody is judged; what was said until then is kept."""
        whole = self._end(fingerprint, "failed")
        return replace(
            whole, text=None, token_ids=None, logprobs=None, weight_versions=None, finish_reason=finish_reason, failure_class=failure_class,
            reason=" ".join(clean(reason).split())[:500],
        )  # fmt: skip

    def _end(self, fingerprint: str, ended: str, answer: str | None = None, *, cut: bool = False) -> Episode:
        talk, made = self._talk, self._made
        if talk is None:
            raise AssertionError("an end before the conversation")
        last = made[-1] if made else Generation.failed("engine_error", "nothing was drawn")
        raw = {name: value for name, value in last.raw.items() if name != "tool_calls"}
        raw |= {"ended": ended} | ({"observation_truncated": talk.truncated} if talk.truncated else {})
        raw |= {"retokenised": True} if talk.retokenised else {}
        return Episode(
            clean(answer if answer is not None else last.text or ""),
            "length" if cut else last.finish_reason,
            prompt_text=talk.prompt_text,
            prompt_token_ids=None if talk.opening is None else talk.opening.prompt_token_ids,
            token_ids=_joined([one.token_ids for one in made]),
            logprobs=_joined([one.logprobs for one in made]),
            weight_versions=_joined([one.weight_versions for one in made]),
            prompt_tokens=_sum([one.prompt_tokens for one in made]),
            cached_tokens=_sum([one.cached_tokens for one in made]),
            completion_tokens=_sum([one.completion_tokens for one in made]),
            seconds=time.monotonic() - self._begun,
            raw=raw,
            turns=tuple(talk.turns),
            turn_seconds=tuple(talk.seconds),
            environment=fingerprint,
        )


def _tokens(made: Generation) -> int:
    """Tokens that a turn took from the budget."""
    if made.token_ids is not None:
        return len(made.token_ids)
    return made.completion_tokens if made.completion_tokens is not None else 1 + len(made.text or "") // _CHARS


def _joined(lists: Sequence[tuple[T, ...] | None]) -> tuple[T, ...] | None:
    """All of them one after the other; None where one is unknown, or there is none."""
    known = [part for part in lists if part is not None]
    return tuple(value for part in known for value in part) if lists and len(known) == len(lists) else None


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if counts and len(known) == len(counts) else None
