"""Runs of an empty program a second in each tier, beside the bare interpreter in the same run.

    python tests/benchmarks/bench_sandbox.py [--runs 60] [--threads 1 4] [--ballast 0]

The floor is ``python -I -S -c pass`` started by ``subprocess`` from the same process. ``--ballast`` adds megabytes of touched memory to this
process: starting a program must not grow slower with it. No assertion: what else runs on the machine shows in both columns.
"""

from __future__ import annotations

import argparse
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


def rate(run: Callable[[], object], runs: int, threads: int) -> float:
    """Runs a second."""
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: run(), range(threads)))  # warm
        begun = time.perf_counter()
        list(pool.map(lambda _: run(), range(runs)))
        return runs / (time.perf_counter() - begun)


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

    print(f"{'what':8}{'threads':>9}{'runs/s':>9}{'ms/run':>9}{'over bare':>11}")
    for threads in arguments.threads:
        floor = rate(bare, arguments.runs, threads)
        print(f"{'bare':8}{threads:9}{floor:9.1f}{1000 / floor:9.1f}")
        for tier in TIERS:
            try:
                sandbox = Sandbox.probe(tiers=(tier,))
            except SandboxUnavailableError as error:
                print(f"{tier:8} not here: {error}")
                continue
            measured = rate(lambda: sandbox.run(Job((*ISOLATED, "-c", "pass"))), arguments.runs, threads)  # noqa: B023 - called at once
            print(f"{tier:8}{threads:9}{measured:9.1f}{1000 / measured:9.1f}{1000 / measured - 1000 / floor:11.1f}")


if __name__ == "__main__":
    main()
