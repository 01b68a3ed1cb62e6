"""Chunks graded by several processes at once, given out in order; what kills or holds a process costs one row."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from multiprocessing.connection import wait
from types import TracebackType
from typing import Any, Protocol, Self

from schemas.errors import VerilakeError
from udfs.verifiers.chunks import Chunk
from udfs.verifiers.process import GradingProcess

#: Seconds of work that a chunk should hold, so that processes end together and answers come steadily.
CHUNK_SECONDS = 0.2
#: Rows of a chunk while nothing is known of what a row costs, and at most.
FIRST_ROWS, MAX_ROWS = 2, 512
#: Chunks that may wait for an earlier one, for each process: bounds the memory that a slow row costs.
WINDOW = 8
#: Seconds between two looks at processes that say nothing.
POLL = 0.25
#: Times that a row is tried: what kills or holds a process may have been an accident once (law 6).
TRIES = 2
#: Deaths before the first row of one chunk after which it is the installation, not a row: by an exit of its own, and by a signal, which may
#: be somebody's who frees memory.
STILLBORN, SHOT = 3, 20


class Source(Protocol):
    """Where chunks come from."""

    def take(self, rows: int) -> Chunk | None:
        """The next chunk of at most ``rows`` rows; None at the end."""
        ...


class GradingFailedError(VerilakeError):
    """Grading cannot go on; nothing was written."""

    @classmethod
    def from_stillborn(cls, count: int) -> GradingFailedError:
        """Processes die before they have begun a row."""
        return cls(f"{count} grading processes died one after the other before their first row; what they said last stands above.")

    @classmethod
    def from_worker(cls, message: str, exit_code: int) -> GradingFailedError:
        """What a process refused, in its words."""
        error = cls(message)
        error.exit_code = exit_code
        return error


class Pool:
    """Grading processes, started as there is work for them; a context that ends them all."""

    def __init__(self, workers: int, settings: Mapping[str, Any]) -> None:
        """Grade in ``workers`` processes.

        Args:
            workers: at most so many at once.
            settings: of the task (:data:`udfs.verifiers.worker.TASKS`), which ``task`` names.
        """
        self._workers, self._settings = workers, dict(settings)
        self._processes: list[GradingProcess] = []
        self._again: deque[tuple[int, Chunk]] = deque()
        self._falls: dict[int, dict[int, list[str]]] = {}
        self._rows, self._seconds_a_row = FIRST_ROWS, 0.0
        #: Processes that were replaced.
        self.replaced = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for process in self._processes:
            process.end(at_once=kind is not None)
        self._processes.clear()

    @property
    def pids(self) -> list[int]:
        """Of the processes that run now."""
        return [process.pid for process in self._processes]

    def grade(self, source: Source) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """Graded chunks in the order of the source, each with its counts as the task tells them.

        Raises:
            GradingFailedError: a process refused the work (no sandbox for code), or none lives long enough to begin.
        """
        done: dict[int, tuple[bytes, dict[str, Any]]] = {}
        taken = given = 0
        more = True
        while True:
            while self._again and self._has_room():
                self._send(*self._again.popleft())
            while more and taken - given < WINDOW * self._workers and self._has_room():
                chunk = source.take(self._rows)
                if chunk is None:
                    more = False
                else:
                    self._send(taken, chunk)
                    taken += 1
            if not more and given == taken:
                return
            done.update(self._collect())
            while given in done:
                yield done.pop(given)
                given += 1

    def _has_room(self) -> bool:
        return len(self._processes) < self._workers or any(process.chunk is None for process in self._processes)

    def _send(self, ordinal: int, chunk: Chunk) -> None:
        process = next((process for process in self._processes if process.chunk is None), None)
        if process is None:
            process = GradingProcess(self._settings)
            self._processes.append(process)
        falls = self._falls.get(ordinal, {})
        lost = {row: why[-1] for row, why in falls.items() if len(why) >= TRIES and row >= 0}
        # what kills even while its line is being read is not read again
        blind = {row: flag for row, flag in lost.items() if len(falls[row]) > TRIES}
        process.send(ordinal, replace(chunk, faults={**chunk.faults, **blind}), lost)

    def _collect(self) -> dict[int, tuple[bytes, dict[str, Any]]]:
        """What has come in, after at most ``POLL`` seconds."""
        busy: dict[object, GradingProcess] = {process.connection: process for process in self._processes if process.chunk is not None}
        done: dict[int, tuple[bytes, dict[str, Any]]] = {}
        for connection in wait([process.connection for process in busy.values()], POLL):
            process = busy.pop(connection)
            ordinal, chunk = process.chunk or (0, None)
            try:
                head, payload = process.receive()
            except (EOFError, ConnectionError):
                self._fallen(process, "worker_died")
                continue
            if "refused" in head:
                raise GradingFailedError.from_worker(head["refused"], head["exit_code"])
            self._learn(head["seconds"], len(chunk or ()))
            self._falls.pop(ordinal, None)
            done[ordinal] = (payload, head)
        for process in busy.values():
            if process.overdue():
                self._fallen(process, "over_row_limit")
        return done

    def _learn(self, seconds: float, rows: int) -> None:
        """Fit the size of a chunk to what rows cost, at most four times as many as before: costs differ along a file."""
        cost = seconds / max(1, rows)
        self._seconds_a_row = cost if not self._seconds_a_row else (self._seconds_a_row + cost) / 2
        fitting = int(CHUNK_SECONDS / max(self._seconds_a_row, 1e-9))
        self._rows = max(1, min(fitting, 4 * self._rows, MAX_ROWS))

    def _fallen(self, process: GradingProcess, why: str) -> None:
        """A process died, or held out too long: its chunk is graded again, without the row that has been tried often enough."""
        if process.chunk is None:
            return
        (ordinal, chunk), row = process.chunk, process.row
        code = process.end(at_once=True)
        self._processes.remove(process)
        self.replaced += 1
        falls = self._falls.setdefault(ordinal, {}).setdefault(row, [])
        falls.append(why if row >= 0 else f"exit {code}")
        if row < 0 and (len(falls) >= SHOT or sum(not fall.startswith("exit -") for fall in falls) >= STILLBORN):
            raise GradingFailedError.from_stillborn(len(falls))
        self._again.append((ordinal, chunk))
