"""Tiers A and B: bubblewrap builds namespaces around the program.

New user, mount, PID, network, IPC, UTS and control-group namespaces, no capabilities, no new privileges, a seccomp filter, an own session.
The program sees the tree read-only (:mod:`udfs.sandbox.stage`), its box, a /proc of its own processes and a /dev without devices of the
machine. Rules are given through a descriptor: /proc/1/cmdline inside tells the program's own command, no more.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import time
from typing import TYPE_CHECKING

from udfs.sandbox import filter as seccomp
from udfs.sandbox import kernel
from udfs.sandbox.order import REQUEST_FD, RESULT_FD, memory_file
from udfs.sandbox.stage import USER
from udfs.sandbox.supervisor import STARTING, Run, StartError, become

if TYPE_CHECKING:
    from pathlib import Path

_ARGS, _INFO, _BLOCK, _SECCOMP = 5, 6, 7, 8
PLACEHOLDER = "{python}"


def start(run: Run) -> None:
    """Start the program; when this returns everything stands and it begins. Raises StartError, OSError."""
    house, order = run.house, run.order
    if house.bwrap is None:
        raise StartError("bubblewrap is not installed")
    if not house.staged:
        raise StartError("no mount namespace can be had here (user namespaces are switched off)")
    if not os.path.exists(house.interpreter[1]):  # noqa: PTH110
        raise StartError(f"the interpreter is gone: {house.interpreter[1]}")
    stdin, stdout, stderr, *extra = run.given
    info_read, info_write = os.pipe()
    gate, theirs = socket.socketpair()
    rules = "\0".join(arguments(run, house.place / "root")) + "\0"
    fds = {0: stdin, 1: stdout, 2: stderr, _INFO: info_write, _BLOCK: theirs.fileno()}
    fds[_ARGS] = memory_file("rules", [rules.encode(errors="surrogateescape")])
    fds[_SECCOMP] = memory_file("filter", [seccomp.program(kernel.MACHINE, own_namespaces=True)])
    if order.result:
        fds[RESULT_FD] = extra.pop(0)
    if order.request:
        fds[REQUEST_FD] = extra.pop(0)
    command = [house.interpreter[0] if part == PLACEHOLDER else part for part in order.argv]
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            become(run, order, fds)
            kernel.die_with(parent)
            os.execve(house.bwrap, ["bwrap", "--args", str(_ARGS), "--", *command], {})  # noqa: S606 - no shell is wanted
        except OSError as error:
            os.write(2, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(126)
    run.child = pid
    theirs.close()
    for fd in (info_write, fds[_ARGS], fds[_SECCOMP]):
        os.close(fd)
    try:
        first = _first_process(info_read)
    finally:
        os.close(info_read)
    run.first, run.init = first, os.pidfd_open(first)
    run.join_group(first)
    _bound_processes(run, first)
    _open(gate)


def arguments(run: Run, root: Path) -> list[str]:
    """The rules of bubblewrap."""
    order, house, box = run.order, run.house, run.box.path
    variables = {**house.environment, **order.env}
    return [
        "--unshare-all", "--unshare-user", "--uid", str(USER), "--gid", str(USER), "--hostname", "sandbox",
        "--new-session", "--die-with-parent", "--cap-drop", "ALL", "--clearenv",
        "--ro-bind", str(root), "/", "--proc", "/proc",
        "--dev", "/dev", "--bind", str(box / "shm"), "/dev/shm", "--remount-ro", "/dev",  # noqa: S108 - the sandbox's own
        "--bind", str(box / "tmp"), "/tmp", "--bind", str(box / "box"), "/box", "--chdir", "/box",  # noqa: S108
        *(part for name, value in variables.items() for part in ("--setenv", name, value)),
        "--info-fd", str(_INFO), "--block-fd", str(_BLOCK), "--seccomp", str(_SECCOMP),
    ]  # fmt: skip


def _first_process(info: int) -> int:
    """Process id, here, of the first process inside; bubblewrap tells it once the namespaces are there."""
    told, deadline = b"", time.monotonic() + STARTING
    while not told.rstrip().endswith(b"}"):
        ready, _, _ = select.select([info], [], [], max(0.0, deadline - time.monotonic()))
        piece = os.read(info, 4096) if ready else b""
        if not piece:
            raise StartError("bubblewrap did not start")
        told += piece
    return int(json.loads(told)["child-pid"])


def _open(gate: socket.socket) -> None:
    """Let bubblewrap go on, and wait until it has: the program's time begins when everything stands.

    It reads one byte when all is built, and closes its end. If it closes its end with the byte unread, it has failed before.
    """
    gate.settimeout(STARTING)
    try:
        gate.send(b"x")
        gate.recv(1)
    except (BrokenPipeError, ConnectionResetError) as error:
        raise StartError("bubblewrap could not build the sandbox") from error
    except TimeoutError as error:
        raise StartError(f"bubblewrap did not build the sandbox within {STARTING:.0f} s") from error
    finally:
        gate.close()


def _bound_processes(run: Run, first: int) -> None:
    """Where the user id is shared with others: bound the processes of the new user namespace alone, which Linux counts since 5.14.

    A bound set before the namespace would count every process of the user, so that a busy machine would fail honest programs.
    """
    if run.user is not None or run.order.tier == "A":
        return
    import resource

    major, minor = (int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    if (major, minor) >= (5, 14):
        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(first, resource.RLIMIT_NPROC, (run.order.pids + 1, run.order.pids + 1))
