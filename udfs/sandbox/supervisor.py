"""One run: its box, its bounds, its start, its end, and nothing left of it. A process of its own, forked by the launcher.

As a subreaper it inherits every process of the run whose parent died, so that it can wait for all of them: their CPU time and the size of
the largest are then known exactly, and none stays behind as a zombie.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

from udfs.sandbox import kernel
from udfs.sandbox.box import Box
from udfs.sandbox.cgroup import Group
from udfs.sandbox.order import STARTED, Ending, Order, pack, unpack_order

if TYPE_CHECKING:
    from udfs.sandbox.launcher import House

#: Seconds that killed processes may take to be gone; only a process stuck in the kernel takes longer than a moment.
DYING = 15.0
#: Seconds that the start may take before the run is given up as our failure.
STARTING = 60.0
#: Where only counting bounds the processes of a run: seconds between two counts, and how many it may get ahead of them.
COUNTING = 0.1
SPARE_PROCESSES = 2000


class StartError(Exception):
    """The sandbox could not be built."""


def supervise(house: House, slot: int, fds: list[int]) -> None:
    """Run one order and send its ending; never raises."""
    control = socket.socket(fileno=fds[0])
    ending, contents = Ending(error="the supervisor failed"), []
    try:
        run = Run(house, slot, fds)
        try:
            run.start()
            control.send(STARTED)
            run.watch(control)
        except StartError as error:
            run.ending.error = str(error)
        except OSError as error:
            run.ending.error = f"{type(error).__name__}: {error}"
        finally:
            contents = run.finish()
        ending = run.ending
    except Exception as error:  # noqa: BLE001 - the process that waits must hear it
        ending = Ending(error=f"{type(error).__name__}: {error}")
    with contextlib.suppress(OSError):  # whoever asked may be gone
        fd = pack(ending, contents)
        socket.send_fds(control, [b"ended"], [fd])


class Run:
    """The state of one run."""

    def __init__(self, house: House, slot: int, fds: list[int]) -> None:
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.house, self.slot = house, slot
        order_fd, *self.given = fds[1:]
        self.order, self._contents = unpack_order(order_fd)
        os.close(order_fd)
        self.user = None if house.first_user is None else house.first_user + slot % 1024
        self.ending = Ending()
        self.child = 0
        self.init: int | None = None  # pidfd of the first process of the run's PID namespace
        self.first = 0  # its process id here
        self._status: int | None = None
        self._group: Group | None = None
        self._box: Box | None = None

    def start(self) -> None:
        """Lay the box, then start the program in its tier; raises StartError, OSError."""
        order, house = self.order, self.house
        owner = None if self.user is None else (self.user, self.user)
        self._box = Box(house.place / f"run-{os.getpid()}", owner, order.disk, mounted=house.staged)
        for (name, _), content in zip(order.files, self._contents, strict=True):
            self._box.lay(name, content)
        self._contents = []
        if order.tier == "A":
            if house.groups is None:
                raise StartError("no control group can be made here")
            self._group = Group.make(house.groups, os.getpid(), order.memory, order.pids + 1)
        from udfs.sandbox import bubblewrap, confine

        (bubblewrap if order.tier in {"A", "B"} else confine).start(self)

    @property
    def box(self) -> Box:
        """The box, once :meth:`start` has laid it."""
        if self._box is None:
            raise StartError("no box yet")
        return self._box

    def join_group(self, pid: int) -> None:
        """Bound a process that has not started anything yet by the control group."""
        if self._group is not None:
            self._group.join(pid)

    def watch(self, control: socket.socket) -> None:
        """Wait for the end of the program, or for a reason to end it."""
        fd = os.pidfd_open(self.child)
        poll = select.poll()
        for watched in (fd, control.fileno(), *self.house.watched[:2]):
            poll.register(watched, select.POLLIN)
        deadline = time.monotonic() + self.order.backup
        counted = self.user is None and self.order.tier in {"C", "D"}
        while True:
            left = max(0.0, deadline - time.monotonic())
            ready = {number for number, _ in poll.poll(1000 * (min(left, COUNTING) if counted else left))}
            if counted and not ready and left > 0:
                if _count_below(os.getpid()) <= self.order.pids:
                    continue
                self.ending.pids = 1
            if not ready or ready & set(self.house.watched) or control.fileno() in ready:
                break
            if fd in ready:
                break
        os.close(fd)

    def finish(self) -> list[bytes]:
        """End what still runs, wait until it is gone, take back what is wanted, remove the rest; returns the kept files."""
        order, contents = self.order, []
        for fd in self.given:
            with contextlib.suppress(OSError):
                os.close(fd)
        if not self._end():
            self.ending.error = self.ending.error or f"processes of the run did not end within {DYING:.0f} s"
        self._explain()
        if self._group is not None:
            usage = self._group.usage()
            self.ending.oom, self.ending.pids = usage.oom_kills, usage.pids_refused
        if self._box is not None:
            room = order.keep_bytes
            for name in order.keep:
                content = self._box.read(name, room)
                if content is not None:
                    self.ending.kept.append((name, len(content)))
                    contents.append(content)
                    room -= len(content)
            self._box.remove()
        if self._group is not None:
            self._group.remove()
        return contents

    def _explain(self) -> None:
        """Exit code and signal of the program. bubblewrap tells a signal as 128 + its number, as shells do."""
        if self._status is None:
            return
        code = os.waitstatus_to_exitcode(self._status)
        if code < 0:
            self.ending.signal = -code
        elif self.order.tier in {"A", "B"} and 128 < code <= 128 + 64:
            self.ending.signal = code - 128
        else:
            self.ending.returncode = code

    def _end(self) -> bool:
        """Kill and wait until no process of the run is left; False if some would not go."""
        deadline = time.monotonic() + DYING
        if self.child == 0:
            return True
        self._kill_program()
        while time.monotonic() < deadline:
            if self._reap():
                return True
            self._kill()
            time.sleep(0.001)
        return False

    def _reap(self) -> bool:
        """Wait for whatever is dead; True if nothing is left."""
        if not self._first():
            return False
        while True:
            try:
                pid, _, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return False
            self._count(usage, largest=True)

    def _first(self) -> bool:
        """Wait for the process that we started, if it is dead; it goes first, because its exit code is that of the program."""
        if self._status is not None:
            return True
        pid, status, usage = os.wait4(self.child, os.WNOHANG)
        if pid == 0:
            return False
        self._status = status
        # bubblewrap's own process is not the program's; it also carries the size that we had when we forked it.
        self._count(usage, largest=self.order.tier not in {"A", "B"})
        return True

    def _count(self, usage: object, *, largest: bool) -> None:
        self.ending.cpu += usage.ru_utime + usage.ru_stime  # type: ignore[attr-defined]  # resource.struct_rusage
        if largest:
            self.ending.max_rss = max(self.ending.max_rss, usage.ru_maxrss * 1024)  # type: ignore[attr-defined]

    def _kill_program(self) -> None:
        """Kill what the namespace's first process started, and give it a moment to wait for that.

        Linux counts the time and the size of processes that were waited for; those that fall with their namespace are lost to the figures.
        """
        if self.init is None or self._first():
            return
        with contextlib.suppress(OSError):
            for pid in Path(f"/proc/{self.first}/task/{self.first}/children").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
        deadline = time.monotonic() + 0.1
        while time.monotonic() < deadline and not self._first():
            time.sleep(0.001)

    def _kill(self) -> None:
        """Kill everything of the run that can be reached."""
        from udfs.sandbox.launcher import children

        if self.init is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.init, signal.SIGKILL)
        if self.order.tier not in {"A", "B"} and self.user is not None:
            self._kill_user()
        for pid in children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _kill_user(self) -> None:
        """Kill all processes of the run's user at once, so that none can fork ahead of us."""
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(OSError):
                os.setresuid(self.user, self.user, self.user)  # type: ignore[arg-type]  # checked by the caller
                os.kill(-1, signal.SIGKILL)  # kill(-1) spares the caller
            os._exit(0)
        os.waitpid(pid, 0)


