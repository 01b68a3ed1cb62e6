"""An engine with a gate before it and further chances behind it: what fails by the moment is tried again, what is too much is halved."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from gpu_workers.engines.engine import Engine, Generation, Identity, Request

#: Times that one draw is given to the engine, where the engine itself calls its failure retryable.
ATTEMPTS = 3


class Gate:
    """Lets at most ``limit`` through at once, first come, first served; the limit may shrink while they are inside."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if self.inside < self.limit and not self._waiting:
            self.inside += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the place was given at the very moment of the cancellation
                await self.__aexit__()
            raise

    async def __aexit__(self, *_: object) -> None:
        self.inside -= 1
        while self._waiting and self.inside < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self.inside += 1
                turn.set_result(None)


class Steady:
    """An engine like the one it holds, of which a failed draw is only heard when further attempts have failed, too.

    A draw that the engine had no memory for halves the number of draws in flight, once for all draws that went in before, and is
    tried again; one for which there is no memory even alone has failed.
    """

    def __init__(self, engine: Engine, limit: int, attempts: int = ATTEMPTS) -> None:
        self._engine, self._attempts = engine, attempts
        self._gate = Gate(limit)
        self._halvings = 0

    @property
    def identity(self) -> Identity:
        """The engine's own."""
        return self._engine.identity

    @property
    def limit(self) -> int:
        """Draws in flight at most, by now."""
        return self._gate.limit

    @property
    def progress(self) -> Callable[[], None]:
        """The engine's own."""
        return self._engine.progress

    @progress.setter
    def progress(self, listener: Callable[[], None]) -> None:
        self._engine.progress = listener

    async def generate(self, request: Request) -> Generation:
        """As the engine's, with further attempts; ``raw.attempts`` says how many it took, where that is more than one."""
        attempt = 1
        while True:
            async with self._gate:
                halvings = self._halvings
                made = await self._engine.generate(request)
                # Before the place is given away: who enters it must already be counted among those after the halving.
                again = made.failure_class == "oom" and self._halve(halvings)
            self.progress()
            if again:
                continue
            if made.failure_class is None or not made.retryable or attempt >= self._attempts:
                break
            attempt += 1
        if attempt > 1:
            made.raw["attempts"] = attempt
        return made

    async def score(self, prompt_token_ids: tuple[int, ...], token_ids: tuple[int, ...], temperature: float) -> Generation:
        """As the engine's, through the same gate."""
        async with self._gate:
            made = await self._engine.score(prompt_token_ids, token_ids, temperature)
        self.progress()
        return made

    def extend(self, token_ids: tuple[int, ...], messages: tuple[dict[str, Any], ...]) -> tuple[int, ...] | None:
        """As the engine's."""
        return self._engine.extend(token_ids, messages)

    async def load_policy(self, folder: str, version: int) -> None:
        """As the engine's."""
        await self._engine.load_policy(folder, version)

    async def close(self) -> None:
        """As the engine's."""
        await self._engine.close()

    def _halve(self, seen: int) -> bool:
        """Make room; False where a single draw had all of it already."""
        if seen < self._halvings:  # others made room since this draw went in
            return True
        if self._gate.limit == 1:
            return False
        self._gate.limit //= 2
        self._halvings += 1
        return True
