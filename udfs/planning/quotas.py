"""Quotas of a round: largest remainders under caps, and the counter-skew between task types."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction


def allocate(total: int, available: Mapping[str, int], weights: Mapping[str, float] | None = None) -> dict[str, int]:
    """Share ``total`` among strata in proportion to ``weights``, none above what is available.

    What a full stratum cannot take goes to the others, again in proportion. Remainders go to the largest fractions, ties to the
    smaller name (Hamilton's method, repeated until nothing is left or everything is full).

    Args:
        total: how many to give out.
        available: stratum -> how many it has.
        weights: stratum -> weight, default the square root of what is available, so that small strata are not drowned.

    Returns:
        stratum -> quota; the quotas add up to min(total, sum of available).
    """
    weight = {name: weights.get(name, 0.0) if weights is not None else math.sqrt(count) for name, count in available.items()}
    quota = dict.fromkeys(sorted(available), 0)
    left = min(total, sum(available.values()))
    while left > 0:
        open_strata = [name for name in quota if quota[name] < available[name]]
        # Fractions, not floats: the same quotas on every machine.
        shares = {name: Fraction(weight[name]) for name in open_strata}
        whole = sum(shares.values())
        if whole == 0:
            shares, whole = {name: Fraction(1) for name in open_strata}, Fraction(len(open_strata))
        exact = {name: min(Fraction(available[name] - quota[name]), left * shares[name] / whole) for name in open_strata}
        given = {name: math.floor(value) for name, value in exact.items()}
        rest = left - sum(given.values())
        by_remainder = sorted(open_strata, key=lambda name: (given[name] - exact[name], name))
        for name in by_remainder:
            if rest == 0:
                break
            if quota[name] + given[name] < available[name] and exact[name] > given[name]:
                given[name] += 1
                rest -= 1
        if not any(given.values()):
            given[by_remainder[0]] = 1
        for name, count in given.items():
            quota[name] += count
        left = min(total, sum(available.values())) - sum(quota.values())
    return quota


def counter_skew(available: Mapping[str, int], earlier: Mapping[str, int]) -> dict[str, float]:
    """Weights that lean against the mix of earlier rounds.

    A task type that had twice its fair share (the square root of what is available, normalised) gets half the weight, one that had
    half of it twice the weight; the factor is bounded to [1/2, 2], so that one odd round does not turn the mix over.
    """
    fair = {name: math.sqrt(count) for name, count in available.items()}
    whole_fair, whole_earlier = sum(fair.values()), sum(earlier.get(name, 0) for name in available)
    if whole_fair == 0 or whole_earlier == 0:
        return fair
    weights = {}
    for name, value in fair.items():
        had = earlier.get(name, 0) / whole_earlier
        wanted = value / whole_fair
        factor = 2.0 if had == 0 else min(2.0, max(0.5, wanted / had))
        weights[name] = value * factor
    return weights
