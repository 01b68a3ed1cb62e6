"""An event loop in a thread of its own: asynchronous engines live there, while the loop over shards stays synchronous."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

#: So long may what was cancelled take to end, in seconds, before the thread is left to die with the process.
CLOSE_SECONDS = 10.0


class LoopThread:
    """Runs coroutines for a synchronous caller. Closed by ``close``, at the latest when the process ends."""

    def __init__(self, name: str = "engine") -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_turn, args=(self._loop,), name=name, daemon=True)
        self._thread.start()
        self._end = weakref.finalize(self, _end, self._loop, self._thread)

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end and return what it returns; an interruption of the caller cancels it."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Start a coroutine; cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def soon(self, callback: Callable[[], None]) -> None:
        """Run a callback in the loop's thread."""
        self._loop.call_soon_threadsafe(callback)

    def close(self) -> None:
        """Cancel what runs, and end the thread; again does nothing."""
        self._end()


def _turn(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    async def empty() -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await loop.shutdown_asyncgens()
        await loop.shutdown_default_executor()

    if not thread.is_alive():
        return
    with contextlib.suppress(concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
        asyncio.run_coroutine_threadsafe(empty(), loop).result(CLOSE_SECONDS)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(CLOSE_SECONDS)
