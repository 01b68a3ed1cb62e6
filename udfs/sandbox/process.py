"""One running program, as the process that asked for it sees it."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import socket
import subprocess
import tempfile
import threading
import uuid
from dataclasses import dataclass
from pathlib import Path

import udfs
from udfs.sandbox.interpreter import this_interpreter
from udfs.sandbox.order import REQUEST_FD, RESULT_FD, STARTED, Ending, Order, memory_file, pack, unpack_ending
from udfs.sandbox.spec import Job, Limits, Tier

#: Variables of every program; ``Job.env`` comes after them.
VARIABLES = {"PATH": "/usr/bin:/bin", "HOME": "/box", "LANG": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0"}
#: Linux refuses a single argument or variable beyond this.
LONGEST_ARGUMENT = 131_072
#: Seconds a launcher may take to start, and later a run: beyond, the machine is out of order.
PATIENCE = 120.0
#: Seconds after ``limits.wall`` at which the launcher ends a run by itself, should this process be stopped.
GRACE = 5.0


class LauncherError(OSError):
    """The launcher did not start or is gone."""


class Launcher:
    """The helper process that starts programs for this one (see :mod:`udfs.sandbox.launcher`); started when first needed.

    Safe to use from many threads. A forked process starts one of its own.

    Args:
        ro_paths: paths of this machine that programs may read, at the same place inside.
        bwrap: bubblewrap's path; None where there is none.
    """

    def __init__(self, ro_paths: tuple[str, ...] = (), bwrap: str | None = None) -> None:
        self._ro_paths, self._bwrap = ro_paths, bwrap
        self._lock = threading.Lock()
        self._started: _Started | None = None

    def order(self, order: int, fds: list[int]) -> socket.socket:
        """Start a run; returns the socket on which its supervisor speaks. Raises OSError."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                started = self._running()
                socket.send_fds(started.sock, [b"run"], [theirs.fileno(), order, *fds])
        except OSError:
            ours.close()
            raise
        ours.settimeout(PATIENCE)
        return ours

    def _running(self) -> _Started:
        """The launcher of this process, fresh where the last one is gone or another process's."""
        with self._lock:
            last = self._started
            if last is None or last.owner != os.getpid() or last.process.poll() is not None:
                if last is not None:
                    last.sock.close()
                self._started = _launch(self._ro_paths, self._bwrap)
            return self._started  # type: ignore[return-value]  # set above


@dataclass(slots=True)
class _Started:
    owner: int
    process: subprocess.Popen[bytes]
    sock: socket.socket

    def stop(self) -> None:
        """Let it end; runs at the end of this process, and only in the process that started it."""
        if self.owner != os.getpid():
            return
        self.sock.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(30)


def _launch(ro_paths: tuple[str, ...], bwrap: str | None) -> _Started:
    """Start a launcher and hear that it stands; raises LauncherError."""
    interpreter = this_interpreter()
    settings = {
        "shown": [*interpreter.shown(), *((path, path) for path in ro_paths)],
        "inside": interpreter.inside,
        "outside": str(interpreter.executable),
        "environment": interpreter.environment(),
        "bwrap": bwrap,
        "scratch": str(Path(tempfile.gettempdir()) / f"verilake-boxes-{uuid.uuid4().hex}"),
    }
    # The folder (or the zip) that holds the room: the launcher imports its few modules from there, and nothing else.
    home = str(Path(udfs.__file__).parents[1])
    code = "import sys; sys.path.insert(0, sys.argv[1]); from udfs.sandbox.launcher import main; main(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])"
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [str(interpreter.executable), "-I", "-S", "-B", "-c", code, home, str(theirs.fileno()), str(os.getpid()), json.dumps(settings)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),), start_new_session=True, env={}, cwd="/",
        )  # fmt: skip
    started = _Started(os.getpid(), process, ours)
    ours.settimeout(PATIENCE)
    try:
        hello = json.loads(ours.recv(1 << 16) or b'{"error": "it ended at once"}')
    except OSError as error:
        hello = {"error": str(error)}
    if "error" in hello:
        process.kill()
        started.stop()
        raise LauncherError(f"the sandbox's launcher did not start: {hello['error']}")
    ours.settimeout(None)
    atexit.register(started.stop)
    return started


