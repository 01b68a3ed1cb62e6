"""Gradings of programs per second: ``python -m tests.benchmarks.bench_coding [SECONDS]``.

A grading runs both sandboxes: the tests in one, the program in the other. Beside it, in the same run and with as many threads: the same number
of bare interpreters started two by two (the floor), and the processor time of each, since a busy machine blurs the clock.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from schemas.code import CodeContract
from udfs.coding.rewards import grade_code
from udfs.sandbox.sandbox import default_sandbox

THREADS = len(os.sched_getaffinity(0))
TESTS = "".join(f"    assert candidate({n}) == {n * (n + 1) * (2 * n + 1) // 6}\n" for n in (3, 10, 25, 40, 99, 120))
CONTRACTS = {
    "check(candidate)": {"kind": "assert", "entry_point": "f", "code": f"def check(candidate):\n{TESTS}"},
    "call": {"kind": "call", "entry_point": "f", "inputs": ["[3]", "[10]", "[25]"], "outputs": ["14", "385", "5525"]},
    "stdin, one input": {"kind": "stdin", "inputs": ["3\n"], "outputs": ["14\n"]},
}
FUNCTION = "```python\ndef f(n):\n    return sum(i * i for i in range(1, n + 1))\n```"
PROGRAM = "```python\nn = int(input())\nprint(sum(i * i for i in range(1, n + 1)))\n```"


def processor_seconds() -> float:
    """Of this process, its children that live (the sandbox's launcher) and all that they have waited for."""
    ticks = 0
    for task in Path("/proc/self/task").iterdir():
        for child in (task / "children").read_text().split():
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return sum(os.times()[:4]) + ticks / os.sysconf("SC_CLK_TCK")


def rate(work: Callable[[], object], seconds: float) -> tuple[float, float]:
    """How often a second the work is done by all threads, and milliseconds of processor time each, children included."""
    until, before = time.monotonic() + seconds, processor_seconds()
    begun = time.monotonic()

    def loop(_: int) -> int:
        done = 0
        while time.monotonic() < until:
            work()
            done += 1
        return done

    with ThreadPoolExecutor(THREADS) as pool:
        done = sum(pool.map(loop, range(THREADS)))
    return done / (time.monotonic() - begun), (processor_seconds() - before) / done * 1000


def two_interpreters() -> None:
    """What no grading can do without."""
    for _ in range(2):
        subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)


def main(seconds: float) -> None:
    """Print a line for each style and the floor."""
    sandbox = default_sandbox()
    print(f"tier {sandbox.tier}, {THREADS} threads, load {os.getloadavg()[0]:.1f}")
    for name, tests in CONTRACTS.items():
        contract = CodeContract.of({"tests": tests})
        answer = PROGRAM if tests["kind"] == "stdin" else FUNCTION
        if grade_code(contract, answer, sandbox)[-1].value != 1.0:
            raise SystemExit(f"{name}: the honest program did not pass")
        per_second, cpu = rate(lambda c=contract, a=answer: grade_code(c, a, sandbox), seconds)  # type: ignore[misc]  # bound here
        print(f"{name}: {per_second:.1f} gradings/s, {cpu:.0f} ms of processor each")
    per_second, cpu = rate(two_interpreters, seconds)
    print(f"floor, two bare interpreters: {per_second:.1f}/s, {cpu:.0f} ms of processor")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 5.0)
