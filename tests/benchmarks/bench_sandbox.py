"""Runs of an empty program a second in each tier, beside the bare interpreter in the same run.

    python tests/benchmarks/bench_sandbox.py [--runs 60] [--threads 1 4] [--ballast 0]

The floor is ``python -I -S -c pass`` started by ``subprocess`` from the same process. ``--ballast`` adds megabytes of touched memory to this
process: starting a program must not grow slower with it. No assertion: what else runs on the machine shows in both rows; the CPU time of a run
(of this process, the launcher and all that they waited for) hangs on it less.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from udfs.sandbox.interpreter import this_interpreter
from udfs.sandbox.sandbox import Sandbox, SandboxUnavailableError
from udfs.sandbox.spec import ISOLATED, Job, Tier

TIERS: tuple[Tier, ...] = ("A", "B", "C", "D")


def spent(launcher: int | None) -> float:
    """Seconds of CPU of this process, and of the launcher or else of our children."""
    total = time.process_time()
    if launcher is None:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return total + children.ru_utime + children.ru_stime
    fields = Path(f"/proc/{launcher}/stat").read_text().rpartition(")")[2].split()
    return total + sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def measure(run: Callable[[], object], runs: int, threads: int, launcher: int | None = None) -> tuple[float, float]:
    """(milliseconds between two ends of runs, milliseconds of CPU of one)."""
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: run(), range(threads)))  # warm
        before, begun = spent(launcher), time.perf_counter()
        list(pool.map(lambda _: run(), range(runs)))
        return 1000 / runs * (time.perf_counter() - begun), 1000 / runs * (spent(launcher) - before)


def main() -> None:
    """Print one line for each tier and number of threads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--ballast", type=int, default=0, help="megabytes")
    arguments = parser.parse_args()
    ballast = bytearray(arguments.ballast << 20)
    ballast[::4096] = b"x" * len(ballast[::4096])
    python = str(this_interpreter().executable)

    def bare() -> object:
        return subprocess.run([python, "-I", "-S", "-c", "pass"], check=True)

    print(f"{'what':8}{'threads':>9}{'runs/s':>9}{'ms/run':>9}{'over bare':>11}{'CPU ms/run':>12}{'over bare':>11}")
    for threads in arguments.threads:
        floor, floor_cpu = measure(bare, arguments.runs, threads)
        print(f"{'bare':8}{threads:9}{1000 / floor:9.1f}{floor:9.1f}{'':11}{floor_cpu:12.1f}")
        for tier in TIERS:
            try:
                sandbox = Sandbox.probe(tiers=(tier,))
            except SandboxUnavailableError as error:
                print(f"{tier:8} not here: {error}")
                continue
            launcher = sandbox._launcher._started.process.pid
            wall, cpu = measure(lambda: sandbox.run(Job((*ISOLATED, "-c", "pass"))), arguments.runs, threads, launcher)  # noqa: B023 - called at once
            print(f"{tier:8}{threads:9}{1000 / wall:9.1f}{wall:9.1f}{wall - floor:11.1f}{cpu:12.1f}{cpu - floor_cpu:11.1f}")


if __name__ == "__main__":
    main()
