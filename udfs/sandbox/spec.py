"""What is asked of the sandbox and what it answers (G§4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

#: A: bubblewrap with a cgroup for memory and processes. B: bubblewrap with rlimits. C: Landlock, seccomp, rlimits and an own session.
#: D: rlimits alone; refused unless it is asked for by name.
Tier = Literal["A", "B", "C", "D"]

#: How a program ended. ``sandbox_error`` is ours (reward null, law 6); everything else is what the program did.
Status = Literal["ok", "nonzero", "timeout_wall", "timeout_cpu", "oom", "pids", "output_limit", "killed", "sandbox_error"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run.

    Attributes:
        wall: seconds on the clock from the program's start; then everything of the run is killed.
        cpu: seconds of CPU of one process.
        memory: bytes; of the whole run in tier A, of each process elsewhere.
        pids: processes and threads.
        file_size: bytes of one file.
        open_files: descriptors of one process; at least 16.
        output: bytes of stdout and stderr together; then the run is killed.
        result: bytes of the result (see :class:`Outcome`); then the run is killed.
        disk: bytes of all that the run writes: its directory, /tmp and /dev/shm together.
    """

    wall: float = 10.0
    cpu: float = 10.0
    memory: int = 512 << 20
    pids: int = 64
    file_size: int = 16 << 20
    open_files: int = 64
    output: int = 64 << 10
    result: int = 1 << 20
    disk: int = 64 << 20


@dataclass(frozen=True, slots=True)
class Job:
    """One program to run.

    Attributes:
        argv: the command, found inside the sandbox; ``PYTHON`` stands for the interpreter that the sandbox shows.
        stdin: bytes it may read; nothing by default.
        files: path relative to the working directory -> bytes, laid before the start, readable and writable.
        limits: bounds.
        env: variables; nothing of the parent's environment is handed on.
        results: give the program a descriptor (its number in the variable ``RESULT_FD``) on which it may send bytes apart from stdout.
        requests: give it a second one (``REQUEST_FD``) on which the parent sends bytes; only in a :class:`Session`.
        keep_files: bring these files back, by path, as far as they are there and within ``limits.result``.
    """

    argv: tuple[str, ...]
    stdin: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    env: Mapping[str, str] = field(default_factory=dict)
    results: bool = False
    requests: bool = False
    keep_files: tuple[str, ...] = ()


#: Stands in ``Job.argv`` for the interpreter that the sandbox shows.
PYTHON = "{python}"
#: The interpreter alone with its standard library: no site-packages, no user's site, no script folder on the path, no bytecode files.
#: Not ``-I``: that would also ignore the sandbox's PYTHONHASHSEED=0, and a set of strings would print in another order in every run.
ISOLATED = (PYTHON, "-P", "-s", "-S", "-B")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a run.

    Attributes:
        status: how it ended.
        returncode: of the program; None where it was killed.
        signal: that ended it; None where none did.
        stdout, stderr: cut at ``limits.output``.
        truncated: whether they were cut.
        result: what came on the result descriptor; never parsed here, never trusted.
        wall, cpu: seconds.
        max_rss: bytes of its largest process; 0 where unknown.
        tier: tier that it ran in.
        files: those of ``keep_files`` that are there.
        reason: of a ``sandbox_error``, in one line.
    """

    status: Status
    returncode: int | None
    signal: int | None
    stdout: bytes
    stderr: bytes
    truncated: bool
    result: bytes
    wall: float
    cpu: float
    max_rss: int
    tier: Tier
    files: Mapping[str, bytes] = field(default_factory=dict)
    reason: str | None = None


#: How a call into a :class:`Session` ended: ``ok`` only where an answer came; ``no_answer`` is a program that went away with exit code 0 instead.
AnswerStatus = Literal[
    "ok", "no_answer", "nonzero", "timeout_wall", "timeout_cpu", "oom", "pids", "output_limit", "killed", "sandbox_error"
]


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one call into a session.

    Attributes:
        status: how it ended; after anything but ``ok`` the program is gone and every further call answers the same.
        payload: of the answering frame; never parsed here, never trusted.
        stdout, stderr: what was printed since the last call, within ``limits.output`` over the session's whole life.
        wall: seconds from the call to its answer.
        reason: of a ``sandbox_error``, in one line.
    """

    status: AnswerStatus
    payload: bytes
    stdout: bytes
    stderr: bytes
    wall: float
    reason: str | None = None
