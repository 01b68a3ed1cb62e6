"""Environment ``python_tests``: write a function, try it on public tests, hand it in.

The tests of this module are those that the policy may see. Hidden tests are no part of its setting: they lie in the task's contract, which
no worker is given. Nothing of a reward hangs on what the public tests say; a program that forges their report fools itself.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from gpu_workers.environments.environment import Action, Message, Observation, Step, Tool, object_of, shown
from gpu_workers.environments.live import ToolLimits, program
from gpu_workers.environments.snapshot import fingerprint_of, image_of, read_setting
from schemas.environment import Fingerprint, ToolStatus
from udfs.sandbox.sandbox import Sandbox
from udfs.sandbox.spec import ISOLATED, Job, Outcome

NAME, VERSION = "python_tests", "1"
_PROGRAM = "public_tests"

TOOLS = (
    Tool("run_tests", "Runs the public tests on a program, in a fresh process.", object_of(code="the whole program")),
    Tool("submit", "Hands in a program for grading and ends the episode.", object_of(code="the whole program")),
)


class PythonTestsSetting(BaseModel):
    """What an item sets.

    Attributes:
        entry_point: function that is asked for.
        public_tests: Python statements that may use it, each a test of its own; at least one.
        setup: Python that runs before the program, say imports.
        limits: of one run of all tests.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    entry_point: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    public_tests: tuple[str, ...] = Field(min_length=1, max_length=200)
    setup: str = ""
    limits: ToolLimits = ToolLimits()


class PythonTests:
    """Public tests in fresh processes; no state lives between two calls."""

    tools = TOOLS

    def __init__(self, setting: str, sandbox: Sandbox) -> None:
        """Take the setting of an item.

        Raises:
            SettingError: it cannot be used.
        """
        self._setting = read_setting(PythonTestsSetting, NAME, setting)
        self._sandbox = sandbox
        given = {"entry_point": self._setting.entry_point, "setup": self._setting.setup, "tests": list(self._setting.public_tests)}
        self._files = {"tests.json": json.dumps(given, sort_keys=True).encode("ascii")}
        self._seed = 0

    def reset(self, seed: int) -> Observation:
        """As :class:`gpu_workers.environments.environment.Environment`."""
        self._seed = seed
        listed = "\n".join(self._setting.public_tests)
        text = f"Write the Python function {self._setting.entry_point}. Public tests:\n{listed}"
        return shown(text, self._setting.limits.observation_chars)

    def step(self, action: Action) -> Step:
        """As :class:`gpu_workers.environments.environment.Environment`."""
        if isinstance(action, Message):
            return Step(Observation(""), done=True)
        if action.name == "submit":
            return Step(Observation("Handed in."), done=True, answer=action.arguments["code"])
        limits = self._setting.limits
        job = Job(
            (*ISOLATED, "-c", program(_PROGRAM).decode()), files={**self._files, "solution.py": action.arguments["code"].encode("utf-8")},
            limits=limits.limits(limits.call_seconds), env={"EPISODE_SEED": str(self._seed)}, results=True,
        )  # fmt: skip
        return self._told(self._sandbox.run(job))

    def _told(self, outcome: Outcome) -> Step:
        if outcome.status == "sandbox_error":
            return Step(Observation(outcome.reason or ""), "env_error", done=True)
        printed = (outcome.stdout + outcome.stderr).decode("utf-8", "replace").strip("\n")
        report = _report(outcome.result, len(self._setting.public_tests)) if outcome.status == "ok" else None
        status: ToolStatus = "ok"
        if report is None:
            status = "tool_timeout" if outcome.status.startswith("timeout") else "tool_error"
            text = f"The program ended before its tests did ({outcome.status})."
        elif isinstance(report, str):
            status, text = "tool_error", f"The program does not load: {report}"
        else:
            failed = [f"{self._setting.public_tests[k]}\n    {why or 'failed'}" for k, why in enumerate(report) if why is not None]
            text = "\n".join([f"{len(report) - len(failed)} of {len(report)} public tests passed.", *failed])
        return Step(shown(f"{text}\nPrinted:\n{printed}" if printed else text, self._setting.limits.observation_chars), status)

    def close(self) -> None:
        """As :class:`gpu_workers.environments.environment.Environment`."""

    def fingerprint(self) -> Fingerprint:
        """As :class:`gpu_workers.environments.environment.Environment`."""
        return fingerprint_of(f"{NAME}@{VERSION}", image_of(program(_PROGRAM), files=self._files), self._sandbox)


def _report(data: bytes, count: int) -> list[str | None] | str | None:
    """What each test raised, or why the program does not load; None where the report is not one."""
    try:
        report: Any = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(report, dict):
        return None
    load, tests = report.get("load"), report.get("tests")
    if isinstance(load, str):
        return load
    sound = load is None and isinstance(tests, list) and len(tests) == count and all(t is None or isinstance(t, str) for t in tests)
    return tests if sound else None
