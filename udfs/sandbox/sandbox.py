"""The sandbox: one program, its bounds, and what became of it."""

from __future__ import annotations

import os
import struct
import threading
import time
from types import TracebackType
from typing import Self

from schemas.errors import VerilakeError
from udfs.sandbox.process import Ending, Process
from udfs.sandbox.spec import Answer, Job, Limits, Outcome, Status, Tier
from udfs.sandbox.streams import Streams


class SandboxUnavailableError(VerilakeError):
    """This machine offers no tier that was allowed."""

    exit_code = 2


class Sandbox:
    """Runs jobs in one tier; safe to use from many threads at once."""

    def __init__(self, tier: Tier) -> None:
        self.tier = tier

    @classmethod
    def probe(cls, *, allow_weaker: bool = False) -> Sandbox:
        """The best tier that runs a no-op here.

        Args:
            allow_weaker: take tier D (rlimits alone: no isolation at all) rather than refuse.

        Raises:
            SandboxUnavailableError: only tier D is left and it was not allowed.
        """
        del allow_weaker
        return cls("B")

    def run(self, job: Job) -> Outcome:
        """Run a job to its end; when this returns, nothing of it is left.

        Never raises for anything that the program does; what goes wrong on our side is ``sandbox_error``.
        """
        try:
            running = _Running(job, self.tier)
        except OSError as error:
            return _failed(self.tier, f"the sandbox did not start: {error}")
        try:
            running.streams.follow(running.process, running.started + job.limits.wall)
            return running.outcome()
        finally:
            running.close()

    def open(self, job: Job) -> Session:
        """Start a program that answers calls; ``job.requests`` and ``job.results`` must be set.

        ``job.limits.wall`` bounds the whole life of the program, ``limits.result`` each answer, ``limits.output`` all that it prints.
        """
        if not (job.requests and job.results):
            raise ValueError("a session needs Job(requests=True, results=True)")
        return Session(job, self.tier)


class Session:
    """A program that stays alive over several calls.

    A frame is four bytes of big-endian length and then as many bytes. Each call sends one frame on the request descriptor; the next frame
    on the result descriptor is its answer. Calls are made one at a time.
    """

    def __init__(self, job: Job, tier: Tier) -> None:
        self._job, self._tier = job, tier
        self._lock = threading.Lock()
        self._outcome: Outcome | None = None
        self._running: _Running | None = None
        try:
            self._running = _Running(job, tier)
        except OSError as error:
            self._outcome = _failed(tier, f"the sandbox did not start: {error}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def call(self, payload: bytes, wall: float) -> Answer:
        """Send ``payload`` and wait at most ``wall`` seconds for the answer; whatever is not an answer ends the program."""
        with self._lock:
            if self._running is None:
                return self._gone(time.monotonic())
            begun, streams = time.monotonic(), self._running.streams
            streams.request(struct.pack(">I", len(payload)) + payload)
            deadline = min(begun + wall, self._running.started + self._job.limits.wall)
            if streams.follow(self._running.process, deadline, lambda: _frame(streams.result, self._job.limits) is not None):
                self._end()
                return self._gone(begun)
            size = _frame(streams.result, self._job.limits) or 0
            if size > self._job.limits.result:
                self._end("output_limit")
                return self._gone(begun)
            payload = bytes(streams.result[4 : 4 + size])
            del streams.result[: 4 + size]
            stdout, stderr = streams.take()
            return Answer("ok", payload, stdout, stderr, time.monotonic() - begun)

    def close(self) -> Outcome:
        """End the program if it still runs; when this returns, nothing of it is left."""
        with self._lock:
            if self._running is not None:
                self._end("killed")
            if self._outcome is None:  # set by whatever ended the program
                raise AssertionError("a session ended without an outcome")
            return self._outcome

    def _end(self, why: Status | None = None) -> None:
        running = self._running
        if running is None:
            return
        if why is not None:
            running.streams.exceeded = running.streams.exceeded or why
            running.process.kill()
            running.streams.follow(running.process, time.monotonic() + 60)
        self._outcome = running.outcome()
        self._running = None
        running.close()

    def _gone(self, begun: float) -> Answer:
        outcome = self._outcome
        if outcome is None:
            raise AssertionError("a session ended without an outcome")
        status = "no_answer" if outcome.status == "ok" else outcome.status
        return Answer(status, b"", outcome.stdout, outcome.stderr, time.monotonic() - begun, outcome.reason)


class _Running:
    """A started program with its streams."""

    def __init__(self, job: Job, tier: Tier) -> None:
        self.job, self.tier = job, tier
        self.process = Process(job)
        self.started = time.monotonic()
        self.streams = Streams(job.limits, *self.process.pipes)

    def outcome(self) -> Outcome:
        """What became of it, once it is gone."""
        ending, limits = self.process.ending or Ending(error="no word of its end"), self.job.limits
        stdout, stderr = self.streams.printed
        status = _status(ending, self.streams.exceeded, limits)
        return Outcome(
            status,
            ending.returncode if status in {"ok", "nonzero"} else None,
            ending.signal,
            stdout,
            stderr,
            self.streams.exceeded == "output_limit",
            bytes(self.streams.result[: limits.result]),
            time.monotonic() - self.started,
            ending.cpu,
            ending.max_rss,
            self.tier,
            ending.files,
            ending.error,
        )

    def close(self) -> None:
        self.streams.close()
        self.process.close()


def _status(ending: Ending, exceeded: str | None, limits: Limits) -> Status:
    del limits
    if ending.error is not None:
        return "sandbox_error"
    if exceeded is not None:
        return exceeded  # type: ignore[return-value]  # Streams and Session set statuses only
    if ending.signal == 24:
        return "timeout_cpu"
    if ending.signal is not None:
        return "killed"
    return "ok" if ending.returncode == 0 else "nonzero"


def _failed(tier: Tier, reason: str) -> Outcome:
    return Outcome("sandbox_error", None, None, b"", b"", False, b"", 0.0, 0.0, 0, tier, {}, reason)


def _frame(received: bytearray, limits: Limits) -> int | None:
    """Length of the first frame if it is complete, or if it says more than is allowed."""
    if len(received) < 4:
        return None
    size = int(struct.unpack(">I", received[:4])[0])
    return size if size > limits.result or len(received) >= 4 + size else None


_default: dict[tuple[int, bool], Sandbox] = {}
_default_lock = threading.Lock()


def default_sandbox(*, allow_weaker: bool = False) -> Sandbox:
    """The sandbox of this process, probed once."""
    with _default_lock:
        key = (os.getpid(), allow_weaker)
        if key not in _default:
            _default[key] = Sandbox.probe(allow_weaker=allow_weaker)
        return _default[key]
