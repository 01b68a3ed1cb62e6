"""The Beta posterior of a prompt's solve rate, and the probability that it lies in the capability band (E§3).

A raw rate of 8 samples misleads: with 1 of 8 right, fewer than half of the prompts truly lie in [0.1, 0.9]. So the samples of
recent rounds are pooled and a Beta distribution over the rate is kept.

**Multiple choice.** With m options a guess is right with g = 1/m, so the observed rate p = q + (1 - q) g overstates the
rate q = (p - g) / (1 - g) of being right for a reason. Taking from n samples the share g that guessing decides leaves::

    n' = n (1 - g)            effective samples
    k' = max(0, k - n g)      successes beyond the expected lucky guesses

so that k'/n' = (p - g) / (1 - g) clipped at 0, and above the chance level the failures n' - k' = n - k stay what they
were. Fewer effective samples leave a wider posterior, as they should: part of what was seen is noise. Without options
g = 0, and n' = n, k' = k. The effective counts are computed from integers with one division each.
"""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import betainc

#: Decimals kept of a probability, so that platforms whose incomplete beta function differs in the last bits agree.
DECIMALS = 12


@dataclass(frozen=True, slots=True)
class Posterior:
    """Beta(alpha, beta) over a solve rate from which chance has been removed.

    Attributes:
        alpha: prior plus effective successes.
        beta: prior plus effective failures.
        mean: alpha / (alpha + beta).
        p_in_band: probability that the rate lies within the band, 12 decimals.
    """

    alpha: float
    beta: float
    mean: float
    p_in_band: float


def guess_rate(options: int) -> float:
    """Chance level: 1/options, 0 where there is nothing to choose among (fewer than two options)."""
    return 1.0 / options if options >= 2 else 0.0


def effective_counts(k: int, n: int, options: int = 0) -> tuple[float, float]:
    """(k', n'): successes and samples from which guessing has been removed; see the module.

    Raises:
        ValueError: k is not within 0 .. n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} successes of {n} samples: the successes must lie within the samples")
    if options < 2:
        return float(k), float(n)
    return max(0, k * options - n) / options, n * (options - 1) / options


def solve_rate_posterior(k: int, n: int, *, prior: tuple[float, float], band: tuple[float, float], options: int = 0) -> Posterior:
    """Posterior of the solve rate after k of n pooled valid samples.

    ``p_in_band`` = I_hi(alpha, beta) - I_lo(alpha, beta), with I the regularised incomplete beta function.

    Args:
        k: correct samples, pooled.
        n: valid samples, pooled (unknown rewards are not among them).
        prior: alpha and beta before any sample (conf: plan.prior_alpha, plan.prior_beta).
        band: lowest and highest solve rate of the capability band (conf: plan.band).
        options: options of a multiple choice, 0 for other forms.

    Raises:
        ValueError: k is not within 0 .. n.
    """
    successes, samples = effective_counts(k, n, options)
    alpha, beta = prior[0] + successes, prior[1] + (samples - successes)
    inside = float(betainc(alpha, beta, band[1])) - float(betainc(alpha, beta, band[0]))
    return Posterior(alpha, beta, alpha / (alpha + beta), round(min(1.0, max(0.0, inside)), DECIMALS))
