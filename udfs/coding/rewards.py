"""Reward rows of one program: form, rules, public tests, hidden tests, and their outcome.

The outcome is 1 when every test passed and no forbidden flag is there (``rules.FORBIDDEN``), else 0; the shares of passed tests stand in rows of
their own with weight 0. Law 6: a broken sandbox or broken tests give null with ``error`` or ``unparsable_gold``; whatever the program did gives 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import ValidationError

from schemas.code import BrokenTestsError, CodeContract, NoTestsError
from schemas.contract import Verdict
from schemas.ids import canonical_json, content_id
from udfs.coding.grading import count_tests, program_of, run_tests
from udfs.coding.response import Program
from udfs.coding.results import TestResult, TestRun
from udfs.coding.rules import FORBIDDEN, rule_flags
from udfs.sandbox.sandbox import Sandbox, default_sandbox
from udfs.trajectories.rewards import Reward

#: Name and version of this verifier, as recorded beside every verdict. A change that can alter a verdict raises the version.
VERIFIER = "code"
VERSION = "1"

#: Names of the rows, in order; the last one is the outcome.
ROWS = ("format", "rules", "public_tests", "hidden_tests", "outcome")

_UNSOUND = frozenset({"no_code", "overlong", "syntax_error", "entry_point_missing"})


def grade_code(
    contract: CodeContract | str, response: str | None, sandbox: Sandbox | None = None, *, allow_weak_sandbox: bool = False
) -> list[Reward]:  # fmt: skip
    """All reward rows of one response, the outcome last. Never raises for what a contract or a response holds.

    Args:
        contract: the contract or its canonical JSON.
        response: the candidate's whole response, or just its code; None where there is none.
        sandbox: runs program and tests; that of this process where none is given.
        allow_weak_sandbox: that of this process may be tier D, which isolates nothing.

    Raises:
        SandboxUnavailableError: this machine has no sandbox at all.
    """
    try:
        parsed = CodeContract.load(contract) if isinstance(contract, str) else contract
        total = count_tests(parsed.tests)
    except NoTestsError:
        return _unknown(contract, "unparsable_gold", "no_tests")
    except (BrokenTestsError, ValidationError):
        return _unknown(contract, "unparsable_gold", "broken_contract")
    if response is None:
        return _unknown(contract, "error", "no_response")
    program = program_of(parsed, response)
    if program.tree is None or _UNSOUND & set(program.flags):
        return _unsound(parsed, program, total)
    rules = rule_flags(program.tree, parsed)
    run = run_tests(parsed, program, sandbox or default_sandbox(allow_weaker=allow_weak_sandbox))
    return _graded(parsed, program, rules, run)


class _Rows:
    """Builds rows that share everything but what they say."""

    def __init__(self, contract: CodeContract | str, flags: Sequence[str], tier: str | None) -> None:
        text = contract if isinstance(contract, str) else contract.canonical()
        self._config, self._run = content_id(text), content_id(VERIFIER, VERSION, text)
        self._flags, self._tier = tuple(sorted(set(flags))), tier

    def row(
        self,
        name: str,
        verdict: Verdict,
        value: float | None,
        *,
        passed: tuple[int, int] | None = None,
        detail: dict[str, object] | None = None,
        code: str | None = None,
    ) -> Reward:
        outcome = name == ROWS[-1]
        ran = passed is not None
        return Reward(
            reward_name=name, verifier_run_id=self._run, kind="rule" if name in {"format", "rules"} else "execution", value=value,
            weight=1.0 if outcome else 0.0, is_outcome=outcome, verdict=verdict, verifier_name=VERIFIER, verifier_version=VERSION,
            verifier_config_hash=self._config, extracted_answer=code, gold_answer=None, flags=self._flags,
            tests_passed=passed[0] if passed else None, tests_total=passed[1] if passed else None, sandbox_tier=self._tier if ran else None,
            detail=canonical_json(detail) if detail else None,
        )  # fmt: skip


def _unknown(contract: CodeContract | str, verdict: Verdict, flag: str) -> list[Reward]:
    rows = _Rows(contract, (flag,), None)
    return [rows.row(name, verdict, None) for name in ROWS]


def _unsound(contract: CodeContract, program: Program, total: int) -> list[Reward]:
    """No program, or none that could be run: the candidate's fault in every row, though nothing ran."""
    rows = _Rows(contract, program.flags, None)
    detail: dict[str, object] = {"what": next(flag for flag in program.flags if flag in _UNSOUND)}
    public = len(contract.tests.public)
    made = []
    for name in ROWS:
        tests = {"public_tests": public, "hidden_tests": total - public, "outcome": total}.get(name)
        verdict: Verdict = "skipped" if tests == 0 else "unparsable_pred"
        passed = (0, tests) if tests else None
        made.append(rows.row(name, verdict, None if tests == 0 else 0.0, passed=passed, detail=detail, code=None))
    return made


def _graded(contract: CodeContract, program: Program, rules: Sequence[str], run: TestRun) -> list[Reward]:
    loose = () if program.fenced else ("no_code_block",)
    rows = _Rows(contract, (*program.flags, *loose, *rules, *run.flags, *((run.broken,) if run.broken else ())), run.tier)
    hacks = sorted(FORBIDDEN & set(rules))
    coded = "hard_coded" in rules
    made = [
        rows.row("format", "correct", 1.0),
        rows.row("rules", "incorrect" if coded else "correct", 0.0 if coded else 1.0, detail={"flags": list(rules)} if rules else None),
    ]
    code = (program.code or "").encode("utf-8", "replace").decode("utf-8")
    if run.broken is not None:
        verdict: Verdict = "error" if run.broken == "sandbox_error" else "unparsable_gold"
        detail: dict[str, object] = {"what": run.broken, "detail": run.reason}
        return [*made, *(rows.row(n, verdict, None, detail=detail, code=code if n == ROWS[-1] else None) for n in ROWS[2:])]
    public = set(contract.tests.public)
    for name, results in (
        ("public_tests", [r for r in run.results if r.index in public]),
        ("hidden_tests", [r for r in run.results if r.index not in public]),
    ):
        made.append(_share(rows, name, results, "public" if name == "public_tests" else "hidden"))
    passed = sum(r.passed for r in run.results)
    solved = passed == len(run.results) > 0 and not hacks
    verdict = "correct" if solved else "timeout" if any(r.what == "timeout" for r in run.results) else "incorrect"
    told = _first_failure(run.results, public) or ({"forbidden": hacks} if hacks else None)
    return [*made, rows.row("outcome", verdict, float(solved), passed=(passed, len(run.results)), detail=told, code=code)]


def _share(rows: _Rows, name: str, results: Sequence[TestResult], kind: Literal["public", "hidden"]) -> Reward:
    """The share of passed tests; skipped where there are none of this kind."""
    if not results:
        return rows.row(name, "skipped", None)
    passed = sum(r.passed for r in results)
    share = passed / len(results)
    verdict: Verdict = "correct" if passed == len(results) else "partial" if passed else "incorrect"
    if not passed and any(r.what == "timeout" for r in results):
        verdict = "timeout"
    told = _first_failure(results, {r.index for r in results} if kind == "public" else set())
    return rows.row(name, verdict, share, passed=(passed, len(results)), detail=told)


def _first_failure(results: Sequence[TestResult], public: set[int]) -> dict[str, object] | None:
    first = next((r for r in results if not r.passed), None)
    if first is None:
        return None
    return {"test": f"{'public' if first.index in public else 'hidden'} {first.index}", "what": first.what, "detail": first.detail}
