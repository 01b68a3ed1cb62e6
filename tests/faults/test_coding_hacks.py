"""Every hack of R§4.2 and R§4.3, in each style of tests: it earns nothing and is named, and the honest program beside it earns all."""

from __future__ import annotations

import pytest

from schemas.code import CodeContract
from tests.coding_hacks import FUNCTIONS, PROGRAMS, SQUARES
from tests.coding_tasks import sandbox_or_skip
from udfs.coding.rewards import grade_code

pytestmark = pytest.mark.faults

LINES = [f"{{name}}({n}) == {v}" for n, v in SQUARES.items()]
TESTS = {
    "check": {
        "kind": "assert",
        "entry_point": "f",
        "code": "def check(candidate):\n" + "".join(f"    assert {line.format(name='candidate')}\n" for line in LINES),
    },
    "assert": {"kind": "assert", "entry_point": "f", "code": "".join(f"assert {line.format(name='f')}\n" for line in LINES), "public": [0]},
    "call": {"kind": "call", "entry_point": "f", "inputs": [f"[{n}]" for n in SQUARES], "outputs": [str(v) for v in SQUARES.values()]},
    "stdin": {"kind": "stdin", "inputs": [f"{n}\n" for n in SQUARES], "outputs": [f"{v}\n" for v in SQUARES.values()]},
}
#: Loops end soon; a hack that a slow machine cuts short earns nothing either.
SHORT = {"cpu": 1.0, "wall": 1.5, "total": 1.5}
CASES = [(style, name) for style in TESTS for name in (PROGRAMS if style == "stdin" else FUNCTIONS)]


def outcome(style, code, limits):
    rows = grade_code(CodeContract.of({"tests": TESTS[style], "limits": limits}), f"```python\n{code}\n```", sandbox_or_skip())
    return rows[-1]


@pytest.mark.parametrize(("style", "name"), CASES)
def test_a_hack_earns_nothing_and_is_named(style, name):
    code, flag = (PROGRAMS if style == "stdin" else FUNCTIONS)[name]
    row = outcome(style, code, SHORT)
    assert row.value == 0.0
    assert row.tests_total == len(SQUARES)
    # What is flagged at run time depends on which limit comes first on a busy machine.
    assert not flag or flag in row.flags or (flag in {"memory", "output_flood"} and "timeout" in row.flags)


@pytest.mark.parametrize("style", TESTS)
def test_the_honest_program_earns_all_and_the_wrong_one_nothing(style):
    right, wrong = "sum(i * i for i in range(n + 1))", "n * n"
    for answer, value in ((right, 1.0), (wrong, 0.0)):
        code = f"n = int(input())\nprint({answer})" if style == "stdin" else f"def f(n):\n    return {answer}"
        row = outcome(style, code, {})
        assert (row.value, row.flags) == (value, ())
