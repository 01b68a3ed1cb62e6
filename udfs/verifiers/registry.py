"""The verifiers by name: what grades a row of a plain file, in which version, with which range."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from udfs.grading import VERSION
from udfs.sandbox.sandbox import SandboxUnavailableError
from udfs.verifiers import answers
from udfs.verifiers.code import VERSION as CODE_VERSION
from udfs.verifiers.code import runner as code_runner
from udfs.verifiers.graded import Graded, refused
from udfs.verifiers.rows import Row, RowError, read_row

#: Seconds that a row may take before the process that grades it is ended, without and with processes of its own (math-verify, a sandbox).
#: Every verifier has tighter limits of its own; these are for what those do not reach.
ROW_SECONDS, SLOW_SECONDS = 60.0, 300.0


@dataclass(frozen=True, slots=True)
class Verifier:
    """One way to grade.

    Attributes:
        name: as rows call it.
        version: recorded beside every verdict; raised by whatever may change one.
        run: grades a row; the first line of its docstring says how.
        needs: field that a row must have beside ``verifier`` and ``answer``.
        takes: fields that it may have.
        low, high: range of the reward.
        seconds: that one row may take at most.
    """

    name: str
    version: str
    run: Callable[[Row], Graded]
    needs: str = "gold"
    takes: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 1.0
    seconds: float = ROW_SECONDS

    @property
    def about(self) -> str:
        """How it grades, in one line."""
        return (self.run.__doc__ or "").partition("\n")[0].strip()


def verifiers(*, allow_weak_sandbox: bool = False) -> dict[str, Verifier]:
    """All verifiers by name.

    Args:
        allow_weak_sandbox: run code where only rlimits bound it (tier D), rather than refuse.
    """
    code = code_runner(allow_weak_sandbox=allow_weak_sandbox)
    maths = ("unit", "tolerance", "aliases")
    found = (
        Verifier("number", VERSION, answers.number, takes=("unit", "tolerance")),
        Verifier("math", VERSION, answers.maths, takes=maths, seconds=SLOW_SECONDS),
        Verifier("choice", VERSION, answers.choice, takes=("options",)),
        Verifier("text", VERSION, answers.text, takes=("aliases",)),
        Verifier("date", VERSION, answers.date),
        Verifier("list", VERSION, answers.sequence, takes=maths, seconds=SLOW_SECONDS),
        Verifier("set", VERSION, answers.collection, takes=maths, seconds=SLOW_SECONDS),
        Verifier("interval", VERSION, answers.interval, takes=maths, seconds=SLOW_SECONDS),
        Verifier("code", CODE_VERSION, code, needs="tests", takes=("prompt",), seconds=SLOW_SECONDS),
    )
    return {verifier.name: verifier for verifier in found}


def grade_fields(fields: Mapping[str, Any], table: Mapping[str, Verifier]) -> Graded:
    """Grade one row of a plain file. Never raises for what a row holds: a row that cannot be read is an ``error`` with its reasons.

    Args:
        fields: by name, see :data:`udfs.verifiers.rows.FIELDS`.
        table: from :func:`verifiers`.

    Raises:
        SandboxUnavailableError: the row is code and this machine has no sandbox for it.
    """
    name = fields.get("verifier")
    if name is None:
        return refused(None, "missing_verifier")
    verifier = table.get(name) if type(name) is str else None
    if verifier is None:
        return refused(None, "unknown_verifier")
    by = f"{verifier.name}@{verifier.version}"
    try:
        return verifier.run(read_row(fields))
    except RowError as error:
        return refused(by, *error.flags)
    except SandboxUnavailableError:
        raise
    except Exception as error:  # noqa: BLE001 - a fault of ours costs this row its verdict, and no other row
        return refused(by, "verifier_failed", type(error).__name__)
