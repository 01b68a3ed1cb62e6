"""Several real workers of one run as forks of one process that imports everything once: starting eight interpreters costs more than the work.

``python -m tests.faults.forked_workers RUN --workers N``. With ``--poison`` the engine kills the process as soon as it is given such an
item, be it alone or with others; ``--at-once`` items go to it together, and with ``--silent`` nobody tells which.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import sys
import time

from gpu_workers.log import Log
from gpu_workers.programs.registry import build_program
from gpu_workers.worker import Worker
from schemas.handoff import ITEM_KEYS
from udfs.store.run import HandoffRun


class Batched:
    """A program that is given several items at once, and an engine that some of them kill."""

    def __init__(self, inner, key, at_once, poison, *, silent, seconds):
        self._inner, self._key, self._at_once, self._poison, self._silent, self._seconds = inner, key, at_once, poison, silent, seconds

    def generate(self, items, origin, begun):
        waiting = iter(items)
        while batch := list(itertools.islice(waiting, self._at_once)):
            keys = [item[self._key] for item in batch]
            if not self._silent:
                begun(keys)
            if self._poison & set(keys):
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(self._seconds)
            yield from self._inner.generate(batch, origin, lambda _: None)

    def failed(self, item, origin, failure_class, reason):
        return self._inner.failed(item, origin, failure_class, reason)


def work(parsed, number):
    run = HandoffRun(parsed.run)
    program = build_program(run, {})
    key = ITEM_KEYS[run.plan.program]
    batched = Batched(program, key, parsed.at_once, set(parsed.poison), silent=parsed.silent, seconds=parsed.seconds)
    worker = Worker(run, batched, f"w{number}", Log(run.plan.run_id, f"w{number}"), lambda: False, parsed.poll_seconds, parsed.patience)
    return worker.drain()


def start(parsed, number):
    child = os.fork()
    if not child:
        try:
            code = work(parsed, number)
        except OSError as error:
            sys.stderr.write(f'{{"event": "ended", "reason": "{error}"}}\n')
            code = 1
        os._exit(code)
    return child


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--poison", action="append", default=[])
    parser.add_argument("--silent", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--poll-seconds", type=float, default=0.05)
    parser.add_argument("--patience", type=float, default=60.0)
    parser.add_argument("--deaths", type=int, default=60, help="after so many no worker is started again")
    parsed = parser.parse_args()
    running, codes, deaths = {start(parsed, number): number for number in range(parsed.workers)}, [], 0
    while running:
        child, status = os.wait()
        number, code = running.pop(child), os.waitstatus_to_exitcode(status)
        deaths += code < 0
        if code < 0 and deaths <= parsed.deaths:
            running[start(parsed, number)] = number
        else:
            codes.append(code)
    sys.stdout.write(f'{{"deaths": {deaths}, "codes": {sorted(codes)}}}\n')
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
