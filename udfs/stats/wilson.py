"""An interval for a solve rate: Wilson's score interval over the effective number of samples.

**Wilson.** For k of n independent samples and the normal quantile z (E. B. Wilson, JASA 22, 1927)::

    centre = (k + z²/2) / (n + z²)
    half   = z / (n + z²) · sqrt(k (n - k) / n + z²/4)

Unlike the textbook interval it stays within [0, 1] and says something at 0 of n and n of n.

**Effective samples.** Samples of one prompt resemble each other, prompts on one document do too, so n of them say less than n documents
would. With k_i of n_i samples in group i of m (a group: all prompts of one near-duplicate cluster) and p = Σk_i / Σn_i, the variance of a ratio over clusters (L. Kish, Survey Sampling, 1965)::

    v = m / (m - 1) · Σ (k_i - p n_i)² / n²

is compared with p (1 - p) / n, that of independent samples; their quotient, at least 1, divides n. An effective n in Wilson's formula keeps
its coverage in such samples (C. Franco, R. Little, T. Louis, E. Slud, J. Survey Statistics and Methodology 7, 2019). Where the quotient says
nothing (one group, all right, all wrong) the number of groups is taken, the least that n samples can be worth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Quantile of the standard normal distribution for 95 %, two-sided.
Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Clustered:
    """Sums over groups, all integers, so that any order of adding gives the same interval.

    Attributes:
        groups: groups with a known sample.
        k: correct samples.
        n: samples with a known reward.
        kk: sum of squares of the groups' correct samples.
        kn: sum of products of the groups' correct and known samples.
        nn: sum of squares of the groups' known samples.
    """

    groups: int = 0
    k: int = 0
    n: int = 0
    kk: int = 0
    kn: int = 0
    nn: int = 0

    def __add__(self, other: Clustered) -> Clustered:
        """Both together; no group may be in both."""
        return Clustered(
            self.groups + other.groups, self.k + other.k, self.n + other.n, self.kk + other.kk, self.kn + other.kn, self.nn + other.nn
        )

    @property
    def rate(self) -> float | None:
        """Share of the known samples that are correct; None where nothing is known."""
        return self.k / self.n if self.n else None

    @property
    def effective(self) -> float:
        """Independent samples that these are worth, from ``groups`` to ``n``."""
        m, n, k = self.groups, self.n, self.k
        if m < 2 or k in (0, n):
            return float(m)
        # n² Σ(k_i - p n_i)², an integer: no difference of rounded numbers.
        spread = n * n * self.kk - 2 * n * k * self.kn + k * k * self.nn
        quotient = (m / (m - 1)) * spread / (n * k * (n - k))
        return min(float(n), max(float(m), n / max(quotient, 1.0)))

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the rate; None where nothing is known."""
        return wilson(self.k * self.effective / self.n, self.effective) if self.n else None


def wilson(k: float, n: float, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval.

    Args:
        k: successes, 0 <= k <= n; need not be whole where ``n`` is an effective size.
        n: samples, above 0.
        z: quantile of the standard normal distribution.

    Raises:
        ValueError: ``k`` or ``n`` is out of range.
    """
    if not 0 <= k <= n or n <= 0:
        msg = f"{k} of {n} is no share"
        raise ValueError(msg)
    square = z * z
    centre = (k + square / 2) / (n + square)
    half = z / (n + square) * math.sqrt(k * (n - k) / n + square / 4)
    return max(0.0, centre - half), min(1.0, centre + half)
