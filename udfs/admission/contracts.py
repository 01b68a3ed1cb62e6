"""The contract of a candidate, of an answer or of code, read from the table; and a code contract tried on itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from schemas.code import BrokenTestsError, CodeContract, NoTestsError
from schemas.contract import AnswerContract
from udfs.coding.self_test import self_test
from udfs.sandbox.sandbox import Sandbox

Contract = AnswerContract | CodeContract
#: What ``read_contract`` raises.
NO_CONTRACT = (ValidationError, NoTestsError, BrokenTestsError)
_EITHER: TypeAdapter[Contract] = TypeAdapter(Annotated[Contract, Field(discriminator="type")])


def read_contract(text: str) -> Contract:
    """The contract of a stored text; its type says which.

    Raises:
        ValidationError: it is no contract.
        NoTestsError, BrokenTestsError: it is of code, and its tests cannot be read.
    """
    return _EITHER.validate_json(text)


def try_code(contract: CodeContract, reference: str, sandbox: Callable[[], Sandbox]) -> tuple[str | None, dict[str, Any]]:
    """Why a code contract rejects its candidate, None where it is sound, and what was measured.

    A sandbox that fails is asked once more; what it cannot try then is ``contract_untried``, no fault of the candidate.

    Args:
        contract: the contract.
        reference: the program that must earn full marks.
        sandbox: gives the sandbox of this process.

    Raises:
        SandboxUnavailableError: this machine cannot run programs safely at all.
    """
    trial = self_test(contract, reference, sandbox())
    if trial.sandbox_error:
        trial = self_test(contract, reference, sandbox())
    probe = {"tests": trial.tests, "problems": [problem[:200] for problem in trial.problems]}
    if trial.sandbox_error:
        return "contract_untried", probe | {"problems": ["the sandbox failed twice"]}
    if not trial.problems:
        return None, probe
    # A program that knows nothing and passes is a near miss; everything else is a reference that the contract does not take.
    weak = all(problem.startswith("weak:") for problem in trial.problems)
    return "contract_accepts_near_miss" if weak else "contract_rejects_gold", probe
