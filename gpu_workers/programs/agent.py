"""Program ``agent``: a prompt and an environment in, a group of episodes out, turn by turn.

Settings beside those of ``rollout``: ``max_response_tokens`` is the budget of all turns of an episode; ``tool_format`` (text, native),
``env_attempts``, ``max_malformed`` and ``loop_after`` as in :class:`gpu_workers.programs.episode.Rules`; ``environments`` names those that
items use, so that a run without code needs no sandbox; ``allow_weak_sandbox`` lets code run where only rlimits bound it (tier D).
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

from gpu_workers.engines.engine import Generation
from gpu_workers.environments.environment import Environment, SettingError
from gpu_workers.environments.registry import SANDBOXED, build_environment
from gpu_workers.errors import RefusedRunError
from gpu_workers.programs.episode import Episode, Player, Rules, Stage
from gpu_workers.programs.host import Host
from gpu_workers.programs.policies import Policies, Policy
from gpu_workers.programs.program import Clock, Item, Origin, Row
from gpu_workers.programs.sampling import RolloutProgram, sampling_of
from schemas.handoff import RunPlan
from schemas.ids import seed_from
from udfs.sandbox.sandbox import Sandbox, default_sandbox


def rules_of(settings: dict[str, Any]) -> Rules:
    """The rules of a plan's settings.

    Raises:
        RefusedRunError: a setting that no episode can be played by.
    """
    tool_format = settings.get("tool_format", "text")
    if tool_format not in ("text", "native"):
        raise RefusedRunError(f"setting tool_format = {tool_format!r}: text or native.")
    bounds = {name: int(settings.get(name, getattr(Rules, name))) for name in ("env_attempts", "max_malformed", "loop_after")}
    if wrong := [f"{name} = {value}" for name, value in bounds.items() if value < 1]:
        raise RefusedRunError(f"setting {', '.join(wrong)}: at least 1.")
    return Rules(sampling_of(settings), tool_format=tool_format, **bounds)


def sandbox_for(settings: dict[str, Any]) -> Sandbox | None:
    """The sandbox of a run's environments; None where none of them runs code.

    Raises:
        SandboxUnavailableError: this machine has none that is safe.
    """
    named = settings.get("environments")
    if named is not None and not set(named) & set(SANDBOXED):
        return None
    return default_sandbox(allow_weaker=settings.get("allow_weak_sandbox") is True)


def _environment_of(item: Item, sandbox: Sandbox | None) -> Environment:
    if item["max_turns"] < 1:
        raise SettingError(f"max_turns = {item['max_turns']}: at least 1.")
    return build_environment(item["environment"], item["setting"], sandbox)


def _aside() -> Callable[..., asyncio.Future[Any]]:
    """What runs blocking calls in threads of its own.

    It knows nothing of the program: a cycle would keep the engine's processes alive to the interpreter's exit, which then waits for them.
    """
    # Calls of tools wait for processes on this machine's cores: many more at once would only run into their time limits.
    threads = ThreadPoolExecutor(max(4, 2 * (os.cpu_count() or 1)), "environment")

    def run(work: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
        return asyncio.get_running_loop().run_in_executor(threads, functools.partial(work, *arguments))

    return run


class AgentProgram(RolloutProgram):
    """Samples episodes; each sample of a group fails or succeeds for itself, in an environment of its own."""

    def __init__(self, plan: RunPlan, host: Host, policies: Policies, clock: Clock, sandbox: Sandbox | None) -> None:
        super().__init__(plan, host, policies, clock)
        self._sandbox = sandbox
        self._player = Player(host.engine, rules_of(plan.settings), _aside(), host.inflight.progress)

    def _draw(self, item: Item, index: int) -> Any:
        stage = Stage(
            key=f"{item['prompt_id']}.{index}",
            seed=self._seed(item, index, self._policy),
            env_seed=seed_from(item["seed"], item["prompt_id"], index, "environment"),
            salt=str(self._policy.version),
            system=item["system"],
            user=item["text"],
            max_turns=item["max_turns"],
            build=lambda: _environment_of(item, self._sandbox),
        )
        return lambda: self._player.play(stage)

    def _row(self, item: Item, origin: Origin, index: int, started: datetime, policy: Policy, made: Generation) -> Row:
        row = super()._row(item, origin, index, started, policy, made)
        if isinstance(made, Episode):
            row |= {
                "turns": list(made.turns) or None,
                "turn_seconds": list(made.turn_seconds) or None,
                "environment": made.environment,
                "env_retries": made.env_retries,
            }
        return row
