"""The one registry of reward functions: what each is called, how it is obtained, and between which values it lies.

A value outside its declared range, of another kind, or of a function that nobody declared is a fault of whoever wrote it, never of the
candidate: views take it for unknown and name it (law 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from udfs.trajectories.rewards import reward_fault

Kind = Literal["rule", "model", "execution", "human", "shaping"]


@dataclass(frozen=True, slots=True)
class RewardFunction:
    """What a reward function promises.

    Attributes:
        name: ``reward_name`` of its rows.
        kinds: how its value may be obtained (silver.rewards.kind).
        low: smallest value that it gives; may be minus infinity.
        high: largest value that it gives.
        measures: what the value says.
    """

    name: str
    kinds: tuple[Kind, ...]
    low: float
    high: float
    measures: str


#: Pointwise and pairwise judgements of a model, as rewards.
GENRM, GENRM_PAIRWISE = "genrm", "genrm_pairwise"
#: Shaping terms; overlong ones are in units of their factor.
OVERLONG_DAPO, OVERLONG_VERL, OVERLONG_OPENRLHF, OVERLONG_TRUNCATED = (
    "overlong_dapo", "overlong_verl", "overlong_openrlhf", "overlong_truncated",
)  # fmt: skip
FORMAT_SHAPING = "format_shaping"

_DECLARED = (
    RewardFunction("correct", ("rule",), 0.0, 1.0, "the answer is the gold one, by the contract"),
    RewardFunction("format", ("rule",), 0.0, 1.0, "the response has the form that was asked for"),
    RewardFunction("rules", ("rule",), 0.0, 1.0, "the code does nothing that a rule forbids"),
    RewardFunction("public_tests", ("execution",), 0.0, 1.0, "share of the tests passed that the candidate may see"),
    RewardFunction("hidden_tests", ("execution",), 0.0, 1.0, "share of the tests passed that it may not see"),
    RewardFunction("outcome", ("rule", "execution"), 0.0, 1.0, "the task is solved: the parts above, taken together"),
    RewardFunction("human", ("human",), 0.0, 1.0, "a person's mark"),
    RewardFunction(GENRM, ("model",), 0.0, 1.0, "mean score of a model judge"),
    RewardFunction(GENRM_PAIRWISE, ("model",), 0.0, 1.0, "win rate within the group, each pair judged in both orders"),
    RewardFunction(OVERLONG_DAPO, ("shaping",), -1.0, 0.0, "soft penalty of length within the buffer, -1 beyond"),
    RewardFunction(OVERLONG_OPENRLHF, ("shaping",), -1.0, 0.0, "the same, as OpenRLHF clamps it"),
    RewardFunction(OVERLONG_VERL, ("shaping",), -math.inf, 0.0, "the same without a lower clamp"),
    RewardFunction(OVERLONG_TRUNCATED, ("shaping",), -1.0, 0.0, "a fixed penalty of responses that were cut off"),
    RewardFunction(FORMAT_SHAPING, ("shaping",), -1.0, 0.0, "penalty of the form that was not kept, in units of the penalty"),
)
FUNCTIONS: dict[str, RewardFunction] = {function.name: function for function in _DECLARED}

#: Verdicts that name a fault of the reward's writer; beside those of silver.rewards they stand where a view counts what is unknown.
FAULTS = (
    "undeclared", "wrong_kind", "range_differs", "missing", "not_finite", "out_of_range", "null_but_known", "value_but_unknown",
    "correct_without_reward", "incorrect_with_reward",
)  # fmt: skip


def row_fault(name: str, kind: str, value: float | None, low: float | None, high: float | None, verdict: str | None) -> str | None:
    """Why a row of silver.rewards cannot be what its function declares; None where it can.

    Args:
        name: ``reward_name``. One that is not registered counts where its own row declares a finite range, as a framework's dump may.
        kind: ``kind``.
        value: the reward; None = unknown.
        low: range as the row declares it; None in rows from before ranges were declared.
        high: likewise.
        verdict: its verdict.

    Returns:
        One of :data:`FAULTS`.
    """
    function = FUNCTIONS.get(name)
    if function is None:
        if low is None or high is None or not -math.inf < low < high < math.inf:
            return "undeclared"
    elif kind not in function.kinds:
        return "wrong_kind"
    elif kind != "shaping" and (low not in (None, function.low) or high not in (None, function.high)):
        return "range_differs"
    least, most = (function.low, function.high) if function is not None and kind != "shaping" else (low, high)
    if value is not None and not math.isfinite(value):
        return "not_finite"
    if value is not None and least is not None and most is not None and not least <= value <= most:
        return "out_of_range"
    # What a verdict and a value may say together is known of graders whose range is that of the house.
    return reward_fault(value, verdict) if kind in ("rule", "execution") and (least, most) == (0.0, 1.0) else None
