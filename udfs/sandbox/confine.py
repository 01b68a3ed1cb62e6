"""Tiers C and D: the program is a process of this machine like any other, confined as far as that goes.

Both: an own session, rlimits, an own user where we are root, everything killed and waited for at the end (a subreaper inherits what tries to
get away). C adds Landlock (files) and seccomp (no sockets, no System V objects, no namespaces).
"""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING

from udfs.sandbox import filter as seccomp
from udfs.sandbox import kernel, landlock
from udfs.sandbox.bubblewrap import PLACEHOLDER
from udfs.sandbox.order import REQUEST_FD, RESULT_FD
from udfs.sandbox.stage import SYSTEM
from udfs.sandbox.supervisor import STARTING, Run, StartError, become

if TYPE_CHECKING:
    from collections.abc import Mapping

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
#: Landlock before this version lets a program empty files that it may not write.
LEAST_LANDLOCK = 3
SCOPES_SIGNALS = 6
_REPORT = 5


def start(run: Run) -> None:
    """Start the program; raises StartError, OSError."""
    order, house = run.order, run.house
    if order.tier == "C" and landlock.abi() < LEAST_LANDLOCK:
        raise StartError(f"Landlock is missing or older than version {LEAST_LANDLOCK}")
    if order.tier == "C" and not seccomp.supported(kernel.MACHINE):
        raise StartError(f"no seccomp filter for {kernel.MACHINE}")
    if not os.path.exists(house.interpreter[1]):  # noqa: PTH110
        raise StartError(f"the interpreter is gone: {house.interpreter[1]}")
    stdin, stdout, stderr, *extra = run.given
    report_read, report_write = os.pipe2(os.O_CLOEXEC)
    fds = {0: stdin, 1: stdout, 2: stderr, _REPORT: report_write}
    if order.result:
        fds[RESULT_FD] = extra.pop(0)
    if order.request:
        fds[REQUEST_FD] = extra.pop(0)
    root = str(house.place / "root") if house.staged else ""
    python = root + house.interpreter[0] if house.staged else house.interpreter[1]
    argv = [python if part == PLACEHOLDER else part for part in order.argv]
    env = {name: value.replace("/opt/python", f"{root}/opt/python") for name, value in house.environment.items()} if house.staged else {}
    env |= {**order.env, "HOME": str(run.box.path / "box"), "TMPDIR": str(run.box.path / "tmp")}
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(run, fds, argv, env, parent)
    run.child = pid
    os.close(report_write)
    _wait_for_start(report_read)


def _become(run: Run, fds: dict[int, int], argv: list[str], env: Mapping[str, str], parent: int) -> None:
    """In the child: confine, then become the program. Whatever fails before that is told through the report pipe."""
    try:
        become(run, run.order, fds)
        os.set_inheritable(_REPORT, False)
        kernel.die_with(parent)
        os.chdir(run.box.path / "box")
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        if run.order.tier == "C":
            _confine(run)
        _execute(argv, env)
    except BaseException as error:  # noqa: BLE001 - a child that returned would be a second supervisor
        os.write(_REPORT, f"{type(error).__name__}: {error}".encode()[:4000])
    finally:
        os._exit(127)


def _execute(argv: list[str], env: Mapping[str, str]) -> None:
    """Become the program; one that is not there is the asker's affair, as in a shell."""
    try:
        os.execvpe(argv[0], argv, {**env})  # noqa: S606 - no shell is wanted
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode(errors="surrogateescape"))
        os._exit(127)


def _confine(run: Run) -> None:
    """Landlock first: seccomp would refuse its calls to nobody, but an error should name what failed."""
    import ctypes

    house, box = run.house, run.box.path
    shown = [str(house.place / "root"), *house.shown] if house.staged else house.shown
    landlock.restrict([*SYSTEM, *shown], [str(box)], DEVICES)
    alone = run.user is not None or landlock.abi() >= SCOPES_SIGNALS
    code = seccomp.program(kernel.MACHINE, own_namespaces=False, signals=alone)
    buffer = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    kernel.prctl(kernel.PR_SET_SECCOMP, 2, ctypes.byref(Program(len(code) // 8, ctypes.addressof(buffer))))


def _wait_for_start(report: int) -> None:
    """Return when the pipe closes at ``execve``; raises StartError with what came instead."""
    ready, _, _ = select.select([report], [], [], STARTING)
    told = os.read(report, 4096).decode(errors="replace") if ready else "it did not start in time"
    os.close(report)
    if told:
        raise StartError(told)
