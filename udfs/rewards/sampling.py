"""DAPO's dynamic sampling as a view: which groups teach something, by the raw reward alone.

A group whose samples are all right or all wrong has no gradient, and is left out. The metric is the raw reward that decides the task
(the verifier's, the accuracy; the judge's where that has the greater weight), never the shaped one: right answers of different lengths
differ in a shaped reward, so that a filter on it keeps groups that teach nothing but length (R§5 names the collapses measured). Zero
variance is R§5's rule and not ``std == 0``, which float noise escapes.

A band on the group's mean leaves out what is almost always right or wrong; with a margin it is soft: the weight falls linearly to 0 over
``margin`` outside of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from udfs.stats.group import group_statistics

Weighting = Literal["keep", "variance"]
Reason = Literal["kept", "zero_variance", "outside_band", "too_few_known"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What dynamic sampling says of one group.

    Attributes:
        keep: whether it is trained on; exactly where ``weight`` > 0.
        weight: in [0, 1].
        why: the reason.
        mean: mean of the known metric, as a share of its range; None where none is known.
    """

    keep: bool
    weight: float
    why: Reason
    mean: float | None


def choose(
    metric: Sequence[float | None],
    band: tuple[float, float] = (0.0, 1.0),
    margin: float = 0.0,
    weighting: Weighting = "keep",
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Choice:
    """Judge one group.

    Args:
        metric: raw reward of each sample; None = unknown, and counts for nothing.
        band: lowest and highest mean that is kept whole, as shares of the range.
        margin: over how much outside the band the weight falls to 0; 0 = at once.
        weighting: ``keep``: 1 within the band; ``variance``: times the population variance, as a share of the largest that the range
            allows (a quarter of its square).
        bounds: declared range of the metric.
    """
    stats = group_statistics(metric)
    if stats.mean is None or stats.std_population is None:
        return Choice(keep=False, weight=0.0, why="too_few_known", mean=None)
    width = bounds[1] - bounds[0]
    mean = (stats.mean - bounds[0]) / width
    if stats.n_valid < 2:
        return Choice(keep=False, weight=0.0, why="too_few_known", mean=mean)
    if stats.zero_variance:
        return Choice(keep=False, weight=0.0, why="zero_variance", mean=mean)
    outside = max(band[0] - mean, mean - band[1], 0.0)
    weight = 1.0 if outside == 0.0 else max(0.0, 1.0 - outside / margin) if margin > 0.0 else 0.0
    if weight == 0.0:
        return Choice(keep=False, weight=0.0, why="outside_band", mean=mean)
    if weighting == "variance":
        weight *= min(1.0, 4.0 * (stats.std_population / width) ** 2)
    return Choice(keep=True, weight=weight, why="kept", mean=mean)
