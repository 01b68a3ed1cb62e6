"""``python -m gpu_workers --run DIR``: drain a hand-off run.

Progress goes to stdout, one JSON object per shard that ended; the log goes to stderr. SIGTERM and SIGINT: finish the item
at hand, keep what is finished, release the shard, end. Exit codes: 0 drained, 2 wrong use, 3 run refused, 4 stopped before
the run was drained, 5 drained but for shards that could not even be committed as failed, 6 the engine died and wants a new process,
1 anything else, a store that stays away among it.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from collections.abc import Sequence
from types import FrameType

from gpu_workers.errors import EXIT_DEAD_LETTERS, EXIT_DRAINED
from gpu_workers.launch import launch
from gpu_workers.log import Log
from gpu_workers.programs.registry import build_program
from gpu_workers.worker import Worker
from schemas.errors import VerilakeError
from udfs.store.run import HandoffRun
from udfs.store.store import is_store_fault


class Stop:
    """Remembers that a signal asked the process to end; the death of the process that started it asks, too."""

    def __init__(self, parent: int | None) -> None:
        self.asked = False
        self._parent = parent
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.asked = True

    def __call__(self) -> bool:
        """Whether it did."""
        return self.asked or (self._parent is not None and os.getppid() != self._parent)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line; argparse ends the process with 2 on wrong use."""
    parser = argparse.ArgumentParser(prog="python -m gpu_workers", description="Drain a hand-off run of verilake.")
    parser.add_argument(
        "--run", required=True, metavar="DIR", help="run=<run_id> of a planned run: a directory, or s3://BUCKET/PREFIX/run=..."
    )
    parser.add_argument("--worker-id", default=f"{socket.gethostname()}-{os.getpid()}", help="name in claims, commits and rows")
    parser.add_argument("--workers", type=int, metavar="N", help="start N worker processes and wait for them")
    parser.add_argument("--engine-option", action="append", default=[], metavar="KEY=VALUE", help="option of the engine on this machine")
    parser.add_argument("--parent", type=int, metavar="PID", help="end, as by SIGTERM, once this is no longer the parent process")
    parser.add_argument("--poll-seconds", type=float, default=0.5, help="pause while other workers hold all open shards")
    parsed = parser.parse_args(arguments)
    if parsed.workers is not None and parsed.workers < 1:
        parser.error(f"--workers {parsed.workers}: at least 1")
    if any("=" not in option for option in parsed.engine_option):
        parser.error("--engine-option: expected KEY=VALUE")
    return parsed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one worker, or start several; returns the exit code."""
    parsed = parse(sys.argv[1:] if arguments is None else arguments)
    stop = Stop(parsed.parent)
    log = Log(parsed.run, parsed.worker_id)
    try:
        run = HandoffRun(parsed.run)
        log = Log(run.plan.run_id, parsed.worker_id)
        if not set(run.plan.shards) - run.committed() - run.dead():
            return EXIT_DEAD_LETTERS if run.dead() else EXIT_DRAINED
        if parsed.workers is not None:
            further = ["--poll-seconds", str(parsed.poll_seconds)]
            for option in parsed.engine_option:
                further += ["--engine-option", option]
            return launch(run, parsed.worker_id, parsed.workers, further, log, stop)
        options = dict(option.split("=", 1) for option in parsed.engine_option)
        return Worker(run, build_program(run, options), parsed.worker_id, log, stop, parsed.poll_seconds).drain()
    except VerilakeError as error:
        log.event("refused", level="error", reason=str(error))
        return error.exit_code
    except OSError as error:
        if not is_store_fault(error):
            raise
        log.event("store_away", level="error", reason=f"{parsed.run}: {error}. Nothing is lost; start again when there is room.")
        return 1


if __name__ == "__main__":
    sys.exit(main())
