"""One round's raw rewards in, everything that is made of them out: a chain of columns, one entry a trajectory.

Trajectories come in the order of group, sample and id, so that every group is a run of neighbours. No figure depends on how they were
found: spreads are exact sums, groups are whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from schemas.conf_reward import Reward as Settings
from udfs.rewards.advantages import ESTIMATORS, group_advantages
from udfs.rewards.composition import Aligned, align_to, align_to_range, compose, moments_by
from udfs.rewards.functions import FORMAT_SHAPING, FUNCTIONS
from udfs.rewards.moments import Moments
from udfs.rewards.sampling import Choice, choose
from udfs.rewards.shaping import format_term, overlong, shaping_row, truncated
from udfs.stats.group import Estimator, all_equal, known
from udfs.trajectories.rewards import Reward

Column = list[float | None]
_JUDGE_BOUNDS = (0.0, 1.0)


@dataclass(slots=True)
class RawRewards:
    """Trajectories of one round in order of group_id, sample_index and trajectory_id, a list a column.

    Attributes:
        group: group_id.
        task_type: kind of task.
        verifier: raw outcome; None = unknown.
        bounds: range of the outcome.
        verdict: of the outcome; where its row is at fault, the fault.
        judge: raw reward by a model judge; None = unknown.
        judge_fault: why ``judge`` is unknown; None where it is known.
        form: (value, low, high) of the form's reward; None where no form was asked for.
        length: tokens of the response; None = unknown.
        cut_off: whether the response was; None = unknown.
    """

    group: list[str]
    task_type: list[str]
    verifier: Column
    bounds: list[tuple[float, float]]
    verdict: list[str]
    judge: Column
    judge_fault: list[str | None]
    form: list[tuple[float | None, float, float] | None]
    length: list[int | None]
    cut_off: list[bool | None]

    def domains(self, settings: Settings) -> list[str]:
        """Domain of each trajectory: what the settings say of its task type, else the task type itself."""
        return [settings.domains.get(kind, kind) for kind in self.task_type]


@dataclass(frozen=True, slots=True)
class Composed:
    """What is made of them, a list a column; None = unknown.

    Attributes:
        domain: of each trajectory.
        alpha: weight of the verifier in force.
        verifier: aligned outcome.
        judge: aligned judgement.
        score_raw: composed of both, before shaping.
        score_shaped: with every shaping term.
        unknown: why ``score_raw`` is unknown; None where it is known.
        shaping: shaping rows by the name of their function, None where a trajectory has none; only functions that are in force.
        advantages: estimator -> advantage of ``score_shaped``.
        zero_variance: the raw reward that decides the group is the same for all its samples; None where none is known.
        choice: what dynamic sampling says of its group.
    """

    domain: list[str]
    alpha: list[float]
    verifier: Aligned
    judge: Aligned
    score_raw: Column
    score_shaped: Column
    unknown: list[str | None]
    shaping: dict[str, list[Reward | None]]
    advantages: dict[Estimator, Column]
    zero_variance: list[bool | None]
    choice: list[Choice]


@dataclass(frozen=True, slots=True)
class Earlier:
    """Moments of earlier rounds by domain, for a running z-score."""

    verifier: Mapping[str, Moments]
    judge: Mapping[str, Moments]


def compose_round(raw: RawRewards, settings: Settings, earlier: Earlier | None = None) -> Composed:
    """The whole chain: align, mix, shape, compare.

    Args:
        raw: the round.
        settings: section [reward].
        earlier: what earlier rounds of the window add to the moments of each domain.
    """
    domain = raw.domains(settings)
    alpha = _alphas(raw, domain, settings)
    before = earlier or Earlier({}, {})
    verifier = _aligned(raw.verifier, raw.bounds, raw.group, domain, settings, before.verifier)
    judge = _aligned(raw.judge, [_JUDGE_BOUNDS] * len(domain), raw.group, domain, settings, before.judge)
    score_raw = [compose(one, two, weight) for one, two, weight in zip(verifier.values, judge.values, alpha, strict=True)]
    shaping = _shaping(raw, settings)
    score_shaped = [_with_terms(score, [rows[at] for rows in shaping.values()]) for at, score in enumerate(score_raw)]
    advantages, zero_variance, choices = _compared(raw, alpha, score_shaped, shaping, settings)
    unknown = [None if score is not None else _why(raw, at, alpha[at]) for at, score in enumerate(score_raw)]
    return Composed(
        domain, alpha, verifier, judge, score_raw, score_shaped, unknown, shaping, advantages, zero_variance, choices
    )  # fmt: skip


def runs(keys: Sequence[str]) -> Iterator[slice]:
    """Slices of neighbours with equal keys."""
    at = 0
    for _, held in groupby(keys):
        size = sum(1 for _ in held)
        yield slice(at, at + size)
        at += size


def moments_of(raw: RawRewards, settings: Settings) -> Earlier:
    """Exact moments of a round by domain."""
    domain = raw.domains(settings)
    return Earlier(moments_by(raw.verifier, domain), moments_by(raw.judge, domain))


def merged(parts: Sequence[Earlier]) -> Earlier:
    """Moments of several rounds together; the order does not matter."""
    return Earlier(_sum([part.verifier for part in parts]), _sum([part.judge for part in parts]))


def _sum(parts: Sequence[Mapping[str, Moments]]) -> dict[str, Moments]:
    total: defaultdict[str, Moments] = defaultdict(Moments)
    for part in parts:
        for domain, found in part.items():
            total[domain] += found
    return dict(total)


def _alphas(raw: RawRewards, domain: Sequence[str], settings: Settings) -> list[float]:
    """Weight of the verifier: by task type, else by domain, else the default; 1 in domains about which no judge was asked."""
    judged = {name for name, fault in zip(domain, raw.judge_fault, strict=True) if fault != "unjudged"}
    weights = []
    for kind, name in zip(raw.task_type, domain, strict=True):
        weight = settings.alpha.get(kind, settings.alpha.get(name, settings.default_alpha))
        # alpha = 0 says that no verifier can judge such answers: nothing stands in for the judge there.
        alone = settings.unjudged == "verifier" and name not in judged and weight > 0.0
        weights.append(1.0 if alone else weight)
    return weights


def _aligned(
    values: Column, bounds: Sequence[tuple[float, float]], group: Sequence[str], domain: Sequence[str], settings: Settings, before: Mapping[str, Moments]
) -> Aligned:  # fmt: skip
    if settings.alignment == "range":
        return align_to_range(values, bounds)
    keys = group if settings.alignment == "group" else domain
    here = moments_by(values, keys)
    if settings.alignment == "domain":
        here = {key: found + before.get(key, Moments()) for key, found in here.items()}
    return align_to(values, keys, here, settings.clip)


def _shaping(raw: RawRewards, settings: Settings) -> dict[str, list[Reward | None]]:
    """Rows of every shaping function in force; a function without a row for a trajectory asks nothing of it."""
    rows: dict[str, list[Reward | None]] = {}
    limit = settings.overlong
    if limit.variant != "none":
        name, how = f"overlong_{limit.variant}", limit.variant
        said: dict[str, float | int | str] = {"max_tokens": limit.max_tokens, "buffer_tokens": limit.buffer_tokens}
        terms = (
            [truncated(cut) for cut in raw.cut_off]
            if how == "truncated"
            else [overlong(length, limit.max_tokens, limit.buffer_tokens, how) for length in raw.length]
        )
        rows[name] = _rows(name, terms, limit.factor, said)
    if settings.format_penalty > 0.0:
        form = [None if form is None else (form, format_term(*form)) for form in raw.form]
        made = _rows(FORMAT_SHAPING, [None if item is None else item[1] for item in form], settings.format_penalty, {})
        rows[FORMAT_SHAPING] = [None if item is None else row for item, row in zip(form, made, strict=True)]
    return rows


def _rows(name: str, terms: Sequence[float | None], factor: float, said: dict[str, float | int | str]) -> list[Reward | None]:
    """One row a term; equal terms share theirs, which say nothing of a trajectory."""
    low, high = FUNCTIONS[name].low, FUNCTIONS[name].high
    made: dict[float | None, Reward] = {}
    for term in terms:
        inside = term if term is None or low <= term <= high else None
        made.setdefault(term, shaping_row(name, inside, factor, said))
    return [made[term] for term in terms]


def _with_terms(score: float | None, rows: Sequence[Reward | None]) -> float | None:
    """The score with its shaping terms; None where any of them is unknown."""
    for row in rows:
        if row is not None:
            score = None if score is None or row.value is None else score + row.weight * row.value
    return score


def _decides(alpha: float) -> bool:
    """Whether the verifier decides a task, and not the judge: it has at least half of the weight."""
    return alpha >= 0.5


def _weighty(raw: RawRewards, alpha: float, part: slice) -> list[Column]:
    """Raw rewards that have weight in a group, the one that decides first."""
    held = [(raw.verifier[part], alpha), (raw.judge[part], 1.0 - alpha)]
    return [column for column, weight in (held if _decides(alpha) else reversed(held)) if weight > 0.0]


def _compared(
    raw: RawRewards, alpha: Sequence[float], scores: Column, shaping: Mapping[str, Sequence[Reward | None]], settings: Settings
) -> tuple[dict[Estimator, Column], list[bool | None], list[Choice]]:
    """Advantages, zero variance and dynamic sampling, group by group, repeated for each of its samples."""
    advantages: dict[Estimator, Column] = {estimator: [] for estimator in ESTIMATORS}
    zero_variance: list[bool | None] = []
    choices: list[Choice] = []
    limits = settings.sampling
    for part in runs(raw.group):
        size, weight = part.stop - part.start, alpha[part.start]  # one prompt, one task type
        weighty = _weighty(raw, weight, part)
        terms = [[None if row is None else row.value for row in rows[part]] for rows in shaping.values()]
        for estimator, found in group_advantages(scores[part], settings.framework, [*weighty, *terms]).items():
            advantages[estimator] += found
        held = [value for value in weighty[0] if value is not None and known(value)]
        zero_variance += [all_equal(held) if held else None] * size
        bounds = raw.bounds[part.start] if _decides(weight) else _JUDGE_BOUNDS
        choices += [choose(weighty[0], limits.band, limits.margin, limits.weighting, bounds)] * size
    return advantages, zero_variance, choices


def _why(raw: RawRewards, at: int, alpha: float) -> str:
    """Why a composed score is unknown: the verifier's verdict, or what became of the judge."""
    if alpha > 0.0 and raw.verifier[at] is None:
        return raw.verdict[at]
    return f"genrm_{raw.judge_fault[at] or 'unknown'}"