def _count_below(pid: int) -> int:
    """Threads of all processes below this one."""
    count, found = 0, [pid]
    while found:
        with contextlib.suppress(OSError):
            at = found.pop()
            for task in os.listdir(f"/proc/{at}/task"):  # noqa: PTH208 - names alone
                count += at != pid
                found += map(int, Path(f"/proc/{at}/task/{task}/children").read_text().split())
    return count


def become(run: Run, order: Order, fds: dict[int, int]) -> None:
    """In the child: descriptors in their places, bounds, another user. What follows is ``execve``.

    Args:
        run: the run.
        order: its order.
        fds: number that the program shall see -> our number.
    """
    import fcntl
    import resource

    high = {wanted: fcntl.fcntl(fd, fcntl.F_DUPFD, 64) for wanted, fd in fds.items()}
    for wanted in range(max(high)):
        if wanted not in high:
            with contextlib.suppress(OSError):
                os.close(wanted)
    for wanted, fd in high.items():
        os.dup2(fd, wanted)
    kernel.close_from(max(high) + 1)
    for number in range(1, signal.NSIG):
        if number not in {signal.SIGKILL, signal.SIGSTOP}:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
    os.setsid()
    os.umask(0o022)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - if memory runs out, let it be the program's
        file.write("1000")
    cpu = max(1, -int(-order.cpu // 1))
    bounds = [
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_FSIZE, order.file_size, order.file_size),
        (resource.RLIMIT_NOFILE, order.open_files, order.open_files),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_STACK, 8 << 20, 8 << 20),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
        (resource.RLIMIT_MEMLOCK, 64 << 10, 64 << 10),
    ]
    if order.tier != "A":
        bounds.append((resource.RLIMIT_AS, order.memory, order.memory))
    if run.user is not None and order.tier != "A":
        ours = 2 if order.tier == "B" else 0  # bubblewrap's own process and the first one inside carry the same user id
        bounds.append((resource.RLIMIT_NPROC, order.pids + ours, order.pids + ours))
    elif order.tier in {"C", "D"}:
        # The user's other processes count too, and change: a bound for the machine's sake. The supervisor counts those of the run.
        most = sum(1 for entry in os.scandir("/proc") if entry.name.isdigit()) + order.pids + SPARE_PROCESSES
        bounds.append((resource.RLIMIT_NPROC, most, most))
    for kind, soft, hard in bounds:
        most = resource.getrlimit(kind)[1]
        if most != resource.RLIM_INFINITY:  # never ask for more than we have: it would fail, not be cut
            soft, hard = min(soft, most), min(hard, most)  # noqa: PLW2901
        resource.setrlimit(kind, (soft, hard))
    if run.user is not None:
        become_user(run.user)


def become_user(user: int) -> None:
    """Give up every right but those of this user id and group id; raises OSError."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
