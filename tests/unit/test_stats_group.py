"""Group statistics: golden vectors of R§5 with their derivation, exact zeros, unknown rewards."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from udfs.stats.group import advantages, all_equal, group_statistics

# r = [0,0,1,1]: mean 1/2, sum of squares 4 * 1/4 = 1. Unbiased std sqrt(1/3) -> 0.5 * sqrt(3); population sqrt(1/4) -> 1;
# Dr.GRPO 1/2; RLOO 1/2 * 4/3 = 2/3.
HALF = [0.0, 0.0, 1.0, 1.0]
# r = [1, 0 x 7]: mean 1/8, sum of squares (7/8)^2 + 7 (1/8)^2 = 56/64 = 7/8. Unbiased std sqrt(1/8): 7/8 * sqrt(8), -1/8 * sqrt(8).
# Population sqrt(7/64): 7/8 * 8/sqrt(7) = sqrt(7), -1/sqrt(7). RLOO (7/8)(8/7) = 1, -1/7.
ONE_OF_EIGHT = [1.0] + [0.0] * 7


@pytest.mark.parametrize(
    ("rewards", "estimator", "high", "low"),
    [
        (HALF, "grpo_unbiased", 0.5 * math.sqrt(3), -0.5 * math.sqrt(3)),
        (HALF, "grpo_population", 1.0, -1.0),
        (HALF, "dr_grpo", 0.5, -0.5),
        (HALF, "rloo", 2 / 3, -2 / 3),
        (ONE_OF_EIGHT, "grpo_unbiased", 7 / 8 * math.sqrt(8), -math.sqrt(8) / 8),
        (ONE_OF_EIGHT, "grpo_population", math.sqrt(7), -1 / math.sqrt(7)),
        (ONE_OF_EIGHT, "dr_grpo", 0.875, -0.125),
        (ONE_OF_EIGHT, "rloo", 1.0, -1 / 7),
    ],
)
def test_advantages_match_the_derivation(rewards, estimator, high, low):
    got = advantages(rewards, estimator)
    assert got == pytest.approx([high if r == 1.0 else low for r in rewards], rel=1e-15)


def test_golden_digits_of_the_frameworks():
    # R§5 prints what verl gives (epsilon 1e-6): 0.86602, 2.47487, -0.35355; population 2.64575, -0.37796.
    assert advantages(HALF, "grpo_unbiased", epsilon=1e-6)[3] == pytest.approx(0.86602, abs=5e-6)
    got = advantages(ONE_OF_EIGHT, "grpo_unbiased", epsilon=1e-6)
    assert (got[0], got[1]) == (pytest.approx(2.47487, abs=5e-6), pytest.approx(-0.35355, abs=5e-6))
    got = advantages(ONE_OF_EIGHT, "grpo_population", epsilon=1e-6)
    assert (got[0], got[1]) == (pytest.approx(2.64575, abs=1e-5), pytest.approx(-0.37796, abs=5e-6))


def test_statistics_of_one_of_eight():
    stats = group_statistics(ONE_OF_EIGHT)
    assert (stats.n, stats.n_valid, stats.mean, stats.minimum, stats.maximum) == (8, 8, 0.125, 0.0, 1.0)
    assert stats.std_unbiased == pytest.approx(math.sqrt(1 / 8), rel=1e-15)
    assert stats.std_population == pytest.approx(math.sqrt(7) / 8, rel=1e-15)
    assert not stats.zero_variance


@pytest.mark.parametrize("value", [0.0, 0.1, 0.3, 0.7, -1.0, 1e9 + 0.1])
@pytest.mark.parametrize("n", [1, 3, 7, 8])
def test_equal_rewards_are_exactly_zero(value, n):
    stats = group_statistics([value] * n)
    assert stats.zero_variance
    assert (stats.std_unbiased, stats.std_population) == (0.0, 0.0)
    for estimator in ("grpo_unbiased", "grpo_population", "dr_grpo", "rloo"):
        assert advantages([value] * n, estimator) == [0.0] * n


def test_the_noise_that_we_avoid_is_real():
    # R§5: np.std([0.1] * 3) = 1.4e-17, which frameworks compare with 0; ours is exactly 0.
    assert np.std([0.1] * 3) > 0.0
    assert group_statistics([0.1] * 3).std_population == 0.0


@pytest.mark.parametrize(
    ("values", "equal"),
    [([1.0, 1.0 + 1e-9], True), ([1.0, 1.0 + 1e-7], False), ([1e9, 1e9 + 1.0], True), ([0.0, 1e-7], False), ([], False)],
)
def test_the_spread_rule_is_relative_above_one(values, equal):
    assert all_equal(values) is equal


def test_unknown_rewards_count_for_nothing_but_n():
    rewards = [None, 1.0, float("nan"), 0.0]
    stats = group_statistics(rewards)
    assert (stats.n, stats.n_valid, stats.mean) == (4, 2, 0.5)
    # of [1, 0]: unbiased std sqrt(1/2), so 0.5 * sqrt(2); the unknown ones stay unknown
    got = advantages(rewards, "grpo_unbiased")
    assert (got[0], got[2]) == (None, None)
    assert (got[1], got[3]) == (pytest.approx(math.sqrt(2) / 2), pytest.approx(-math.sqrt(2) / 2))


def test_own_timeout_must_not_pay_better_than_wrong():
    # E§3: a null for the candidate's own time-out lifts it to advantage 0.00 where a wrong answer gets -0.83.
    as_null = advantages([1.0, 1.0, 0.0, 0.0, 0.0, None], "grpo_unbiased")
    as_zero = advantages([1.0, 1.0, 0.0, 0.0, 0.0, 0.0], "grpo_unbiased")
    assert as_null[5] is None
    assert as_zero[5] == as_zero[4] < 0.0


def test_all_unknown_is_unknown_not_constant():
    stats = group_statistics([None, None])
    assert (stats.n, stats.n_valid, stats.mean, stats.std_unbiased, stats.std_population) == (2, 0, None, None, None)
    assert not stats.zero_variance
    assert advantages([None, None], "rloo") == [None, None]
    assert group_statistics([]).n == 0


def test_order_does_not_matter_to_the_last_bit():
    rewards = [0.1, 0.2, 0.3, 1e9, -1e9]
    results = {(s.mean, s.std_unbiased, s.std_population) for s in map(group_statistics, itertools.permutations(rewards))}
    assert len(results) == 1
