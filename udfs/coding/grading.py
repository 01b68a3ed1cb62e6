"""Runs a program against its tests: one result for every test, whatever the program does.

What a program prints, how it exits and what it claims is no sign of success; success is a value that was compared outside its process.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Sequence
from typing import Any, Literal

from schemas.code import BrokenTestsError, CodeContract, CodeTests
from udfs.coding.compare import same
from udfs.coding.inside.wire import Encoder, NotPlainError
from udfs.coding.link import Bench, Candidate, Fault, Report
from udfs.coding.response import Program, extract_program
from udfs.coding.results import ERROR_FLAGS, FAULT_FLAGS, Tally, TestRun, What
from udfs.coding.syntax import parse, top_level_names
from udfs.coding.units import Units, units_of
from udfs.sandbox.sandbox import Sandbox
from udfs.sandbox.spec import ISOLATED, Job, Limits, Outcome

#: A program that has ended this many of its processes, or this many by taking too long, gets no further one.
MAX_DEATHS = 3
MAX_TIMEOUTS = 2

#: Ends of the tests' own process that an answer can bring about: one that takes too long to compare, or too much memory, or is printed.
BY_ANSWERS = frozenset({"timeout", "oom", "output_limit"})

#: Runs a program as __main__ with the two names that ``-S`` leaves out.
_MAIN = b"""import builtins, sys
builtins.exit = builtins.quit = sys.exit
with open("main.py", encoding="utf-8") as file:
    text = file.read()
names = vars(sys.modules["__main__"])
for name in ("builtins", "file"):
    del names[name]
exec(compile(names.pop("text"), "main.py", "exec"), names)
"""


def count_tests(tests: CodeTests) -> int:
    """How many tests a contract has; raises NoTestsError or BrokenTestsError where they cannot be run at all."""
    total = len(units_of(tests).sources) if tests.kind == "assert" else len(stored(tests))
    if max(tests.public, default=0) >= total:
        raise BrokenTestsError(f"code contract ({tests.kind}): public names test {max(tests.public)}, there are {total}.")
    return total


def program_of(contract: CodeContract, response: str) -> Program:
    """The program in a response to this task; where the contract names no entry point, the function that its tests call is preferred."""
    tests = contract.tests
    if tests.kind == "assert" and tests.entry_point is None:
        found = extract_program(response, contract.prompt, units_of(tests).entry)
        if "entry_point_missing" not in found.flags:
            return found
    return extract_program(response, contract.prompt, tests.entry_point)


def run_tests(contract: CodeContract, program: Program, sandbox: Sandbox) -> TestRun:
    """Run every test of a contract. Where the sandbox itself failed it is all tried once more.

    Args:
        contract: the tests and their bounds.
        program: from :func:`program_of`; its code must be there.
        sandbox: runs both sides.

    Raises:
        NoTestsError, BrokenTestsError: of a contract that cannot be run at all.
    """
    total = count_tests(contract.tests)
    run = _once(contract, program, sandbox)
    if run.broken == "sandbox_error":
        run = _once(contract, program, sandbox)
    if not run.broken and len(run.results) != total:
        raise AssertionError(f"{len(run.results)} results of {total} tests")
    return run


def _once(contract: CodeContract, program: Program, sandbox: Sandbox) -> TestRun:
    if contract.tests.kind == "stdin":
        return _stdin(contract, program, sandbox)
    units = units_of(contract.tests) if contract.tests.kind == "assert" else None
    entry = contract.tests.entry_point
    wanted = units.wanted if units else (entry or "",)
    sources = [text for text in (program.prelude, program.code) if text]
    candidate = Candidate(sandbox, sources, wanted, contract.limits, plain=units is None)
    total, tally = count_tests(contract.tests), Tally()
    try:
        loaded = candidate.load()
        unusable = _unusable(loaded, entry, tally)
        if unusable:
            tally.rest(total, "not_loaded", unusable)
        elif units is None:
            _calls(contract, candidate, tally)
        else:
            return _asserts(contract, _setup(contract, program, units), candidate, sandbox, loaded[1], tally)
        return _run_of(candidate, tally, sandbox)
    finally:
        candidate.close()


def _run_of(candidate: Candidate, tally: Tally, sandbox: Sandbox) -> TestRun:
    reason = candidate.broken()
    if reason is not None:
        return _broken("sandbox_error", reason, sandbox)
    return TestRun(tuple(tally.results), flags=tuple(sorted(tally.flags)), tier=sandbox.tier)


def _broken(why: Literal["sandbox_error", "broken_tests"], reason: str, sandbox: Sandbox) -> TestRun:
    return TestRun((), why, reason, (), sandbox.tier)


def _unusable(loaded: Any, entry: str | None, tally: Tally) -> str | None:
    """Why a loaded program cannot be tried; None where it can."""
    if isinstance(loaded, Fault):
        tally.flags.update(flag for flag in (FAULT_FLAGS.get(loaded.kind),) if flag)
        return f"the program did not load: {loaded.kind}"
    if loaded[0] == "exc":
        tally.flags.update(flag for flag in (ERROR_FLAGS.get(loaded[1]),) if flag)
        return f"the program did not load: {loaded[1]}: {loaded[2]}"[:300]
    if entry is not None and entry not in {name for name, _, _ in loaded[1]}:
        return f"{entry} is not defined"
    return None


def _hopeless(faults: Sequence[str]) -> bool:
    return len(faults) >= MAX_DEATHS or faults.count("timeout") >= MAX_TIMEOUTS


def _revived(candidate: Candidate, tally: Tally, total: int) -> bool:
    if not _hopeless([fault.kind for fault in candidate.faults]) and candidate.revive():
        return True
    tally.rest(total, "not_run", "an earlier test ended the program, or its time was up")
    return False


# --- tests that are code ---


def _setup(contract: CodeContract, program: Program, units: Units) -> str:
    """The tests' setup; before it, where they use a helper that the prompt defines, the prompt's own text of it, never the candidate's."""
    helpers = parse(program.prelude)
    used = helpers is not None and not top_level_names(helpers).isdisjoint(units.wanted)
    return f"{program.prelude}\n{contract.tests.setup}" if used else contract.tests.setup


