"""Runs inside the sandbox: public tests of one program, each for itself; nothing of a reward hangs on what it says."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Load the program, run every test, report."""
    given, source = json.loads(Path("tests.json").read_bytes()), Path("solution.py").read_text("utf-8")
    results = int(os.environ.pop("RESULT_FD"))
    space: dict[str, Any] = {"__name__": "solution"}
    report: dict[str, Any] = {"load": _tried(given["setup"], space, "setup.py") or _tried(source, space, "solution.py"), "tests": []}
    if report["load"] is None and given["entry_point"] not in space:
        report["load"] = f"NameError: {given['entry_point']} is not defined"
    if report["load"] is None:
        report["tests"] = [_tried(test, dict(space), "test.py") for test in given["tests"]]
    sys.stdout.flush()
    data = json.dumps(report).encode("ascii")
    while data:
        data = data[os.write(results, data) :]


def _tried(source: str, space: dict[str, Any], name: str) -> str | None:
    """What a source raised, in one line; None where it raised nothing."""
    try:
        exec(compile(source, name, "exec"), space)  # noqa: S102 - what this program is for, inside the sandbox
    except BaseException as error:  # noqa: BLE001 - SystemExit too
        try:
            return f"{type(error).__name__}: {error}"[:400]
        except BaseException:  # noqa: BLE001 - an exception whose own methods raise
            return type(error).__name__
    return None


if __name__ == "__main__":
    main()
