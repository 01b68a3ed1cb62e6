"""The rewards of one response: every component a row of its own, and exactly one that is the outcome.

A contract of code (``schemas.code``) has the rows of ``udfs.coding.rewards``. A contract without a rule of form has one component, ``correct``, and it is the outcome. A contract with one (a
format-constraint task) has three: ``correct`` and ``format`` as measured (weight 0), and ``outcome`` = their product
(weight 1). A product and not a sum of halves, because half a reward for the right form around any answer can be earned
without knowing anything; the task is solved when the answer is right *and* its form is.

Law 6: what the infrastructure, the verifier or a broken gold did gives a null value with a named verdict; what the candidate
did gives 0 with its verdict. Where one factor of a product is unknown, the product is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from pydantic import ValidationError

from schemas.contract import AnswerContract
from schemas.ids import content_id
from udfs.grading import VERIFIER, VERSION, Grade, grade, grade_format

#: Lowest and highest value that any of our verifiers declares.
REWARD_RANGE = (0.0, 1.0)

#: Stands in the canonical JSON of every code contract and, as a key, in that of no answer contract.
CODE_MARK = '"tests":{'

#: Verdicts that are nobody's answer: their value is always null.
UNKNOWN_VERDICTS = frozenset({"unparsable_gold", "error", "skipped"})
#: The candidate's own fault or failure: never null.
KNOWN_VERDICTS = frozenset({"correct", "incorrect", "partial", "unparsable_pred"})


@dataclass(frozen=True, slots=True)
class Reward:
    """One row of silver.rewards, without trajectory and round."""

    reward_name: str
    verifier_run_id: str
    kind: str
    value: float | None
    weight: float
    is_outcome: bool
    verdict: str
    verifier_name: str
    verifier_version: str
    verifier_config_hash: str
    extracted_answer: str | None
    gold_answer: str | None
    flags: tuple[str, ...]
    low: float = REWARD_RANGE[0]
    high: float = REWARD_RANGE[1]
    tests_passed: int | None = None
    tests_total: int | None = None
    sandbox_tier: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class _Mark:
    """What one component got."""

    verdict: str
    value: float | None
    extracted: str | None = None
    flags: tuple[str, ...] = ()


def grade_response(
    contract: str | None, response: str | None, failure: str | None, *, allow_weak_sandbox: bool = False
) -> list[Reward]:  # fmt: skip
    """All reward rows of one trajectory, the outcome last.

    Args:
        contract: canonical JSON of the prompt's contract, of an answer or of code; None where the prompt is unknown.
        response: the candidate's text; None where there is none.
        failure: failure class of the trajectory; where there is one, nothing is graded.
        allow_weak_sandbox: run a program where only rlimits bound it (tier D), rather than raise.

    Raises:
        SandboxUnavailableError: a contract of code with a program to run, and no sandbox that is allowed.
    """
    if contract is not None and CODE_MARK in contract:
        return _grade_code(contract, response, failure, allow_weak_sandbox=allow_weak_sandbox)
    parsed, broken = _parse(contract)
    if failure is not None or response is None:
        unknown = _Mark("error", None, None, (failure or "no_response",))
        return _rows(contract, parsed, unknown, unknown)
    if parsed is None:
        return _rows(contract, None, broken, None)
    form = grade_format(parsed, response) if parsed.format is not None else None
    return _rows(contract, parsed, _mark(grade(parsed, response)), None if form is None else _mark(form))


def _grade_code(contract: str, response: str | None, failure: str | None, *, allow_weak_sandbox: bool) -> list[Reward]:
    """Rows of a program: it runs in the sandbox of this process."""
    from udfs.coding.rewards import grade_code  # imports this module

    if failure is None:
        return grade_code(contract, response, allow_weak_sandbox=allow_weak_sandbox)
    return [replace(row, flags=(failure,)) for row in grade_code(contract, None)]


def outcome_of(rewards: list[Reward]) -> float | None:
    """Sum of weight x value over the outcome rewards; None where any of them is unknown or there is none."""
    values = [None if r.value is None else r.weight * r.value for r in rewards if r.is_outcome]
    known = [v for v in values if v is not None]
    return sum(known) if known and len(known) == len(values) else None


def reward_fault(value: float | None, verdict: str | None) -> str | None:
    """Why a stored reward cannot be what it says; None where it can.

    Returns:
        ``missing`` (no verdict at all), ``not_finite``, ``out_of_range`` (outside REWARD_RANGE), ``null_but_known`` (the verdict is the
        candidate's), ``value_but_unknown`` (the verdict is ours), ``correct_without_reward`` or ``incorrect_with_reward``.
    """
    if verdict is None:
        return "missing"
    if value is None:
        return "null_but_known" if verdict in KNOWN_VERDICTS else None
    if not math.isfinite(value):
        return "not_finite"
    if not REWARD_RANGE[0] <= value <= REWARD_RANGE[1]:
        return "out_of_range"
    if verdict in UNKNOWN_VERDICTS:
        return "value_but_unknown"
    if verdict == "correct" and value <= REWARD_RANGE[0]:
        return "correct_without_reward"
    if verdict in ("incorrect", "unparsable_pred", "timeout") and value > REWARD_RANGE[0]:
        return "incorrect_with_reward"
    return None


def _parse(contract: str | None) -> tuple[AnswerContract | None, _Mark]:
    if contract is None:
        return None, _Mark("error", None, None, ("unknown_contract",))
    try:
        return AnswerContract.model_validate_json(contract), _Mark("skipped", None)
    except ValidationError:
        return None, _Mark("unparsable_gold", None, None, ("broken_contract",))


def _mark(given: Grade) -> _Mark:
    value = None if given.verdict in UNKNOWN_VERDICTS else given.reward
    return _Mark(given.verdict, value, given.extracted, tuple(sorted(given.flags)))


def _rows(contract: str | None, parsed: AnswerContract | None, correct: _Mark, form: _Mark | None) -> list[Reward]:
    config = content_id(contract)
    run = content_id(VERIFIER, VERSION, contract)
    gold = None if parsed is None else parsed.gold

    def row(name: str, mark: _Mark, *, outcome: bool, answer: str | None) -> Reward:
        return Reward(
            reward_name=name, verifier_run_id=run, kind="rule", value=mark.value, weight=1.0 if outcome else 0.0, is_outcome=outcome,
            verdict=mark.verdict, verifier_name=VERIFIER, verifier_version=VERSION, verifier_config_hash=config,
            extracted_answer=mark.extracted, gold_answer=answer, flags=mark.flags,
        )  # fmt: skip

    if parsed is None or parsed.format is None or form is None:
        return [row("correct", correct, outcome=True, answer=gold)]
    return [
        row("correct", correct, outcome=False, answer=gold),
        row("format", form, outcome=False, answer=parsed.format),
        row("outcome", _product(correct, form), outcome=True, answer=gold),
    ]


def _product(correct: _Mark, form: _Mark) -> _Mark:
    flags = tuple(sorted({*correct.flags, *form.flags}))
    if correct.value is None or form.value is None:
        verdict = correct.verdict if correct.value is None else form.verdict
        return _Mark(verdict, None, correct.extracted, flags)
    value = correct.value * form.value
    if value > REWARD_RANGE[0]:
        return _Mark("correct" if value >= REWARD_RANGE[1] else "partial", value, correct.extracted, flags)
    verdict = correct.verdict if correct.value <= REWARD_RANGE[0] else "incorrect"
    return _Mark(verdict, value, correct.extracted, tuple(sorted({*flags, "wrong_form"})) if form.value <= REWARD_RANGE[0] else flags)
