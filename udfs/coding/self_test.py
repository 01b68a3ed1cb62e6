"""A coding task tried on itself: its reference must earn full marks, programs that know nothing must not."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.code import BrokenTestsError, CodeContract, NoTestsError
from udfs.coding.grading import count_tests, program_of, run_tests
from udfs.coding.response import extract_program
from udfs.coding.results import TestRun
from udfs.coding.rules import FORBIDDEN, rule_flags
from udfs.coding.units import units_of
from udfs.sandbox.sandbox import Sandbox

#: Programs that know nothing, by name; {name} stands for the entry point. One that does nothing (``pass``) returns None.
TRIVIAL = {
    "returns None": "def {name}(*args, **kwargs):\n    return None\n",
    "echoes its first argument": "def {name}(*args, **kwargs):\n    return args[0] if args else None\n",
}
TRIVIAL_PROGRAMS = {"prints nothing": "pass\n", "echoes its input": "import sys\nsys.stdout.write(sys.stdin.read())\n"}


@dataclass(frozen=True, slots=True)
class SelfTest:
    """What the trial found.

    Attributes:
        problems: in words, the first word naming the kind: ``tests`` (they cannot run), ``reference`` (it fails, or would be taken for a hack),
            ``weak`` (a program that knows nothing passes). Empty for a sound task.
        tests: how many tests there are; 0 where they cannot be read.
        sandbox_error: the sandbox failed, so nothing is known.
    """

    problems: tuple[str, ...]
    tests: int
    sandbox_error: bool = False

    @property
    def sound(self) -> bool:
        """Whether the task can be graded."""
        return not self.problems and not self.sandbox_error


def self_test(contract: CodeContract, reference: str, sandbox: Sandbox) -> SelfTest:
    """Try a contract on its reference and on programs that know nothing.

    Args:
        contract: the task.
        reference: its solution: a program, a response, or the rest of the prompt's function.
        sandbox: runs them.
    """
    try:
        total = count_tests(contract.tests)
    except (NoTestsError, BrokenTestsError) as error:
        return SelfTest((f"tests: {error}",), 0)
    program = program_of(contract, reference)
    if program.tree is None or "entry_point_missing" in program.flags:
        return SelfTest((f"reference: {', '.join(program.flags)}",), total)
    run = run_tests(contract, program, sandbox)
    if run.broken == "sandbox_error":
        return SelfTest((), total, sandbox_error=True)
    problems = list(_of_reference(run))
    hacks = sorted(FORBIDDEN & set(rule_flags(program.tree, contract)))
    if hacks:
        problems.append(f"reference: looks like a hack ({', '.join(hacks)})")
    if not run.broken:
        problems += _weak(contract, sandbox)
    return SelfTest(tuple(problems), total)


def _of_reference(run: TestRun) -> list[str]:
    if run.broken:
        return [f"tests: cannot run: {run.reason}"]
    return [f"reference: test {result.index} {result.what}: {result.detail}" for result in run.results if not result.passed]


def _weak(contract: CodeContract, sandbox: Sandbox) -> list[str]:
    entry, found = contract.tests.entry_point or (units_of(contract.tests).entry if contract.tests.kind == "assert" else None), []
    if contract.tests.kind != "stdin" and entry is None:
        return []
    programs = TRIVIAL_PROGRAMS if contract.tests.kind == "stdin" else TRIVIAL
    for name, text in programs.items():
        run = run_tests(contract, extract_program(text.replace("{name}", entry or ""), "", entry), sandbox)
        if not run.broken and all(result.passed for result in run.results):
            found.append(f"weak: a program that {name} passes every test")
    return found
