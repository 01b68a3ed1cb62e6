"""Statistics of the rewards of one group: all samples of one prompt in one sampling event (R§5).

Rewards are float64 in the order of ``sample_index``; None means unknown (law 6) and counts neither for the mean nor for
the spread. Sums are ``math.fsum``, which rounds the exact sum once: the result depends neither on the order of the
samples nor on a platform's summation. Equal rewards give a spread and advantages of exactly 0, where frameworks that
divide float noise by epsilon give up to 0.9 for eight rewards of 0.7 (R§5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Estimator = Literal["grpo_unbiased", "grpo_population", "dr_grpo", "rloo"]

#: R§5: rewards whose spread is at most this, relative to their size but at least absolutely, are equal.
RELATIVE_SPREAD = 1e-8


@dataclass(frozen=True, slots=True)
class GroupStats:
    """What a group's rewards say.

    Attributes:
        n: samples, unknown rewards included.
        n_valid: samples with a known reward.
        mean: over the valid ones; None where there are none.
        std_unbiased: n_valid - 1 in the denominator; exactly 0.0 where all are equal (also for a single sample).
        std_population: n_valid in the denominator; exactly 0.0 likewise.
        minimum: smallest valid reward.
        maximum: largest valid reward.
        zero_variance: there is a valid reward and all of them are equal: the group teaches nothing. A group without
            any valid reward is unknown, not constant.
    """

    n: int
    n_valid: int
    mean: float | None
    std_unbiased: float | None
    std_population: float | None
    minimum: float | None
    maximum: float | None
    zero_variance: bool


def known(reward: float | None) -> bool:
    """Whether a reward is a number; None is unknown, and so is NaN, by which TRL's and JSON dumps spell unknown (R§9)."""
    return reward is not None and math.isfinite(reward)


def all_equal(values: Sequence[float]) -> bool:
    """R§5's rule: max - min <= 1e-8 * max(1, |max|); False for no values at all."""
    if not values:
        return False
    high, low = max(values), min(values)
    return high - low <= RELATIVE_SPREAD * max(1.0, abs(high))


def group_statistics(rewards: Sequence[float | None]) -> GroupStats:
    """Count, mean and spread of one group.

    Args:
        rewards: one float64 per sample in order of ``sample_index``; None (or not finite) = unknown.
    """
    valid = [float(r) for r in rewards if r is not None and known(r)]
    if not valid:
        return GroupStats(len(rewards), 0, None, None, None, None, None, zero_variance=False)
    mean = math.fsum(valid) / len(valid)
    low, high = min(valid), max(valid)
    if all_equal(valid):
        return GroupStats(len(rewards), len(valid), mean, 0.0, 0.0, low, high, zero_variance=True)
    squares = math.fsum((r - mean) * (r - mean) for r in valid)
    unbiased, population = math.sqrt(squares / (len(valid) - 1)), math.sqrt(squares / len(valid))
    return GroupStats(len(rewards), len(valid), mean, unbiased, population, low, high, zero_variance=False)


def advantages(rewards: Sequence[float | None], estimator: Estimator, *, epsilon: float = 0.0) -> list[float | None]:
    """Advantages of one group, one per sample; None where the reward is unknown.

    With mean m and the known rewards r_1 .. r_n of the group::

        grpo_unbiased    (r - m) / (std with n - 1, plus epsilon)       verl, TRL, slime, OpenRLHF group_norm
        grpo_population  (r - m) / (std with n, plus epsilon)           the GRPO paper's normalisation
        dr_grpo          r - m                                          no division by the spread
        rloo             r - mean of the others = (r - m) * n / (n - 1) leave-one-out baseline

    Equal rewards, and a single known reward, give exactly 0.0 with every estimator.

    Args:
        rewards: one float64 per sample in order of ``sample_index``; None (or not finite) = unknown.
        estimator: which of the four.
        epsilon: what a framework adds to the spread (R§5: verl 1e-6, TRL 1e-4, OpenRLHF 1e-9); 0 needs none, because
            zero variance never reaches the division.
    """
    stats = group_statistics(rewards)
    if stats.mean is None or stats.std_unbiased is None or stats.std_population is None:
        return [None] * len(rewards)
    mean = stats.mean
    if stats.zero_variance:
        return [0.0 if known(r) else None for r in rewards]
    scale = {
        "grpo_unbiased": 1.0 / (stats.std_unbiased + epsilon),
        "grpo_population": 1.0 / (stats.std_population + epsilon),
        "dr_grpo": 1.0,
        "rloo": stats.n_valid / (stats.n_valid - 1),
    }[estimator]
    return [(r - mean) * scale if r is not None and known(r) else None for r in rewards]
