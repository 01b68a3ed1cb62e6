"""Control groups: memory and processes of a whole run, where this process may make groups (version 2, or version 1 with both controllers)."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

PREFIX = "verilake-"
#: A group that is empty and older than this belongs to nobody (its maker was killed with everything that it had started).
STALE = 60.0


@dataclass(frozen=True, slots=True)
class Usage:
    """What the groups of one run counted: seconds, bytes, and how often a bound was met."""

    cpu: float
    peak: int
    oom_kills: int
    pids_refused: int


@dataclass(frozen=True, slots=True)
class Groups:
    """Where groups can be made: one folder in version 2, one of each controller in version 1."""

    memory: Path
    pids: Path
    version: int

    @classmethod
    def find(cls) -> Groups | None:
        """The folders below which this process may make groups; None where it may not."""
        try:
            own = _own_folders()
            if "memory" in own and "pids" in own:
                found = cls(own["memory"], own["pids"], 1)
            elif "" in own and _delegated(own[""]):
                found = cls(own[""], own[""], 2)
            else:
                return None
            found.sweep()
            probe = Group.make(found, os.getpid(), 64 << 20, 8)
            probe.remove()
        except OSError:
            return None
        return found

    def sweep(self) -> None:
        """Remove groups that a killed process left."""
        for folder in {self.memory, self.pids}:
            for left in folder.glob(f"{PREFIX}*"):
                with contextlib.suppress(OSError):
                    if time.time() - left.stat().st_mtime > STALE:
                        left.rmdir()  # fails while a process is in it


@dataclass(frozen=True, slots=True)
class Group:
    """The groups of one run."""

    memory: Path
    pids: Path
    version: int

    @classmethod
    def make(cls, groups: Groups, supervisor: int, memory: int, pids: int) -> Group:
        """A fresh group with its bounds; raises OSError."""
        group = cls.of(groups, supervisor)
        group.memory.mkdir()
        try:
            if group.pids != group.memory:
                group.pids.mkdir()
            if group.version == 2:
                (group.memory / "memory.max").write_text(str(memory))
                _write_if_there(group.memory / "memory.swap.max", "0")
                _write_if_there(group.memory / "memory.oom.group", "0")
            else:
                (group.memory / "memory.limit_in_bytes").write_text(str(memory))
                _write_if_there(group.memory / "memory.memsw.limit_in_bytes", str(memory))
            (group.pids / "pids.max").write_text(str(pids))
        except OSError:
            group.remove()
            raise
        return group

    def join(self, pid: int) -> None:
        """Move a process in; what it starts is born inside."""
        for folder in {self.memory, self.pids}:
            (folder / "cgroup.procs").write_text(str(pid))

    def usage(self) -> Usage:
        """What was counted so far."""
        if self.version == 2:
            events, cpu = _pairs(self.memory / "memory.events"), _pairs(self.memory / "cpu.stat")
            return Usage(
                cpu.get("usage_usec", 0) / 1e6,
                _number(self.memory / "memory.peak"),
                events.get("oom_kill", 0),
                _pairs(self.pids / "pids.events").get("max", 0),
            )
        return Usage(
            0.0,
            _number(self.memory / "memory.max_usage_in_bytes"),
            _pairs(self.memory / "memory.oom_control").get("oom_kill", 0),
            _pairs(self.pids / "pids.events").get("max", 0),
        )

    @classmethod
    def of(cls, groups: Groups, supervisor: int) -> Group:
        """The group of the run that this supervisor watches."""
        name = f"{PREFIX}{supervisor}"
        return cls(groups.memory / name, groups.pids / name, groups.version)

    def gone(self) -> bool:
        """Remove the groups if nobody is in them any more; True if they are not there."""
        for folder in {self.memory, self.pids}:
            with contextlib.suppress(OSError):
                folder.rmdir()
        return not (self.memory.exists() or self.pids.exists())

    def remove(self) -> None:
        """Remove the groups; their processes must be gone."""
        for _ in range(200):  # a dead process leaves its group a moment after it was waited for
            if self.gone():
                break
            time.sleep(0.005)


def _own_folders() -> dict[str, Path]:
    """Controller ("" for version 2) -> folder of this process's own group."""
    paths = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            paths[name] = path
    out: dict[str, Path] = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        names = [""] if kind[0] == "cgroup2" else kind[2].split(",") if kind[0] == "cgroup" else []
        for name in names:
            if name in paths and (inner := _below(paths[name], fields[3])) is not None:
                out.setdefault(name, Path(fields[4] + inner))
    return {name: folder for name, folder in out.items() if folder.is_dir()}


def _below(path: str, root: str) -> str | None:
    """The part of a group's path that lies below the mounted root."""
    if root == "/":
        return path if path != "/" else ""
    return path[len(root) :] if path == root or path.startswith(root + "/") else None


def _delegated(folder: Path) -> bool:
    """Whether groups below this one have memory and pids, switching them on where that is ours to do."""
    needed, control = {"memory", "pids"}, folder / "cgroup.subtree_control"
    if not needed <= set(control.read_text().split()):
        try:
            control.write_text("+memory +pids")
        except OSError:  # EBUSY: a group that holds processes may not hand on controllers
            return False
    return needed <= set(control.read_text().split())


def _write_if_there(path: Path, text: str) -> None:
    with contextlib.suppress(OSError):
        path.write_text(text)


def _pairs(path: Path) -> dict[str, int]:
    with contextlib.suppress(OSError, ValueError):
        return {name: int(value) for name, value in (line.split() for line in path.read_text().splitlines())}
    return {}


def _number(path: Path) -> int:
    with contextlib.suppress(OSError, ValueError):
        return int(path.read_text())
    return 0
