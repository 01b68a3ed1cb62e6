"""The sandbox: one program, its bounds, and what became of it.

What each tier gives, and what it does not:

| | A | B | C | D |
|---|---|---|---|---|
| built of | bubblewrap, control group | bubblewrap, rlimits | Landlock, seccomp, rlimits | rlimits |
| files of the machine | the system's programs and libraries, the interpreter | as A | as A; names and sizes of others can be seen | all that the user may |
| /proc, other processes | its own | its own | /proc is shut; signals reach nobody outside | all |
| network | a loopback of its own | as A | no sockets | all |
| memory | of the whole run, files in memory too | of each process | of each process | of each process |
| processes | of the whole run | of the run (not root: from Linux 5.14 on) | of the run (not root: counted ten times a second) | as C |
| disk | one bound for all that it writes | as A | as A where a mount namespace can be had, else of one file | as C |
| dangerous system calls | refused | refused | refused, and sockets, System V, chmod, chown | allowed |
| ``oom``, ``pids`` as a status | yes | no: the program sees MemoryError, EAGAIN | no (``pids``: not root) | no (as C) |
| left when all ends | nothing | nothing | nothing | nothing |

In A and B a program runs as nobody in ``/box`` with its own ``/tmp`` and ``/dev/shm``; in C and D its folder lies elsewhere (``HOME``, the
working directory) and ``TMPDIR`` stands for /tmp. Where we are root, each run has a user id of its own. bubblewrap tells a signal as exit code
128 + n, so that in A and B a program that exits with such a code is told as killed.

None of them keeps a program from using up its CPU time, from measuring time, or from finding faults of the kernel itself: for those, a virtual
machine around everything.
"""

from __future__ import annotations

import os
import shutil
import signal
import struct
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from schemas.errors import VerilakeError
from udfs.sandbox.order import Ending
from udfs.sandbox.process import Launcher, Process
from udfs.sandbox.spec import ISOLATED, Answer, Job, Limits, Outcome, Status, Tier
from udfs.sandbox.streams import Streams


class SandboxUnavailableError(VerilakeError):
    """This machine offers no tier that was allowed."""

    exit_code = 2

    @classmethod
    def from_reasons(cls, reasons: list[str]) -> SandboxUnavailableError:
        """No tier could be had; each reason says of one tier why."""
        return cls(
            "programs cannot be run safely on this machine. Install bubblewrap (apt-get install bubblewrap) and allow user namespaces, or allow"
            f" tier D by name, which isolates nothing. What was tried: {'; '.join(reasons)}"
        )


#: Imports, writes and reports, as every program does.
_NO_OP = Job(
    (*ISOLATED, "-c", "import os, json; open('probe', 'w').close(); os.write(int(os.environ['RESULT_FD']), b'ok')"),
    limits=Limits(wall=30.0),
    results=True,
)


