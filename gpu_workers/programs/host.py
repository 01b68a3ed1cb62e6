"""An engine with all that keeps it busy, as the programs over engines share it."""

from __future__ import annotations

import contextlib
import weakref
from typing import Protocol

from gpu_workers.engines.engine import Engine
from gpu_workers.engines.options import EngineOptions
from gpu_workers.engines.steady import Steady
from gpu_workers.inflight import Inflight
from gpu_workers.loop import LoopThread


class Openable(Engine, Protocol):
    """An engine that is built before it is loaded."""

    async def open(self) -> None:
        """Load, or connect.

        Raises:
            RefusedRunError: it cannot serve here.
        """


class Host:
    """A loaded engine in the thread of its loop; it is closed with its program, at the latest when the process ends.

    Attributes:
        engine: behind a gate, with further attempts.
        inflight: runs groups of draws on it.
        loop: where the engine lives.
    """

    def __init__(self, engine: Openable, options: EngineOptions, lease_seconds: float) -> None:
        """Load the engine.

        Args:
            engine: not yet loaded.
            options: its options on this machine.
            lease_seconds: of the run; what is in flight is told again well within it.

        Raises:
            RefusedRunError: the engine cannot serve here.
        """
        self.loop = LoopThread()
        self._end = weakref.finalize(self, _close, self.loop, engine)
        self.loop.call(engine.open())
        self.engine = Steady(engine, options.in_flight)
        self.inflight = Inflight(self.loop, options.in_flight, options.stall_seconds, min(5.0, lease_seconds / 8))
        engine.progress = self.inflight.progress

    def close(self) -> None:
        """End engine and thread; again does nothing."""
        self._end()


def _close(loop: LoopThread, engine: Engine) -> None:
    with contextlib.suppress(Exception):  # an engine that died may fail at anything, and the process ends anyway
        loop.call(engine.close())
    loop.close()
