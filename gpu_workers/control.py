"""What is asked of workers while they run: by a signal, or by files in ``control/`` of the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import overload

from gpu_workers.log import Log
from gpu_workers.programs.policies import follows, ready_versions
from gpu_workers.programs.program import Item
from udfs.store.run import HandoffRun

#: A listing is believed for so long, in seconds: asking after each item must not cost a request each time.
EVERY = 0.5


class Control:
    """The wishes of the operator and of the trainer."""

    def __init__(self, run: HandoffRun, asked_to_stop: Callable[[], bool], log: Log) -> None:
        self._run, self._asked, self._log = run, asked_to_stop, log
        self._seen: set[str] = set()
        self._wanted: int | None = None
        self._read = -EVERY

    def stop(self) -> bool:
        """Whether a signal or ``control/stop`` asks to end."""
        return self._asked() or "stop" in self._names()

    def pause(self) -> bool:
        """Whether no further shard is to be claimed."""
        return "pause" in self._names()

    def retired(self) -> int | None:
        """The least policy version still wanted, where this run's is older; its groups are not begun any more."""
        self._names()
        if self._wanted is None or self._run.plan.policy_id is None:
            return None
        # A program that follows its trainer takes the newest weights before it begins a group.
        newest = max([self._run.plan.policy_version, *(ready_versions(self._run) if follows(self._run) else ())])
        outdated = newest < self._wanted
        return self._wanted if outdated else None

    def _names(self) -> set[str]:
        now = time.monotonic()
        if now - self._read >= EVERY:
            self._read = now
            self._seen = set(self._run.store.list("control"))
            self._wanted = self._least() if "min_policy_version" in self._seen else None
        return self._seen

    def _least(self) -> int | None:
        try:
            return self._run.min_policy_version()
        except ValueError as error:
            self._log.event("control_ignored", level="warning", reason=str(error))
            return None


class Admitted(Sequence[Item]):
    """Items of which no more are begun once ``closed`` says so: iteration ends, what is in flight is finished."""

    def __init__(self, items: Sequence[Item], closed: Callable[[], bool]) -> None:
        self._items, self._closed = items, closed

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        return self._items[index]

    def __iter__(self) -> Iterator[Item]:
        for item in self._items:
            if self._closed():
                return
            yield item