class Sandbox:
    """Runs jobs in one tier; safe to use from many threads at once."""

    def __init__(self, tier: Tier, launcher: Launcher) -> None:
        self.tier, self._launcher = tier, launcher

    @classmethod
    def probe(cls, *, allow_weaker: bool = False, ro_paths: tuple[str, ...] = (), tiers: tuple[Tier, ...] = ("A", "B", "C")) -> Sandbox:
        """The best tier that runs a no-op here.

        Args:
            allow_weaker: take tier D (rlimits alone: no isolation at all) rather than refuse.
            ro_paths: paths of this machine that programs may read, at the same place inside; say a folder of installed packages.
            tiers: those to try, best first.

        Raises:
            ValueError: a path of ``ro_paths`` is relative or missing.
            SandboxUnavailableError: only tier D is left and it was not allowed.
        """
        tiers = (*tiers, "D") if allow_weaker and "D" not in tiers else tiers
        for path in ro_paths:
            if not Path(path).is_absolute() or not Path(path).exists():
                raise ValueError(f"a path that programs may read must be absolute and there: {path}")
            if Path(path).parts[:2] in {("/", name) for name in ("tmp", "box", "dev", "proc")}:
                raise ValueError(f"a program has folders of its own there, which would cover it: {path}")
        launcher = Launcher(ro_paths, shutil.which("bwrap"))
        reasons = []
        for tier in tiers:
            sandbox = cls(tier, launcher)
            outcome = sandbox.run(_NO_OP)
            if outcome.status == "ok" and outcome.result == b"ok":
                return sandbox
            reasons.append(f"{tier}: {outcome.reason or outcome.status} {_first_line(outcome.stderr)}".strip())
        raise SandboxUnavailableError.from_reasons(reasons)

    def run(self, job: Job) -> Outcome:
        """Run a job to its end; when this returns, nothing of it is left.

        Never raises for anything that the program does; what goes wrong on our side is ``sandbox_error``.
        """
        try:
            running = _Running(job, self.tier, self._launcher)
        except OSError as error:
            return _failed(self.tier, f"the sandbox did not start: {error}")
        try:
            if not running.over:
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
        return Session(job, self.tier, self._launcher)


class Session:
    """A program that stays alive over several calls.

    A frame is four bytes of big-endian length and then as many bytes. Each call sends one frame on the request descriptor; the next frame
    on the result descriptor is its answer. Calls are made one at a time.
    """

    def __init__(self, job: Job, tier: Tier, launcher: Launcher) -> None:
        self._job, self._tier = job, tier
        self._lock = threading.Lock()
        self._outcome: Outcome | None = None
        self._running: _Running | None = None
        try:
            self._running = _Running(job, tier, launcher)
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
            begun, running, limits = time.monotonic(), self._running, self._job.limits
            streams = running.streams
            streams.request(struct.pack(">I", len(payload)) + payload)
            deadline = min(begun + wall, running.started + limits.wall)
            gone = running.over or streams.follow(running.process, deadline, lambda: _frame(streams.result, limits) is not None)
            size = _frame(streams.result, limits)
            if size is None or size > limits.result:
                self._end(None if gone else "output_limit")
                return self._gone(begun)
            answer = bytes(streams.result[4 : 4 + size])
            del streams.result[: 4 + size]
            stdout, stderr = streams.take()
            if gone:
                self._end()
            return Answer("ok", answer, stdout, stderr, time.monotonic() - begun)

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

    def __init__(self, job: Job, tier: Tier, launcher: Launcher) -> None:
        self.job, self.tier = job, tier
        self.process = Process(job, tier, launcher)
        self.streams = Streams(job.limits, *self.process.pipes)
        self.over = not self.process.wait_for_start()
        if self.over:
            self.streams.rest()
        self.started = time.monotonic()

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
            self.process.files,
            ending.error and f"{ending.error} {_first_line(stderr)}".strip(),
        )

    def close(self) -> None:
        self.streams.close()
        self.process.close()


def _status(ending: Ending, exceeded: Status | None, limits: Limits) -> Status:
    """The one word for an ending; what was ours comes first, then what we ended, then what the kernel ended."""
    if ending.error is not None:
        return "sandbox_error"
    if exceeded is not None:
        return exceeded
    failed = ending.signal is not None or ending.returncode != 0
    if ending.oom and failed:
        return "oom"
    # bubblewrap tells a signal as an exit code, which a program can also choose: without the time, it was not the bound.
    if ending.signal in {signal.SIGXCPU, signal.SIGKILL} and ending.cpu >= 0.5 * limits.cpu:
        return "timeout_cpu"
    if ending.pids and failed:
        return "pids"
    if ending.signal is not None:
        return "killed"
    return "ok" if ending.returncode == 0 else "nonzero"


def _first_line(stderr: bytes) -> str:
    """The first line of what was printed, for a message of ours."""
    return stderr[:300].decode(errors="replace").partition("\n")[0]


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
