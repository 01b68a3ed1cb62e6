"""Coding tasks that tests of several folders share."""

from __future__ import annotations

import pytest

from schemas.code import CodeContract
from udfs.coding.grading import program_of, run_tests
from udfs.coding.results import TestRun
from udfs.sandbox.sandbox import Sandbox, SandboxUnavailableError, default_sandbox


def sandbox_or_skip() -> Sandbox:
    """The sandbox of this process; the test skips where there is none."""
    try:
        return default_sandbox()
    except SandboxUnavailableError as error:
        pytest.skip(f"no sandbox here: {error}")


def asserts(code: str, **fields: object) -> CodeContract:
    """A contract of asserts."""
    return contract({"kind": "assert", "code": code, **fields})


def contract(tests: dict[str, object], *, prompt: str = "", **limits: float) -> CodeContract:
    """A contract from plain fields."""
    return CodeContract.of({"tests": tests, "prompt": prompt, "limits": limits})


def run(task: CodeContract, code: str) -> TestRun:
    """Its tests on a program."""
    return run_tests(task, program_of(task, code), sandbox_or_skip())


def whats(task: CodeContract, code: str) -> list[str]:
    """How each test ended."""
    return [result.what for result in run(task, code).results]
