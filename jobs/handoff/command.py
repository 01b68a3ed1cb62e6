"""How a worker is started, by whichever launcher: ``python -m gpu_workers`` with the interpreter that the configuration names."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping


def worker_command(python: str, root: str, workers: int, worker_id: str, engine_options: Mapping[str, object]) -> list[str]:
    """The command that drains a run with ``workers`` processes, which end when this process ends.

    Args:
        python: interpreter; empty for this one.
        root: the run.
        workers: processes.
        worker_id: prefix of their names.
        engine_options: options of the engine on this machine.
    """
    options = [text for name, value in engine_options.items() for text in ("--engine-option", f"{name}={value}")]
    start = [python or sys.executable, "-m", "gpu_workers", "--run", root]
    return [*start, "--workers", str(workers), "--worker-id", worker_id, "--parent", str(os.getpid()), *options]