def _asserts(contract: CodeContract, setup: str, candidate: Candidate, sandbox: Sandbox, found: list[Any], tally: Tally) -> TestRun:
    units = units_of(contract.tests)
    bench = Bench(sandbox, candidate, contract.limits)
    try:
        begun, asked = bench.start(setup, units, found)
        if begun.outcome == "broken" or (begun.fault and not (asked and begun.fault.kind in BY_ANSWERS)):
            return _broken_bench(begun, sandbox, "setup: ")
        if begun.outcome != "passed":
            tally.rest(len(units.sources), "not_loaded", f"a name that the tests use could not be read: {begun.error or 'no answer'}")
        for index, source in enumerate(units.sources):
            if len(tally.results) > index or not _revived(candidate, tally, len(units.sources)):
                break
            report, asked = bench.run(index, source)
            if report.fault and not (asked and report.fault.kind in BY_ANSWERS):
                return _broken_bench(report, sandbox, f"test {index}: ")
            _judge(report, candidate, tally)
            if report.fault:
                tally.rest(len(units.sources), "not_run", "the tests ended on what the program answered")
                break
        return _run_of(candidate, tally, sandbox)
    finally:
        bench.close()


def _broken_bench(report: Report, sandbox: Sandbox, where: str) -> TestRun:
    """The tests' process failed by itself."""
    if report.fault is None:
        return _broken("broken_tests", f"{where}{report.error}: {report.message}"[:300], sandbox)
    why: Literal["sandbox_error", "broken_tests"] = "sandbox_error" if report.fault.kind == "broken_sandbox" else "broken_tests"
    return _broken(why, f"{where}{report.fault.kind} {report.fault.reason}"[:300], sandbox)


def _judge(report: Report, candidate: Candidate, tally: Tally) -> None:
    if report.outcome == "passed":
        tally.add("passed")
    elif report.outcome == "gone":
        kind = candidate.faults[-1].kind if candidate.faults else "died"
        tally.add(kind if kind != "broken_sandbox" else "broken", f"the program ended: {kind}")
    elif report.fault:
        kind = report.fault.kind
        tally.add(kind if kind != "broken_sandbox" else "broken", f"the tests ended on what the program answered: {kind}")
    elif report.outcome == "raised":
        tally.add("raised", f"{report.error}: {report.message}"[:300], report.error)
    elif report.error in {"AssertionError", "NumberWantedError"}:
        tally.add(
            "wrong", "True or False where a number is expected" if report.error == "NumberWantedError" else "wrong answer", report.error
        )
    else:
        tally.add("wrong", f"the answer does not fit the test: {report.error}", report.error)


# --- stored answers ---


