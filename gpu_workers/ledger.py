"""A reply is durable before it is used: whoever dies after that has paid for it once (DESIGN section 7)."""

from __future__ import annotations

import asyncio
from typing import Any

from gpu_workers.programs.program import Row
from udfs.killpoints import reach
from udfs.store.replies import line_of, recorded, replies_name
from udfs.store.run import HandoffRun


class ReplyLedger:
    """The replies of one attempt at one shard. Replies that come while a sync is under way share the next one.

    Attributes:
        earlier: what attempts before this one wrote down, by document.
    """

    def __init__(self, run: HandoffRun, sid: str, attempt: int) -> None:
        self._file = run.store.appender(replies_name(sid, attempt))
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None
        self.earlier: dict[str, list[Row]] = {}
        for row in recorded(run.store, (sid,)):
            self.earlier.setdefault(row["doc_id"], []).append({**row, "run_id": run.plan.run_id})

    async def append(self, row: Row) -> None:
        """Write a reply down; it may be used when this returns.

        Raises:
            OSError: it could not be written.
        """
        reach("reply_received")
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((line_of(row), written))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        await written
        reach("reply_recorded")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            error: OSError | None = None
            try:
                await asyncio.to_thread(self._file.append, b"".join(line for line, _ in batch))
            except OSError as caught:
                error = caught
            for _, written in batch:
                _settle(written, error)


def _settle(written: asyncio.Future[Any], error: OSError | None) -> None:
    if written.done():  # its draw was cancelled
        return
    if error is None:
        written.set_result(None)
    else:
        written.set_exception(error)
