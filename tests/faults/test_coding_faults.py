"""Law 6 for code: a sandbox that fails is tried once more and then null; many gradings at once do not touch each other."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.coding_hacks import FUNCTIONS
from tests.coding_tasks import contract, sandbox_or_skip
from udfs.coding.rewards import grade_code
from udfs.sandbox.spec import Answer, Job, Outcome

pytestmark = pytest.mark.faults

RIGHT = "def f(n):\n    return sum(i * i for i in range(n + 1))"
TASKS = {
    "assert": contract({"kind": "assert", "entry_point": "f", "code": "assert f(3) == 14\nassert f(10) == 385", "public": [0]}),
    "call": contract({"kind": "call", "entry_point": "f", "inputs": ["[3]", "[10]"], "outputs": ["14", "385"], "public": [0]}),
    "stdin": contract({"kind": "stdin", "inputs": ["3", "10"], "outputs": ["14", "385"], "public": [0]}),
}


class Unwell:
    """The real sandbox, whose first starts fail: nothing here can make the real one fail on purpose."""

    def __init__(self, failures: int, after: int = 0) -> None:
        self.real, self.tier = sandbox_or_skip(), sandbox_or_skip().tier
        self.starts, self.fails = 0, range(after, after + failures)

    def fail(self) -> bool:
        self.starts += 1
        return self.starts - 1 in self.fails

    def run(self, job: Job) -> Outcome:
        if self.fail():
            return Outcome("sandbox_error", None, None, b"", b"", False, b"", 0.0, 0.0, 0, self.tier, {}, "no space left")
        return self.real.run(job)

    def open(self, job: Job):
        return Dead() if self.fail() else self.real.open(job)


class Dead:
    """A session that never began."""

    def call(self, payload: bytes, wall: float) -> Answer:
        del payload, wall
        return Answer("sandbox_error", b"", b"", b"", 0.0, "no space left")

    def close(self) -> None:
        pass


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("kind", TASKS)
def test_a_sandbox_that_fails_once_is_tried_again(kind, after):
    code = RIGHT + "\nif __name__ == '__main__':\n    print(f(int(input())))"
    rows = grade_code(TASKS[kind], code, Unwell(1, after))
    assert [row.value for row in rows] == [1.0] * 5


@pytest.mark.parametrize("kind", TASKS)
def test_a_sandbox_that_fails_twice_is_null_and_never_0(kind):
    code = RIGHT + "\nif __name__ == '__main__':\n    print(f(int(input())))"
    unwell = Unwell(1000)
    rows = grade_code(TASKS[kind], code, unwell)
    assert [(row.value, row.verdict) for row in rows[2:]] == [(None, "error")] * 3
    assert unwell.starts == 2
    assert "no space left" in (rows[-1].detail or "")
    assert "sandbox_error" in rows[-1].flags


def test_gradings_at_once_do_not_touch_each_other():
    sandbox, before = sandbox_or_skip(), threading.active_count()
    hacks = ["os._exit in the function", "forged frames, then gone", "another runner", "a fork bomb"]
    work = [(RIGHT, 1.0) if n % 2 else (FUNCTIONS[hacks[n // 2 % len(hacks)]][0], 0.0) for n in range(24)]
    fds = len(list(Path("/proc/self/fd").iterdir()))
    with ThreadPoolExecutor(6) as pool:
        values = list(pool.map(lambda item: grade_code(TASKS["assert"], item[0], sandbox)[-1].value, work))
    assert values == [value for _, value in work]
    assert threading.active_count() == before
    assert len(list(Path("/proc/self/fd").iterdir())) <= fds + 4  # the launcher's own, where it was not there before
