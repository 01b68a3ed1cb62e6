"""The Beta posterior: E§3's figures, chance removed, bounds."""

from __future__ import annotations

import pytest

from udfs.stats.posterior import effective_counts, guess_rate, solve_rate_posterior

BAND = (0.1, 0.9)
JEFFREYS = (0.5, 0.5)


@pytest.mark.parametrize(
    ("k", "exact", "measured"),
    [
        # With the prior Beta(0+, 1), k of 8 gives Beta(k, 9 - k), and P(rate > 0.1) = P(Bin(8, 0.1) < k):
        # k = 1: 0.9^8 = 0.4305; k = 2: + 8 * 0.1 * 0.9^7 = 0.8131; k = 3: + 28 * 0.01 * 0.9^6 = 0.9619.
        # That prior (mass at zero) reproduces what E§3 measured on the reader: 42 %, 81 %, 96 %. P(rate > 0.9) is below 1e-4.
        (1, 0.9**8, 0.42),
        (2, 0.9**8 + 8 * 0.1 * 0.9**7, 0.81),
        (3, 0.9**8 + 8 * 0.1 * 0.9**7 + 28 * 0.01 * 0.9**6, 0.96),
    ],
)
def test_the_measured_shares_follow_from_a_prior_near_zero(k, exact, measured):
    got = solve_rate_posterior(k, 8, prior=(1e-12, 1.0), band=BAND).p_in_band
    assert got == pytest.approx(exact, abs=1e-4)
    assert got == pytest.approx(measured, abs=0.015)


@pytest.mark.parametrize(("k", "n"), [(0, 8), (8, 8), (0, 16), (16, 16)])
def test_all_wrong_or_all_right_is_probably_outside(k, n):
    assert solve_rate_posterior(k, n, prior=JEFFREYS, band=BAND).p_in_band < 0.2


def test_jeffreys_is_symmetric_and_its_mean_is_the_shrunk_rate():
    low, high = (solve_rate_posterior(k, 8, prior=JEFFREYS, band=BAND) for k in (2, 6))
    assert low.p_in_band == high.p_in_band
    assert (low.alpha, low.beta, low.mean) == (2.5, 6.5, 2.5 / 9)


def test_no_sample_leaves_the_prior():
    # Jeffreys is the arcsine law: P(0.1 < p < 0.9) = 1 - 4/pi * asin(sqrt(0.1)) = 0.590334
    got = solve_rate_posterior(0, 0, prior=JEFFREYS, band=BAND)
    assert (got.alpha, got.beta, got.mean) == (0.5, 0.5, 0.5)
    assert got.p_in_band == pytest.approx(0.590334470602, abs=1e-12)
    assert got.p_in_band == round(got.p_in_band, 12)


@pytest.mark.parametrize(
    ("k", "n", "options", "effective"),
    [
        (6, 8, 0, (6.0, 8.0)),
        (6, 8, 1, (6.0, 8.0)),  # one option is no choice
        (2, 8, 4, (0.0, 6.0)),  # exactly the chance level
        (1, 8, 4, (0.0, 6.0)),  # below it: clipped
        (5, 8, 4, (3.0, 6.0)),  # p = .625 -> (p - 1/4) / (3/4) = .5
        (8, 8, 4, (6.0, 6.0)),  # all right -> 1
        (0, 0, 4, (0.0, 0.0)),
    ],
)
def test_chance_is_removed(k, n, options, effective):
    assert effective_counts(k, n, options) == effective
    assert guess_rate(options) == (0.25 if options == 4 else 0.0)


def test_failures_stay_failures_above_chance():
    for k in range(2, 9):
        successes, samples = effective_counts(k, 8, 4)
        assert samples - successes == 8 - k


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3)])
def test_impossible_counts_are_refused(k, n):
    with pytest.raises(ValueError, match="within the samples"):
        effective_counts(k, n)
