"""Programs under tests, in the sandbox."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from pydantic import ValidationError

from schemas.code import BrokenTestsError, CodeContract, NoTestsError
from schemas.contract import Verdict
from udfs.coding.rewards import VERIFIER, VERSION, grade_code
from udfs.sandbox.sandbox import default_sandbox
from udfs.verifiers.graded import UNKNOWN, Graded
from udfs.verifiers.rows import Row, RowError

__all__ = ["VERSION", "contract_of", "runner"]

_BY = f"{VERIFIER}@{VERSION}"


def contract_of(tests: Mapping[str, Any], prompt: str | None) -> CodeContract:
    """The contract of a row.

    Beside what :class:`schemas.code.CodeTests` says, ``code`` may be a list of asserts, and the ``inputs`` and ``outputs`` of ``call`` may be
    JSON values; as JSON knows no tuple, one may then stand for a list unless ``tuple_as_list`` says otherwise.

    Raises:
        NoTestsError, BrokenTestsError, pydantic.ValidationError: there is no test, or the tests cannot be run.
    """
    fields = dict(tests)
    if isinstance(fields.get("code"), list):
        fields["code"] = "\n".join(map(str, fields["code"]))
    if fields.get("kind") == "call":
        for name in ("inputs", "outputs"):
            if isinstance(fields.get(name), list):
                fields[name] = _spelt(fields[name])
        fields.setdefault("tuple_as_list", fields.get("encoding", "json") == "json")
    return CodeContract.of({"tests": fields, "prompt": prompt or ""})


def _spelt(values: list[Any]) -> list[str]:
    """Values as JSON texts; a list of nothing but texts is spelt already."""
    return values if all(isinstance(value, str) for value in values) else [json.dumps(value) for value in values]


def runner(*, allow_weak_sandbox: bool) -> Callable[[Row], Graded]:
    """The function that grades a row of code.

    Args:
        allow_weak_sandbox: run it where only rlimits bound it (tier D), rather than refuse.
    """

    def code(row: Row) -> Graded:
        """All tests pass, each in its time, and nothing forbidden was tried; program and tests run apart, in the sandbox."""
        if row.tests is None:
            raise RowError("missing_tests")
        sandbox = default_sandbox(allow_weaker=allow_weak_sandbox)
        try:
            contract = contract_of(row.tests, row.prompt)
        except NoTestsError:
            return Graded("unparsable_gold", None, None, _BY, ("no_tests",))
        except (BrokenTestsError, ValidationError):
            return Graded("unparsable_gold", None, None, _BY, ("broken_contract",))
        outcome = grade_code(contract, row.answer, sandbox)[-1]
        verdict = cast("Verdict", outcome.verdict)
        reward = None if verdict in UNKNOWN else outcome.value
        return Graded(verdict, reward, outcome.extracted_answer, _BY, outcome.flags, outcome.sandbox_tier)

    return code