def stored(tests: CodeTests) -> list[tuple[Any, Any]]:
    """Arguments and expected answer of each stored test, decoded; texts as they are for stdin.

    Raises:
        BrokenTestsError: something is not what ``encoding`` says, or the arguments are no list.
    """
    if tests.kind == "stdin":
        return list(zip(tests.inputs, tests.outputs, strict=True))
    pairs = []
    for index, (given, wanted) in enumerate(zip(tests.inputs, tests.outputs, strict=True)):
        try:
            arguments, answer = (json.loads(t) if tests.encoding == "json" else ast.literal_eval(t) for t in (given, wanted))
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
            raise BrokenTestsError(f"code contract (call): test {index} is no {tests.encoding}: {str(error)[:200]}") from error
        if type(arguments) not in {list, tuple}:
            raise BrokenTestsError(f"code contract (call): the input of test {index} is not a list of arguments.")
        try:
            Encoder().encode([arguments, answer])
        except NotPlainError as error:
            raise BrokenTestsError(f"code contract (call): test {index} holds {error}.") from error
        pairs.append((list(arguments), answer))
    return pairs


def _calls(contract: CodeContract, candidate: Candidate, tally: Tally) -> None:
    tests, pairs = contract.tests, stored(contract.tests)
    for arguments, expected in pairs:
        if not _revived(candidate, tally, len(pairs)):
            return
        answer = candidate.ask(["call", ["n", tests.entry_point], Encoder().encode([arguments, {}])], contract.limits.wall)
        if isinstance(answer, Fault):
            tally.add(answer.kind if answer.kind != "broken_sandbox" else "broken", f"the program ended: {answer.kind}")
        elif answer[0] == "exc":
            plain = answer[1] != "NotPlainError"
            tally.add("raised" if plain else "not_plain", f"{answer[1]}: {answer[2]}"[:300], answer[1])
        elif answer[0] != "ret":
            tally.add("garbled", "the program sent what is no answer")
        elif same(Encoder().encode(expected), answer[1], tolerance=tests.tolerance, tuple_as_list=tests.tuple_as_list):
            tally.add("passed")
        else:
            number = type(answer[1]) is bool and type(expected) in {int, float}
            tally.add("wrong", "wrong answer", "NumberWantedError" if number else "")


# --- whole programs ---


def _stdin(contract: CodeContract, program: Program, sandbox: Sandbox) -> TestRun:
    tally, spent, limits = Tally(), 0.0, contract.limits
    pairs = stored(contract.tests)
    for given, expected in pairs:
        if spent >= limits.total or _hopeless([result.what for result in tally.results if result.what in FAULT_FLAGS]):
            tally.rest(len(pairs), "not_run", "an earlier test ended the program, or its time was up")
            break
        wall = min(limits.wall, limits.total - spent)
        room = max(limits.output_kb << 10, 2 * len(expected.encode()) + 4096)
        bounds = Limits(wall=wall, cpu=math.ceil(limits.cpu), memory=limits.memory_mb << 20, output=room)
        files = {"main.py": (program.code or "").encode("utf-8", "replace"), "run.py": _MAIN}
        outcome = sandbox.run(Job((*ISOLATED, "run.py"), stdin=given.encode("utf-8", "surrogatepass"), files=files, limits=bounds))
        spent += outcome.wall
        if outcome.status == "sandbox_error":
            return _broken("sandbox_error", outcome.reason or "", sandbox)
        _judge_output(outcome, expected, tally)
    return TestRun(tuple(tally.results), flags=tuple(sorted(tally.flags)), tier=sandbox.tier)


def _judge_output(outcome: Outcome, expected: str, tally: Tally) -> None:
    """An exit code of 0 proves nothing; a program that crashed has not solved its task, whatever it had printed."""
    endings: dict[str, What] = {"timeout_wall": "timeout", "timeout_cpu": "timeout", "oom": "oom", "pids": "pids", "output_limit": "output_limit", "killed": "died"}  # fmt: skip
    if outcome.status in endings:
        tally.add(endings[outcome.status], f"the program ended: {outcome.status}")
    elif outcome.status == "nonzero":
        lines = outcome.stderr.decode("utf-8", "replace").strip().splitlines()
        last = lines[-1][:200] if lines else f"exit code {outcome.returncode}"
        tally.add("raised", last, last.split(":", 1)[0])
    elif _lines(outcome.stdout.decode("utf-8", "replace")) == _lines(expected):
        tally.add("passed")
    else:
        tally.add("wrong", "wrong output" if outcome.stdout else "no output")


def _lines(text: str) -> list[str]:
    """Lines without what stands invisible at their ends, and without empty lines at the end of all."""
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines
