"""Keeps an asynchronous engine busy from a synchronous loop: a bounded number of draws in flight, finished groups as they come.

The caller's thread admits groups, tells their names before the engine hears of them, and hands out what is finished; the draws
run in the loop's thread, and go on while the caller writes files. A death of the engine ends the loop after the groups that were
finished before it; a caller that goes away (stop, interruption, an error of its own) cancels what is in flight.
"""

from __future__ import annotations

import asyncio
import queue
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from gpu_workers.engines.engine import EngineDeadError, EngineHangError
from gpu_workers.loop import CLOSE_SECONDS, LoopThread
from gpu_workers.programs.program import Begun

T = TypeVar("T")
#: One draw, not yet begun.
Draw = Callable[[], Coroutine[Any, Any, T]]
#: Asked between groups: something to be done while nothing is in flight (other weights), or None.
Between = Callable[[], Coroutine[Any, Any, None] | None]


def nothing_between() -> None:
    """For callers that have nothing to do between groups."""


@dataclass(frozen=True)
class Group(Generic[T]):
    """Draws that belong together (siblings of one prompt), at least one; they go to the engine side by side."""

    key: str
    draws: tuple[Draw[T], ...]


@dataclass(frozen=True)
class _Ended(Generic[T]):
    """A draw that ended: with a result, or with what it raised."""

    key: str
    ordinal: int
    result: T | None
    error: BaseException | None


class Inflight:
    """Runs groups of draws.

    Attributes:
        limit: draws in flight; where less is free than a group needs, it goes in as soon as one place is.
        stall_seconds: an engine from which nothing comes for so long hangs.
        beat_seconds: while draws make progress but no group ends, the names in flight are told again this often.
        moves: how often something came from the engine.
    """

    def __init__(self, loop: LoopThread, limit: int, stall_seconds: float, beat_seconds: float = 5.0) -> None:
        self.limit, self.stall_seconds, self.beat_seconds = limit, stall_seconds, beat_seconds
        self.loop = loop
        self.moves = 0

    def progress(self) -> None:
        """Something came from the engine; called in the loop's thread."""
        self.moves += 1

    def run(self, groups: Iterable[Group[T]], begun: Begun, between: Between = nothing_between) -> Iterator[tuple[str, list[T]]]:
        """Run every group once.

        Args:
            groups: taken one by one when there is room, so that a group is built under the weights that will draw it.
            begun: told the names of all groups in flight before a new one is given to the engine.
            between: asked before each admission; where it has something to do, nothing is admitted until all is finished and it is done.

        Yields:
            Name and results of each group, in the order in which they end.

        Raises:
            EngineHangError: nothing came for ``stall_seconds``.
            EngineDeadError: as a draw raised it; so with anything else that a draw raises.
        """
        flight: _Flight[T] = _Flight(self, begun)
        waiting = iter(groups)
        more, errand = True, None
        try:
            while True:
                errand = errand or between()
                if errand is not None and not flight.open:
                    self.loop.call(errand)
                    errand = None
                if more and errand is None:
                    more = flight.admit(waiting)
                flight.tell()
                if flight.open:
                    yield from flight.wait()
                elif not more:
                    return
        finally:
            if errand is not None:
                errand.close()
            flight.cancel()


class _Flight(Generic[T]):
    """What one call of ``run`` has in the air."""

    def __init__(self, owner: Inflight, begun: Begun) -> None:
        self._owner, self._begun = owner, begun
        self._ended: queue.SimpleQueue[_Ended[T]] = queue.SimpleQueue()
        self._tasks: set[asyncio.Task[T]] = set()
        self._draws = 0
        self._told: list[str] = []
        self._told_at = 0.0
        #: Results by group, in the order of its draws.
        self.open: dict[str, list[T | None]] = {}
        self._left: dict[str, int] = {}

    def admit(self, waiting: Iterator[Group[T]]) -> bool:
        """Begin groups while there is room; False once no more are waiting."""
        fresh: list[Group[T]] = []
        while self._draws < self._owner.limit:
            group = next(waiting, None)
            if group is None:
                break
            self.open[group.key] = [None] * len(group.draws)
            self._left[group.key] = len(group.draws)
            self._draws += len(group.draws)
            fresh.append(group)
        self.tell()
        for group in fresh:
            self._owner.loop.soon(lambda group=group: self._start(group))  # type: ignore[misc]  # mypy cannot infer a lambda's default
        return self._draws >= self._owner.limit

    def tell(self) -> None:
        """Name what is in flight, where that is news or some time has passed: the caller's lease is renewed by it."""
        names = list(self.open)
        if names and (names != self._told or time.monotonic() - self._told_at >= self._owner.beat_seconds):
            self._told, self._told_at = names, time.monotonic()
            self._begun(names)

    def wait(self) -> Iterator[tuple[str, list[T]]]:
        """Until at least one draw has ended; yields the groups that are whole by then, and raises what a draw raised after that."""
        whole: list[str] = []
        error = self._take(self._next(), whole)
        while not self._ended.empty():
            later = self._take(self._ended.get(), whole)
            error = error or later
        for key in whole:
            del self._left[key]
            yield key, self.open.pop(key)  # type: ignore[misc]  # none is left without a result
        if error is not None:
            raise error

    def cancel(self) -> None:
        """End what is in flight, and wait until it has ended."""
        if self._left:
            self._owner.loop.call(_cancelled(self._tasks))

    def _start(self, group: Group[T]) -> None:
        for ordinal, draw in enumerate(group.draws):
            task = asyncio.get_running_loop().create_task(draw())
            self._tasks.add(task)
            task.add_done_callback(lambda task, key=group.key, ordinal=ordinal: self._end(task, key, ordinal))  # type: ignore[misc]

    def _end(self, task: asyncio.Task[T], key: str, ordinal: int) -> None:
        self._tasks.discard(task)
        # Whom this class cancelled, nobody listens to any more.
        error = EngineDeadError("the engine cancelled a draw") if task.cancelled() else task.exception()
        self._ended.put(_Ended(key, ordinal, None if error else task.result(), error))

    def _take(self, ended: _Ended[T], whole: list[str]) -> BaseException | None:
        self._draws -= 1
        self.open[ended.key][ended.ordinal] = ended.result
        if ended.error is None:
            self._left[ended.key] -= 1
            if self._left[ended.key] == 0:
                whole.append(ended.key)
        return ended.error

    def _next(self) -> _Ended[T]:
        """The next draw that ends; meanwhile watches for progress, and tells of it."""
        owner, idle, moves = self._owner, 0.0, self._owner.moves
        step = min(owner.beat_seconds, owner.stall_seconds / 4)
        while True:
            try:
                return self._ended.get(timeout=step)
            except queue.Empty:
                idle += step  # and not by the clock: a process that was stopped for an hour has waited one step
            if owner.moves != moves:
                idle, moves = 0.0, owner.moves
                self.tell()
            elif idle >= owner.stall_seconds:
                raise EngineHangError(f"nothing came for {idle:.0f} s with {self._draws} draws in flight")


async def _cancelled(tasks: set[asyncio.Task[Any]]) -> None:
    running = list(tasks)
    for task in running:
        task.cancel()
    if running:  # an engine that hangs may not even answer to that
        await asyncio.wait(running, timeout=CLOSE_SECONDS)
