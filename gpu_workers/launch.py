"""Starts several worker processes on one machine and waits for them; a worker that was killed is replaced."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from gpu_workers.engines.devices import INDEX
from gpu_workers.errors import EXIT_DEAD_LETTERS, EXIT_DRAINED, EXIT_ENGINE_DEAD, EXIT_STOPPED
from gpu_workers.log import Log
from udfs.store.run import HandoffRun

_CLEAN = (EXIT_DRAINED, EXIT_STOPPED, EXIT_DEAD_LETTERS)


def launch(run: HandoffRun, worker_id: str, workers: int, arguments: Sequence[str], log: Log, asked_to_stop: Callable[[], bool]) -> int:
    """Run ``workers`` processes until each has ended; they write their progress to this process's stdout.

    Workers that end by a signal (a poison item, the kernel's memory killer), or because their engine died, are started anew, at
    most as often as the run's shards may be attempted, so that nothing spins for ever. What a dead one left behind (an engine's own
    processes, which hold the device) is ended first: each worker leads a process group.

    Args:
        run: a planned run.
        worker_id: prefix of the workers' names.
        workers: number of processes; no more are started than there are shards.
        arguments: further arguments of each worker.
        log: structured log.
        asked_to_stop: True once this process was asked to end; it is passed on.

    Returns:
        The worst exit code: refusal and error over dead letters over stopped over drained.
    """
    restarts = 2 * run.plan.max_attempts * max(1, len(run.plan.shards))

    def start(name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "gpu_workers", "--run", run.store.uri, "--worker-id", name, "--parent", str(os.getpid())]
        environment = {**os.environ, INDEX: name.removeprefix(f"{worker_id}-")}
        return subprocess.Popen([*command, *arguments], process_group=0, env=environment)

    running = {f"{worker_id}-{k}": start(f"{worker_id}-{k}") for k in range(min(workers, max(1, len(run.plan.shards))))}
    codes: list[int] = []
    told = False
    while running:
        time.sleep(0.05)
        if asked_to_stop() and not told:
            told = True
            for process in running.values():
                process.send_signal(signal.SIGTERM)
        for name, process in list(running.items()):
            code = process.poll()
            if code is None:
                continue
            del running[name]
            if code not in _CLEAN:
                with suppress(ProcessLookupError, PermissionError):  # nothing of it is left
                    os.killpg(process.pid, signal.SIGKILL)
            if (code < 0 or code == EXIT_ENGINE_DEAD) and restarts > 0 and not told:
                restarts -= 1
                log.event("worker_died", level="error", worker=name, exit_code=code)
                running[name] = start(name)
            else:
                codes.append(code)
    return _worst(codes)


def _worst(codes: Sequence[int]) -> int:
    rank = {EXIT_DRAINED: 0, EXIT_STOPPED: 1, EXIT_DEAD_LETTERS: 2}
    worst = max(codes, key=lambda code: rank.get(code, 3))
    return worst if worst >= 0 else 1
