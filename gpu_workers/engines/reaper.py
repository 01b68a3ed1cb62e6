"""Ends the processes of an engine when the worker that started them is gone, however it went.

vLLM's EngineCore does not notice that its parent was killed (G§1.9: it lives on and holds the GPU's memory). A small process watches
the worker through a descriptor of the process, which no reused process id can deceive, remembers its descendants in the same way,
and kills them once the worker has ended. Linux alone; elsewhere nothing is watched.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

#: Seconds between two looks at the worker's descendants.
PERIOD = 0.5


def watch_this_process() -> subprocess.Popen[bytes] | None:
    """Start a reaper for this process; it ends by itself when this process does. None where the system cannot.

    The caller starts it before its engine, so that a death while the engine loads leaves nothing either.
    """
    if not hasattr(os, "pidfd_open"):
        return None
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "gpu_workers.engines.reaper", str(os.getpid())]
    return subprocess.Popen(
        command,
        env=environment,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def descendants(pid: int) -> set[int]:
    """Process ids below ``pid``, by /proc; those that end meanwhile are left out."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        for listing in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                children = {int(child) for child in listing.read_text("ascii").split()}
            except OSError:
                continue
            waiting.extend(children - found)
            found |= children
    return found


def reap(worker: int) -> None:
    """Wait for the end of ``worker``, then kill what descended from it and still runs."""
    try:
        watched = os.pidfd_open(worker)
    except ProcessLookupError:
        return
    if os.getppid() != worker:  # it died before it could be watched, and its id is another's by now
        return
    known: dict[int, int] = {}
    while not select.select([watched], [], [], PERIOD)[0]:
        alive = descendants(worker) - {os.getpid()}
        for pid in known.keys() - alive:
            os.close(known.pop(pid))
        for pid in alive - known.keys():
            try:
                known[pid] = os.pidfd_open(pid)
            except OSError:
                continue
    for handle in known.values():
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        except OSError:
            continue


if __name__ == "__main__":
    reap(int(sys.argv[1]))
