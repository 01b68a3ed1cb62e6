"""Raw rewards of different scales, made comparable and mixed: a view, versioned, never stored in their place.

Every raw reward is first brought to one scale. With the known values x of its domain (or of its group), mean m and population spread s::

    domain  (x - m) / s, over all of the round's rows of the domain (of several rounds where a window is set)
    group   (x - m) / s, over the samples of one prompt
    range   (x - low) / (high - low), by the declared range

z-scores are clipped to [-clip, clip], and the clips counted; values that are all equal (R§5's rule) are exactly 0. Then::

    composed = alpha * verifier + (1 - alpha) * judge

**Unknown.** A reward that has weight must be known: composed is null where the verifier is unknown and alpha > 0, or the judge is
unknown and alpha < 1. With alpha = 0 the judge alone decides and the verifier need not be known; with alpha = 1 the reverse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from udfs.rewards.moments import Moments
from udfs.stats.group import known

#: Of the whole view: raised whenever any figure of it may change for the same rows and settings.
VERSION = "1"
VIEW = f"rewards@{VERSION}"


@dataclass(frozen=True, slots=True)
class Aligned:
    """One reward on the common scale.

    Attributes:
        values: one per row; None where the raw value is unknown.
        clipped: whether the row's score was cut.
    """

    values: list[float | None]
    clipped: list[bool]


def moments_by(values: Sequence[float | None], keys: Sequence[str]) -> dict[str, Moments]:
    """Key (a domain, a group) -> exact moments of its known values; keys without one have empty moments."""
    held: dict[str, list[float]] = {}
    for value, key in zip(values, keys, strict=True):
        held.setdefault(key, [])
        if value is not None and known(value):
            held[key].append(value)
    return {key: Moments.of(found) for key, found in held.items()}


def align_to(values: Sequence[float | None], keys: Sequence[str], moments: Mapping[str, Moments], clip: float) -> Aligned:
    """z-scores of each value against the moments of its key, clipped.

    Args:
        values: raw rewards; None = unknown.
        keys: domain or group of each.
        moments: of every key; may hold more values than are given here (a running window).
        clip: most standard deviations from 0.
    """
    memo: dict[tuple[str, float], float | None] = {}  # rewards repeat
    scores: list[float | None] = []
    clipped: list[bool] = []
    for value, key in zip(values, keys, strict=True):
        score, cut = None, False
        if value is not None and known(value):
            if (key, value) not in memo:
                memo[key, value] = moments[key].score(value)
            score = memo[key, value]
        if score is not None:
            cut = abs(score) > clip
            score = max(-clip, min(clip, score))
        scores.append(score)
        clipped.append(cut)
    return Aligned(scores, clipped)


def align_to_range(values: Sequence[float | None], bounds: Sequence[tuple[float, float]]) -> Aligned:
    """Values of declared ranges, mapped onto [0, 1]; nothing to clip, because values outside are faults and unknown.

    Args:
        values: raw rewards; None = unknown.
        bounds: lowest and highest value that each may have, finite and rising.
    """
    scores = [
        (value - low) / (high - low) if value is not None and known(value) else None
        for value, (low, high) in zip(values, bounds, strict=True)
    ]
    return Aligned(scores, [False] * len(scores))


def compose(verifier: float | None, judge: float | None, alpha: float) -> float | None:
    """The mix alpha * verifier + (1 - alpha) * judge; None where a reward that has weight is unknown.

    Args:
        verifier: aligned verifier reward.
        judge: aligned judge reward.
        alpha: weight of the verifier, in [0, 1].
    """
    if alpha >= 1.0:
        return verifier
    if alpha <= 0.0:
        return judge
    if verifier is None or judge is None:
        return None
    return alpha * verifier + (1.0 - alpha) * judge
