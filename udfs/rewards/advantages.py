"""Advantages of a group under every estimator at once, with the constant of the framework that will train.

The estimators are those of ``udfs.stats.group``. What frameworks add to the spread differs by orders of magnitude (R§5), and so do their
answers for one sample or for equal ones: here both are exactly 0 under every name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from udfs.stats.group import Estimator, advantages, all_equal, known

ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)

#: Framework -> what it adds to the standard deviation (R§5, read in its source). prime-rl does not divide; nobody is "none".
EPSILONS: dict[str, float] = {
    "verl": 1e-6, "trl": 1e-4, "openrlhf": 1e-9, "slime": 1e-6, "roll": 1e-6, "areal": 1e-5, "nemo_rl": 1e-6, "prime_rl": 0.0, "none": 0.0,
}  # fmt: skip


def group_advantages(
    scores: Sequence[float | None], framework: str = "none", parts: Sequence[Sequence[float | None]] = ()
) -> dict[Estimator, list[float | None]]:
    """Estimator -> advantage of each sample; None where the score is unknown.

    Args:
        scores: of the samples of one group; None = unknown, excluded from mean and spread.
        framework: whose epsilon, a key of :data:`EPSILONS`.
        parts: raw values that the scores were made of, as many as there are scores each. Where all of them are constant over the
            samples with a known score, the advantages are exactly 0: alignment divides by a spread and could turn noise of 1e-9 in raw
            rewards into a difference that the rule for equal scores no longer sees.

    Raises:
        KeyError: no such framework.
    """
    epsilon = EPSILONS[framework]
    there = [known(score) for score in scores]
    if parts and all(_constant(part, there) for part in parts):
        zeros: list[float | None] = [0.0 if is_known else None for is_known in there]
        return {estimator: list(zeros) for estimator in ESTIMATORS}
    return {estimator: advantages(scores, estimator, epsilon=epsilon) for estimator in ESTIMATORS}


def _constant(part: Sequence[float | None], there: Sequence[bool]) -> bool:
    """All samples with a known score have equal values of the part, or none of them has any (a part without weight there)."""
    values = [value for value, is_known in zip(part, there, strict=True) if is_known]
    held = [value for value in values if value is not None and known(value)]
    return all_equal(held) if len(held) == len(values) else not held