class Process:
    """A program that was started, or raises OSError.

    Attributes:
        fd: becomes readable when there is news.
        pipes: our ends of stdout, stderr, result and request.
        ending: how it ended, once it did.
        files: what it left of ``job.keep_files``.
    """

    def __init__(self, job: Job, tier: Tier, launcher: Launcher) -> None:
        check(job)
        self.ending: Ending | None = None
        self.files: dict[str, bytes] = {}
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:

            def opened(stack: contextlib.ExitStack, fd: int) -> int:
                stack.callback(os.close, fd)
                return fd

            def pipe(*, to_program: bool) -> tuple[int, int]:
                """(our end, theirs)."""
                read, write = os.pipe()
                mine, other = (write, read) if to_program else (read, write)
                return opened(ours, mine), opened(theirs, other)

            out, err = pipe(to_program=False), pipe(to_program=False)
            result = pipe(to_program=False) if job.results else None
            request = pipe(to_program=True) if job.requests else None
            stdin = opened(theirs, _stdin(job.stdin))
            order = opened(theirs, pack(_order(job, tier), list(job.files.values())))
            further = [pair[1] for pair in (result, request) if pair]
            self._control = launcher.order(order, [stdin, out[1], err[1], *further])
            self.fd = self._control.fileno()
            self.pipes = (out[0], err[0], result[0] if result else None, request[0] if request else None)
            ours.pop_all()

    def wait_for_start(self) -> bool:
        """Wait until the program runs; False where it ended before (see ``ending``)."""
        return not self.news()

    def news(self) -> bool:
        """Take the supervisor's word; True once the program and everything it started are gone."""
        try:
            message, fds, _, _ = socket.recv_fds(self._control, 64, 1)
        except OSError as error:
            message, fds = b"", []
            self.ending = Ending(error=f"no word of the supervisor: {error}")
        if message == STARTED:
            return False
        if fds:
            self.ending, self.files = unpack_ending(fds[0])
            os.close(fds[0])
        self.ending = self.ending or Ending(error="the supervisor was killed")
        return True

    def kill(self) -> None:
        """Begin to end it; its ending follows as news."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close the control socket; a program that still runs is ended by that. The pipes belong to whoever reads them."""
        self._control.close()


def check(job: Job) -> None:
    """Raise ValueError for a job that cannot be: what a model named is checked by whoever hands it on."""
    if not job.argv:
        raise ValueError("Job.argv is empty")
    for part in (*job.argv, *(f"{name}={value}" for name, value in job.env.items())):
        if "\0" in part or len(part.encode(errors="surrogateescape")) >= LONGEST_ARGUMENT:
            raise ValueError("an argument or variable holds a NUL or is longer than 128 KiB: hand it over as a file")
    if any(not name or "=" in name for name in job.env):
        raise ValueError("a variable of Job.env has no name, or a = in it")
    for name in (*job.files, *job.keep_files):
        check_name(name)
    limits = job.limits
    if (
        min(limits.wall, limits.cpu, limits.memory, limits.pids, limits.disk) <= 0
        or min(limits.file_size, limits.output, limits.result) < 0
    ):
        raise ValueError(f"every limit must be positive: {limits}")


def check_name(name: str) -> None:
    """Raise ValueError unless ``name`` is a plain relative path: no empty part, no ``.`` or ``..``, no NUL, each part within 255 bytes."""
    parts = name.split("/")
    if any(part in {"", ".", ".."} or "\0" in part or len(part.encode(errors="surrogateescape")) > 255 for part in parts):
        raise ValueError(f"not a relative path within the working directory: {name!r}")


def _order(job: Job, tier: Tier) -> Order:
    limits: Limits = job.limits
    own = {}
    if job.results:
        own["RESULT_FD"] = str(RESULT_FD)
    if job.requests:
        own["REQUEST_FD"] = str(REQUEST_FD)
    return Order(
        tier=tier,
        argv=list(job.argv),
        env={**VARIABLES, **job.env, **own},
        cpu=limits.cpu,
        memory=limits.memory,
        pids=limits.pids,
        file_size=limits.file_size,
        open_files=max(limits.open_files, 16),
        disk=limits.disk,
        backup=limits.wall + GRACE,
        result=job.results,
        request=job.requests,
        keep=list(job.keep_files),
        keep_bytes=limits.result,
        files=[(name, len(content)) for name, content in job.files.items()],
    )


def _stdin(content: bytes) -> int:
    return memory_file("stdin", [content]) if content else os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
