"""Wilson's interval against published values, and its cover where samples of one prompt resemble each other."""

from __future__ import annotations

import functools
import operator

import numpy as np
import pytest

from udfs.stats.wilson import Clustered, wilson


def of(*prompts):
    """(k, n) of each group."""
    rows = [Clustered(1, k, n, k * k, k * n, n * n) for k, n in prompts]
    return functools.reduce(operator.add, rows, Clustered())


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    # R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_is_that_of_newcombes_table(k, n, low, high):
    assert wilson(k, n) == pytest.approx((low, high), abs=5e-5)


def test_the_interval_stays_within_0_and_1_and_mirrors():
    assert wilson(0, 5)[0] == 0.0
    assert wilson(5, 5)[1] == 1.0
    low, high = wilson(3, 11)
    assert wilson(8, 11) == pytest.approx((1 - high, 1 - low))


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (0, 0)])
def test_what_is_no_share_is_refused(k, n):
    with pytest.raises(ValueError, match="no share"):
        wilson(k, n)


def test_prompts_that_all_behave_alike_count_every_sample():
    # Each prompt 4 of 8: no spread between prompts, so the quotient is below 1 and counts as 1.
    assert of((4, 8), (4, 8), (4, 8), (4, 8)).effective == 32


def test_prompts_that_are_all_right_or_all_wrong_are_worth_one_sample_each():
    # Two of 8 of 8, two of 0 of 8: v = 4/3 * 64 / 32^2 = 1/12, independent samples 1/128: quotient 32/3, 32 / (32/3) = 3, but never below 4.
    assert of((8, 8), (8, 8), (0, 8), (0, 8)).effective == 4


def test_a_spread_in_between_is_computed_as_kish_does():
    prompts = [(8, 8), (5, 8), (2, 8), (7, 8), (0, 8)]
    k, n, m = 22, 40, 5
    p = k / n
    variance = m / (m - 1) * sum((a - p * b) ** 2 for a, b in prompts) / n**2
    expected = n / (variance / (p * (1 - p) / n))
    assert 5 < expected < 40
    assert of(*prompts).effective == pytest.approx(expected, rel=1e-12)
    assert of(*prompts).interval == pytest.approx(wilson(p * expected, expected))


def test_where_nothing_tells_the_spread_the_number_of_prompts_is_taken():
    assert of((8, 8)).effective == 1
    assert of((8, 8), (8, 8), (8, 8)).effective == 3
    assert of((0, 8), (0, 8)).interval == pytest.approx(wilson(0, 2))


def test_without_a_known_sample_there_is_neither_rate_nor_interval():
    assert Clustered().rate is None
    assert Clustered().interval is None


def test_the_order_of_adding_does_not_matter():
    prompts = [(3, 7), (8, 8), (0, 5), (2, 8)]
    assert of(*prompts) == of(*reversed(prompts))


def test_the_cover_is_kept_where_counting_every_sample_loses_it():
    # 40 prompts with solve rates from Beta(1/2, 1/2), whose mean is 1/2; 8 samples each; 2,000 draws with a fixed seed.
    rng = np.random.default_rng(7)
    covered = naive = 0
    for _ in range(2000):
        solved = rng.binomial(8, rng.beta(0.5, 0.5, 40))
        held = of(*((int(k), 8) for k in solved))
        low, high = held.interval
        covered += low <= 0.5 <= high
        low, high = wilson(held.k, held.n)
        naive += low <= 0.5 <= high
    assert 0.93 <= covered / 2000 <= 0.98
    assert naive / 2000 < 0.75
