"""How rewards and lengths of responses are spread: correct, wrong and unknown samples apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from jobs.views.reader import LakeReader, alias
from schemas.silver.rewards import REWARDS
from schemas.silver.trajectories import TRAJECTORIES

OUTCOMES = ("correct", "wrong", "unknown")
#: Most bars of a histogram, and the share of the samples that its even bars reach; what is longer shares the last bar.
BARS, REACH = 24, 0.99
#: Different rewards that each get a bar of their own.
_VALUES = 12

#: One row a trajectory: what became of it. With several outcome rewards all of them must be correct.
OUTCOME_SQL = (
    f"SELECT t.trajectory_id, t.role, t.task_type, t.prompt_id, t.response_length, t.outcome_reward, "
    f"CASE WHEN t.outcome_reward IS NULL THEN 'unknown' WHEN r.correct THEN 'correct' ELSE 'wrong' END AS outcome "
    f"FROM {alias(TRAJECTORIES)} t LEFT JOIN (SELECT trajectory_id, bool_and(verdict = 'correct') AS correct FROM {alias(REWARDS)} "
    "WHERE round = {round_no} AND is_outcome GROUP BY trajectory_id) r ON t.trajectory_id = r.trajectory_id WHERE t.round = {round_no}"
)


@dataclass(frozen=True)
class Histogram:
    """Counts by bar and outcome.

    Attributes:
        labels: of the bars, from the lowest.
        bars: outcome -> counts, as many as ``labels``.
        missing: outcome -> samples without the figure.
    """

    labels: tuple[str, ...]
    bars: dict[str, tuple[int, ...]]
    missing: dict[str, int]

    @property
    def totals(self) -> dict[str, int]:
        """Samples by outcome, with and without the figure."""
        return {outcome: sum(self.bars[outcome]) + self.missing[outcome] for outcome in OUTCOMES}

    @property
    def highest(self) -> int:
        """The highest bar."""
        return max((n for counts in self.bars.values() for n in counts), default=0)


def length_spread(reader: LakeReader, round_no: int) -> Histogram:
    """Response lengths in tokens."""
    return _histogram(_counted(reader, round_no, "response_length"), _length_bars)


def reward_spread(reader: LakeReader, round_no: int) -> Histogram:
    """Outcome rewards; unknown ones have none."""
    return _histogram(_counted(reader, round_no, "outcome_reward"), _reward_bars)


def _counted(reader: LakeReader, round_no: int, column: str) -> dict[tuple[str, float | None], int]:
    inner = OUTCOME_SQL.format(round_no=int(round_no))
    rows = reader.select(f"SELECT outcome, {column} AS value, count(*) AS n FROM ({inner}) GROUP BY 1, 2", TRAJECTORIES, REWARDS)
    return {(row["outcome"], row["value"]): row["n"] for row in rows}


@dataclass(frozen=True)
class _Bars:
    """Bars of a histogram: their labels, and the lower end of each."""

    labels: tuple[str, ...]
    ends: tuple[float, ...]

    def at(self, value: float) -> int:
        return max((at for at, end in enumerate(self.ends) if value >= end), default=0)


def _histogram(counted: dict[tuple[str, float | None], int], bars_of: Callable[[Counter[float]], _Bars]) -> Histogram:
    values: Counter[float] = Counter()
    for (_, value), n in counted.items():
        if value is not None:
            values[value] += n
    bars = bars_of(values)
    out = {outcome: [0] * len(bars.labels) for outcome in OUTCOMES}
    missing = dict.fromkeys(OUTCOMES, 0)
    for (outcome, value), n in counted.items():
        if value is None:
            missing[outcome] += n
        else:
            out[outcome][bars.at(value)] += n
    return Histogram(bars.labels, {outcome: tuple(counts) for outcome, counts in out.items()}, missing)


def _length_bars(values: Counter[float]) -> _Bars:
    """Even bars of a round width (1, 2, 5 times a power of ten) up to where ``REACH`` of the samples end, and one for what is longer."""
    if not values:
        return _Bars((), ())
    longest, reach = int(max(values)), _quantile(values.items(), REACH)
    width = next(w for w in _round_widths() if (reach // w) + 1 < BARS)
    n = int(reach // width) + 1
    labels = [_span(at * width, (at + 1) * width - 1) for at in range(n)]
    if longest >= n * width:
        labels.append(f"{n * width:,} and more")
    return _Bars(tuple(labels), tuple(float(at * width) for at in range(len(labels))))


def _reward_bars(values: Counter[float]) -> _Bars:
    """A bar for each reward where there are few, else ten even ones."""
    different = sorted(values)
    if len(different) <= _VALUES:
        return _Bars(tuple(f"{value:g}" for value in different), tuple(different))
    low, width = different[0], (different[-1] - different[0]) / 10
    ends = tuple(low + at * width for at in range(10))
    return _Bars(tuple(f"{end:.3g} to {end + width:.3g}" for end in ends), ends)


def _quantile(values: Iterable[tuple[float, int]], part: float) -> int:
    ordered = sorted(values)
    wanted, seen = part * sum(n for _, n in ordered), 0
    for value, n in ordered:
        seen += n
        if seen >= wanted:
            return int(value)
    return 0


def _round_widths() -> Iterable[int]:
    ten = 1
    while True:
        yield from (ten, 2 * ten, 5 * ten)
        ten *= 10


def _span(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"
