"""Two scores on the same held-out prompts, and their paired difference by cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.views.scores import PromptScore
from schemas.conf import Eval
from schemas.ids import seed_from
from udfs.stats.bootstrap import Interval, cluster_interval, paired_interval


@dataclass(frozen=True, slots=True)
class Pair:
    """Scores of two sides and what lies between them.

    Attributes:
        first: mean over its prompts with a known sample.
        second: likewise.
        difference: second minus first over the prompts that both know.
        unknown_first: prompts without one known sample there, named (law 6: they count for nothing, and are not hidden).
        unknown_second: likewise.
    """

    first: Interval
    second: Interval
    difference: Interval
    unknown_first: tuple[str, ...]
    unknown_second: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one side, and the prompts without a known sample."""

    score: Interval
    unknown: tuple[str, ...]


def score(prompts: Sequence[PromptScore], settings: Eval, *names: str) -> Score:
    """Mean over prompts of k / n_valid with its interval by cluster.

    Args:
        prompts: each once.
        settings: resamples and confidence.
        names: ids from which the draws are seeded.
    """
    known = {p.prompt_id: (p.rate, p.cluster_id) for p in sorted(prompts, key=lambda p: p.prompt_id) if p.rate is not None}
    rates, clusters = [rate for rate, _ in known.values()], [cluster for _, cluster in known.values()]
    interval = cluster_interval(
        rates, clusters, seed=seed_from("bootstrap", *names), resamples=settings.bootstrap, confidence=settings.confidence
    )
    return Score(interval, tuple(sorted(p.prompt_id for p in prompts if p.rate is None)))


def pair(first: Sequence[PromptScore], second: Sequence[PromptScore], settings: Eval, *names: str) -> Pair:
    """Both scores and their difference; arguments as :func:`score`."""
    a, b = (score(side, settings, *names) for side in (first, second))  # the same draws for both
    clusters = {p.prompt_id: p.cluster_id for p in (*second, *first)}
    difference = paired_interval(
        _rates(first), _rates(second), clusters, seed=seed_from("bootstrap", *names), resamples=settings.bootstrap,
        confidence=settings.confidence,
    )  # fmt: skip
    return Pair(a.score, b.score, difference, a.unknown, b.unknown)


def pair_by_type(first: Sequence[PromptScore], second: Sequence[PromptScore], settings: Eval, *names: str) -> dict[str, Pair]:
    """Task type -> both scores of its prompts, in order of the types."""
    kinds = sorted({p.task_type for p in (*first, *second)})
    return {k: pair([p for p in first if p.task_type == k], [p for p in second if p.task_type == k], settings, *names, k) for k in kinds}


def score_by_type(prompts: Sequence[PromptScore], settings: Eval, *names: str) -> dict[str, Score]:
    """Task type -> the score of its prompts, in order of the types."""
    kinds = sorted({p.task_type for p in prompts})
    return {k: score([p for p in prompts if p.task_type == k], settings, *names, k) for k in kinds}


def _rates(prompts: Sequence[PromptScore]) -> dict[str, float]:
    return {p.prompt_id: p.rate for p in prompts if p.rate is not None}
