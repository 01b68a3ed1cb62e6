"""Processes that can be killed, for what our own exact arithmetic cannot decide: they ask math-verify.

A process starts at the first question and serves one at a time; a question that outlasts its limit is killed with its process, whatever
the process is doing (a thread could not be stopped, and math-verify's own alarms do not reach every loop). Works from any thread, and
after a fork: the child lets go of its parent's processes and starts its own. At the end of this process the pipes close and they end.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any, Literal

#: Wall seconds for one question, and for a process to start.
LIMIT = 30.0
START_LIMIT = 60.0
#: Most processes at once, and questions after which one is replaced (SymPy's caches grow).
MAX_PROCESSES = max(1, min(4, os.cpu_count() or 1))
QUESTIONS = 500

Outcome = Literal["same", "different", "one_direction", "gold_unreadable", "answer_unreadable", "gold_gone", "answer_gone", "unavailable"]


@dataclass(frozen=True, slots=True)
class Opinion:
    """What math-verify says.

    Attributes:
        outcome: ``same`` only where both directions agree that they are; ``*_gone``: that part did not end within its limits;
            ``unavailable``: no process could be started, or the machine was too busy twice.
        forward: verify(gold, answer), None where it was not reached.
        backward: verify(answer, gold), likewise.
    """

    outcome: Outcome
    forward: bool | None = None
    backward: bool | None = None


class _Gone(Exception):  # noqa: N818 - it is an event, not a mistake
    """The process was killed or went away; ``stage`` is where it was, ``busy`` whether it had hardly run."""

    def __init__(self, stage: str, *, busy: bool) -> None:
        super().__init__(stage)
        self.stage, self.busy = stage, busy


class _Process:
    """One worker process and the bytes it has sent so far."""

    def __init__(self) -> None:
        paths = os.pathsep.join(p for p in sys.path if p)
        kept = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV")}
        self.child = subprocess.Popen(
            [sys.executable, "-P", "-m", "udfs.grading.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**kept, "PYTHONPATH": paths, "PYTHONHASHSEED": "0"},
        )  # fmt: skip
        self.buffer = b""
        self.questions = 0
        self.begun = 0.0
        try:
            self.receive(time.monotonic() + START_LIMIT, "start")
        except _Gone:
            self.kill()
            raise

    def receive(self, deadline: float, stage: str) -> dict[str, Any]:
        """The next message, or _Gone: nothing is waited for beyond the deadline."""
        assert self.child.stdout is not None  # noqa: S101 - a pipe, by the constructor
        fd = self.child.stdout.fileno()
        while b"\n" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                raise _Gone(stage, busy=self.cpu_seconds() < LIMIT / 4)
            poller = select.poll()
            poller.register(fd, select.POLLIN | select.POLLHUP)
            if poller.poll(max(1, int(left * 1000))):
                piece = os.read(fd, 65536)
                if not piece:  # killed by nobody here: the kernel or a person did, which is no fault of the question
                    raise _Gone(stage, busy=self.child.wait() == -signal.SIGKILL)
                self.buffer += piece
        line, _, self.buffer = self.buffer.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def ask(self, gold: str, answer: str) -> dict[str, Any]:
        """The worker's stages for one question."""
        assert self.child.stdin is not None  # noqa: S101 - likewise
        deadline, stage = time.monotonic() + LIMIT, "gold"
        self.questions += 1
        self.begun = self._ticks()
        try:
            self.child.stdin.write(json.dumps({"gold": gold, "answer": answer}).encode() + b"\n")
            self.child.stdin.flush()
        except OSError:
            raise _Gone("idle", busy=True) from None
        while True:
            message = self.receive(deadline, stage)
            if "done" in message:
                done: dict[str, Any] = message["done"]
                return done
            stage = message.get("stage", stage)

    def _ticks(self) -> float:
        try:
            with open(f"/proc/{self.child.pid}/stat", encoding="ascii") as stat:  # noqa: PTH123 - no file of ours
                fields = stat.read().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError):
            return -LIMIT  # unknown: taken as worked

    def cpu_seconds(self) -> float:
        """CPU seconds since the question was asked."""
        return self._ticks() - self.begun

    def kill(self) -> None:
        """End the process and wait for it."""
        with contextlib.suppress(OSError):
            self.child.kill()
        self.child.wait()
        self.let_go()

    def let_go(self) -> None:
        """Close our ends of the pipes; after a fork the process itself belongs to the parent."""
        for pipe in (self.child.stdin, self.child.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()


class Pool:
    """Idle processes, and how many there are; no process exists before the first question."""

    def __init__(self, limit: int = MAX_PROCESSES) -> None:
        self._limit = limit
        self._reset()

    def _reset(self) -> None:
        self._owner, self._free, self._count, self._changed = os.getpid(), list[_Process](), 0, threading.Condition()

    def after_fork(self) -> None:
        """In a forked child: forget the parent's processes."""
        for process in self._free:
            process.child.returncode = 0  # not ours to wait for
            process.let_go()
        self._reset()

    def _take(self) -> _Process:
        with self._changed:
            while not self._free and self._count >= self._limit:
                self._changed.wait()
            if self._free:
                return self._free.pop()
            self._count += 1
        try:
            return _Process()
        except BaseException:
            self._drop()
            raise

    def _drop(self) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify()

    def _give(self, process: _Process) -> None:
        if process.questions >= QUESTIONS:
            process.kill()
            self._drop()
            return
        with self._changed:
            self._free.append(process)
            self._changed.notify()

    def _once(self, gold: str, answer: str) -> dict[str, Any]:
        process = self._take()
        try:
            found = process.ask(gold, answer)
        except BaseException:
            process.kill()
            self._drop()
            raise
        self._give(process)
        return found

    def ask(self, gold: str, answer: str) -> Opinion:
        """math-verify's opinion, in both directions, within ``LIMIT`` wall seconds (and once more where the machine was at fault).

        Args:
            gold: what is right.
            answer: what was said.
        """
        for _ in range(2):
            try:
                found = self._once(gold, answer)
            except _Gone as gone:
                if gone.busy or gone.stage in ("idle", "start"):
                    continue
                return Opinion("gold_gone" if gone.stage == "gold" else "answer_gone")
            except OSError:
                continue
            if "busy" not in found:
                return _opinion(found)
        return Opinion("unavailable")

    def close(self) -> None:
        """End all idle processes."""
        with self._changed:
            idle, self._free = self._free, []
            self._count -= len(idle)
        for process in idle:
            process.kill()


def _opinion(found: dict[str, Any]) -> Opinion:
    if "gone" in found:
        return Opinion("gold_gone" if found["gone"] == "gold" else "answer_gone")
    if not found["gold"]:
        return Opinion("gold_unreadable")
    if not found["answer"]:
        return Opinion("answer_unreadable")
    forward, backward = bool(found["forward"]), bool(found["backward"])
    outcome: Outcome = "same" if forward and backward else "different" if not (forward or backward) else "one_direction"
    return Opinion(outcome, forward, backward)


_POOL = Pool()
os.register_at_fork(after_in_child=_POOL.after_fork)
atexit.register(_POOL.close)


def ask(gold: str, answer: str) -> Opinion:
    """``Pool.ask`` of the one pool of this process."""
    return _POOL.ask(gold, answer)
