"""The launcher: a small process with one thread that starts programs for a large one with many.

Forking a process of gigabytes is slow, forking one with threads is unsafe, a parent-death signal follows the thread that forked, and a
subreaper must not be the user's own process. So each process that uses the sandbox starts one launcher (``python -I -S``), which forks a
supervisor for each run (:mod:`udfs.sandbox.supervisor`). It ends with the process that started it, whatever became of that.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from udfs.sandbox import kernel
from udfs.sandbox.cgroup import Groups

MOST_FDS = 8


@dataclass(slots=True)
class House:
    """What every run of this launcher shares.

    Attributes:
        place: folder of the tree and the boxes.
        staged: whether the tree is there, in a mount namespace of our own.
        groups: where control groups can be made.
        bwrap: path of bubblewrap; None where there is none.
        first_user: first of the user ids that runs may take, one each; None where we may not change ours.
        interpreter: paths of the interpreter, in the tree and outside it.
        environment: variables that it needs in the tree.
        shown: paths outside of what the tree shows beside the system.
        watched: descriptors that become readable when the process that uses us is gone, and when the launcher is.
    """

    place: Path
    staged: bool
    groups: Groups | None
    bwrap: str | None
    first_user: int | None
    interpreter: tuple[str, str]
    environment: dict[str, str]
    shown: list[str]
    watched: tuple[int, ...]


def main(sock_fd: int, parent: int, settings: str) -> None:
    """Serve orders until the process that started us is gone.

    Args:
        sock_fd: our end of the socket for orders.
        parent: process id of the one that started us.
        settings: JSON of what the tree shows.
    """
    sock = socket.socket(fileno=sock_fd)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    try:
        watch = os.pidfd_open(parent)
        if os.getppid() != parent:
            return
        house = _settle(json.loads(settings), watch)
    except Exception as error:  # noqa: BLE001 - whatever it is, the process that waits must hear it
        sock.send(json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        return
    sock.send(
        json.dumps({"staged": house.staged, "groups": house.groups is not None, "bwrap": house.bwrap, "place": str(house.place)}).encode()
    )
    try:
        _serve(sock, watch, house)
    finally:
        if not house.staged:
            with contextlib.suppress(OSError):
                house.place.rmdir()


def _settle(settings: dict[str, object], watch: int) -> House:
    """Find out what can be had here, and lay the tree; import whatever a run needs, so that no run pays for it."""
    import fcntl  # noqa: F401
    import gc
    import resource  # noqa: F401

    from udfs.sandbox import bubblewrap, confine, stage  # noqa: F401
    from udfs.sandbox.supervisor import become_user

    gc.disable()
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    groups = Groups.find()  # before the namespace: its folders are those of the machine
    first_user = _reserve_users() if os.geteuid() == 0 else None
    if first_user is not None and not _tried(partial(become_user, first_user)):
        first_user = None  # a container's root that may not change users
    staged = _tried(partial(stage.private_namespace, trial=True))
    shown = [(str(source), str(target)) for source, target in settings["shown"]]  # type: ignore[attr-defined]  # JSON
    if staged:
        stage.private_namespace()
        place = stage.lay(shown)
    else:
        place = Path(str(settings["scratch"]))
        place.mkdir(mode=0o711)
    life = os.pipe()
    os.set_inheritable(life[1], False)
    gc.freeze()  # pages that hold it stay shared with the supervisors
    interpreter = (str(settings["inside"]), str(settings["outside"]))
    environment = dict(settings["environment"])  # type: ignore[call-overload]  # JSON
    bwrap = settings["bwrap"]
    return House(
        place,
        staged,
        groups,
        str(bwrap) if bwrap else None,
        first_user,
        interpreter,
        environment,
        [source for source, _ in shown],
        (watch, *life),
    )


def _tried(attempt: Callable[[], None]) -> bool:
    """Whether this succeeds in a child of ours: a failure half-way must not be ours."""
    pid = os.fork()
    if pid == 0:
        try:
            attempt()
        except BaseException:  # noqa: BLE001 - the answer is the exit code
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def _reserve_users() -> int | None:
    """The first of 1024 user ids that no other launcher of this machine uses; None where there is no room for them.

    The reservation is an abstract socket: it ends with the process, and no file is left.
    """
    fields = Path("/proc/self/uid_map").read_text().split()
    roomy = int(fields[0]) == 0 and int(fields[2]) > 0x7FFFFFFF
    start, blocks = (0x60000000, 4096) if roomy else (20000, 30)
    if not roomy and int(fields[2]) < 65536:
        return None
    for block in range(blocks):
        reserve = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            reserve.bind(f"\0verilake-sandbox-users-{start + 1024 * block}")
        except OSError:
            reserve.close()
            continue
        reserve.detach()  # open to our end
        return start + 1024 * block
    return None


def _serve(sock: socket.socket, watch: int, house: House) -> None:
    """Fork a supervisor for each order; wait for those that are done."""
    from udfs.sandbox.supervisor import supervise

    running: dict[int, int] = {}
    left: set[int] = set()
    woken, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    poll = select.poll()
    for fd in (sock.fileno(), watch, woken):
        poll.register(fd, select.POLLIN)
    while True:
        ready = {fd for fd, _ in poll.poll(20 if left else None)}
        if woken in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(woken, 4096)
        left |= _reap(running)
        left = {pid for pid in left if not _tidied(house, pid)}
        if watch in ready:
            break
        if sock.fileno() not in ready:
            continue
        message, fds = _receive(sock)
        if not message:
            break
        taken = set(running.values())
        slot = next(at for at in range(len(running) + 1) if at not in taken)
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            for fd in (sock.fileno(), woken, wake, house.watched[2]):
                os.close(fd)
            try:
                supervise(house, slot, fds)
            finally:
                os._exit(0)
        for fd in fds:
            os.close(fd)
        running[pid] = slot
    while running:  # they saw the same, and tidy up
        left |= _reap(running, wait=True)
    for pid in left:
        _tidied(house, pid)


def _reap(running: dict[int, int], *, wait: bool = False) -> set[int]:
    """Wait for finished supervisors, and for what a killed supervisor left to us, which is ended first; returns those that were killed."""
    killed: set[int] = set()
    while True:
        try:
            pid, status = os.waitpid(-1, 0 if wait else os.WNOHANG)
        except ChildProcessError:
            running.clear()
            return killed
        if pid == 0:
            return killed
        if running.pop(pid, None) is not None and os.WIFSIGNALED(status):
            killed.add(pid)
        if os.WIFSIGNALED(status):
            for orphan in children():
                if orphan not in running:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(orphan, signal.SIGKILL)


def _tidied(house: House, supervisor: int) -> bool:
    """Remove what a killed supervisor could not; False while its processes are not gone yet."""
    from udfs.sandbox.box import remove
    from udfs.sandbox.cgroup import Group

    if house.groups is not None and not Group.of(house.groups, supervisor).gone():
        return False
    remove(house.place / f"run-{supervisor}", mounted=house.staged)
    return True


def children() -> list[int]:
    """Process ids of our children, also of those that came to us because their parents died."""
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except OSError:
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _parent(pid) == os.getpid()]  # noqa: PTH208 - names alone


def _parent(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def _receive(sock: socket.socket) -> tuple[bytes, list[int]]:
    fds = array.array("i")
    message, ancillary, _, _ = sock.recvmsg(64, socket.CMSG_SPACE(MOST_FDS * fds.itemsize))
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return message, list(fds)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
