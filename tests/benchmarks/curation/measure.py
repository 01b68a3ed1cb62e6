"""One command as a whole process tree: wall and CPU seconds, peak of the resident memory of all its processes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Cost:
    """What a run took; ``rc`` None: stopped at the limit."""

    rc: int | None
    wall: float
    cpu: float
    rss_mb: float
    tail: str


def _processes(session: int) -> dict[int, tuple[float, int]]:
    """CPU seconds and resident bytes of every process of the session, by pid."""
    found = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            found[int(entry.name)] = ((int(fields[11]) + int(fields[12])) / TICK, int(fields[21]) * PAGE)
    return found


def run(command: list[str], log: Path, *, limit: float, env: dict[str, str], cwd: Path) -> Cost:
    """Run ``command`` in a session of its own; the CPU time is the larger of what wait4 and what sampling saw (a JVM is nobody's child)."""
    seen: dict[int, float] = {}
    peak, begun = 0, time.monotonic()
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=env, cwd=cwd, start_new_session=True)
    rc = None
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = rc = os.waitstatus_to_exitcode(status)
            break
        now = _processes(process.pid)
        seen.update({pid: seconds for pid, (seconds, _) in now.items()})
        peak = max(peak, sum(size for _, size in now.values()))
        if time.monotonic() - begun > limit:
            os.killpg(process.pid, signal.SIGKILL)
            _, _, usage = os.wait4(process.pid, 0)
            process.returncode = -signal.SIGKILL
            break
        time.sleep(0.05)
    wall = time.monotonic() - begun
    for left in _processes(process.pid):
        os.kill(left, signal.SIGKILL)
    cpu = max(usage.ru_utime + usage.ru_stime, sum(seen.values()))
    return Cost(rc, wall, cpu, peak / 1e6, log.read_text(errors="replace")[-2000:])
