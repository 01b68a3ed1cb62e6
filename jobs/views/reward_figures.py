"""Figures of the view over a round's rewards: by task type, and of all together. Counts are integers, means exactly rounded sums."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from jobs.views.rewards import RoundRewards
from udfs.rewards.round import runs

ALL = "all"
#: Quantiles that are shown of ratios.
QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class RhoFigures:
    """Ratios of one slice.

    Attributes:
        trajectories: with a re-scored turn.
        known: of these with a ratio of their own, every sampled token having one.
        tokens: sampled ones.
        unknown_tokens: of these without one of the two log-probabilities.
        below: tokens below the lower bound.
        above: tokens above the upper bound.
        version_gap: largest distance between the weights that re-scored and the oldest that sampled; None where unknown.
        sequence: quantiles of the plain ratio, by their name (``p50``).
        geometric: of its geometric mean by token.
    """

    trajectories: int
    known: int
    tokens: int
    unknown_tokens: int
    below: int
    above: int
    version_gap: int | None
    sequence: dict[str, float]
    geometric: dict[str, float]


@dataclass(frozen=True)
class Figures:
    """One slice of a round.

    Attributes:
        task_type: which, or ``all``.
        domain: its domain.
        n: trajectories.
        known: of these with a composed score.
        unknown: why the others have none -> how many.
        raw_mean: mean of the known raw outcomes; None where there is none.
        genrm_mean: of the known judgements.
        judged: trajectories with a known judgement.
        alpha: weights of the verifier in force, distinct, in order.
        mean: of the known composed scores.
        shaped_mean: of the known shaped scores.
        clipped: scores that were cut, by reward.
        groups: groups of samples.
        zero_variance: of these in which the raw reward that decides is the same for all.
        choices: what dynamic sampling decided -> groups.
        kept: groups that it keeps.
        rho: ratios; None where nothing was re-scored.
    """

    task_type: str
    domain: str
    n: int
    known: int
    unknown: dict[str, int]
    raw_mean: float | None
    genrm_mean: float | None
    judged: int
    alpha: tuple[float, ...]
    mean: float | None
    shaped_mean: float | None
    clipped: dict[str, int]
    groups: int
    zero_variance: int
    choices: dict[str, int]
    kept: int
    rho: RhoFigures | None


def reward_figures(found: RoundRewards, role: str | None = None) -> list[Figures]:
    """Figures by task type in order of the names, those of all together last.

    Args:
        found: the view.
        role: count trajectories of this role alone; scores are aligned over all of the round in any case.
    """
    roles = found.rows.facts["role"].to_pylist()
    places = [at for at in range(len(roles)) if role in (None, roles[at])]
    kinds: dict[str, list[int]] = {}
    for at in places:
        kinds.setdefault(found.rows.raw.task_type[at], []).append(at)
    return [*(_slice(found, kind, kinds[kind]) for kind in sorted(kinds)), _slice(found, ALL, places)]


def _slice(found: RoundRewards, kind: str, places: Sequence[int]) -> Figures:
    raw, made = found.rows.raw, found.composed
    reasons = Counter(reason for at in places if (reason := made.unknown[at]) is not None)
    heads = [places[part.start] for part in runs([raw.group[at] for at in places])]
    choices = Counter(made.choice[at].why for at in heads)
    domains = sorted({made.domain[at] for at in places})
    return Figures(
        task_type=kind, domain=domains[0] if len(domains) == 1 else ALL, n=len(places), known=len(places) - reasons.total(),
        unknown=dict(sorted(reasons.items())), raw_mean=_mean(raw.verifier[at] for at in places),
        genrm_mean=_mean(raw.judge[at] for at in places), judged=sum(raw.judge[at] is not None for at in places),
        alpha=tuple(sorted({made.alpha[at] for at in places})), mean=_mean(made.score_raw[at] for at in places),
        shaped_mean=_mean(made.score_shaped[at] for at in places),
        clipped={"verifier": sum(made.verifier.clipped[at] for at in places), "genrm": sum(made.judge.clipped[at] for at in places)},
        groups=len(heads), zero_variance=sum(bool(made.zero_variance[at]) for at in heads), choices=dict(sorted(choices.items())),
        kept=sum(made.choice[at].keep for at in heads), rho=_rho(found, places),
    )  # fmt: skip


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _rho(found: RoundRewards, places: Sequence[int]) -> RhoFigures | None:
    if found.ratios is None:
        return None
    at = np.flatnonzero(np.isin(found.ratios.place, places))
    held = found.ratios.columns
    known = at[~np.isnan(held.sequence[at])]
    oldest = held.oldest[at][held.oldest[at] >= 0]
    total = {name: int(getattr(held, name)[at].sum()) for name in ("tokens", "known", "below", "above")}
    return RhoFigures(
        trajectories=len(at), known=len(known), tokens=total["tokens"], unknown_tokens=total["tokens"] - total["known"],
        below=total["below"], above=total["above"], version_gap=found.ratios.policy_version - int(oldest.min()) if len(oldest) else None,
        sequence=_quantiles(held.sequence[known]), geometric=_quantiles(held.geometric[known]),
    )  # fmt: skip


def _quantiles(values: np.typing.NDArray[np.float64]) -> dict[str, float]:
    """Smallest values that at least such a share lies at or below: values that occur, no interpolation."""
    ordered = np.sort(values)
    return {f"p{share * 100:02.0f}": float(ordered[max(0, math.ceil(share * len(ordered)) - 1)]) for share in QUANTILES if len(ordered)}
