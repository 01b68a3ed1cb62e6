"""Geometry of the inline SVG: shapes alone, stretched to the room they get; every word and number stands in HTML beside them.

A shape is drawn in a box of 100 by 100 (or as many units wide as it has bars) that the page stretches; lines keep their width
(``vector-effect``), and a dot is a line of no length with round ends, so that nothing is distorted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Interval = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    """The upright axis of a line chart: its ends and marks, shares in [0, 1]."""

    low: float
    high: float
    marks: tuple[float, ...]

    @classmethod
    def around(cls, values: Sequence[float]) -> Axis:
        """Tens of per cent that hold all ``values``, with at most six marks; both ends are marks."""
        low = math.floor(round(min(values, default=0.0) * 10, 6))
        high = max(math.ceil(round(max(values, default=1.0) * 10, 6)), low + 1)
        step = 1 if high - low <= 5 else 2
        if (high - low) % step:
            low, high = (low, high + 1) if high < 10 else (low - 1, high)
        return cls(low / 10, high / 10, tuple(mark / 10 for mark in range(low, high + 1, step)))

    def y(self, value: float) -> float:
        """Height of a value, 0 at the top of the box, 100 at its bottom."""
        return _r(100 - 100 * (value - self.low) / (self.high - self.low))


@dataclass(frozen=True)
class Line:
    """One line over the rounds, its band, and its dots; gaps where a round has no figure."""

    path: str
    band: str
    dots: str


def line(values: Sequence[float | None], intervals: Sequence[Interval | None], axis: Axis) -> Line:
    """Paths of a line chart; ``values`` stand at even distances over the width."""
    xs = [_x(at, len(values)) for at in range(len(values))]
    path, dots, band = "", "", ""
    for run in _runs(values):
        path += "M" + "L".join(f"{xs[at]} {axis.y(values[at] or 0.0)}" for at in run)
        dots += "".join(f"M{xs[at]} {axis.y(values[at] or 0.0)}h0" for at in run)
        ends = [(xs[at], interval) for at in run if (interval := intervals[at]) is not None]
        if len(ends) > 1:
            upper = [f"{x} {axis.y(high)}" for x, (_, high) in ends]
            lower = [f"{x} {axis.y(low)}" for x, (low, _) in reversed(ends)]
            band += "M" + "L".join(upper + lower) + "Z"
        elif ends:
            x, (low, high) = ends[0]
            band += f"M{_r(x - 1)} {axis.y(high)}H{_r(x + 1)}V{axis.y(low)}H{_r(x - 1)}Z"
    return Line(path, band, dots)


def whisker(rate: float | None, interval: Interval | None) -> tuple[float, float, float] | None:
    """Low end, rate and high end on a scale of 0 to 100."""
    return None if rate is None or interval is None else (_r(100 * interval[0]), _r(100 * rate), _r(100 * interval[1]))


def columns(counts: Sequence[int], highest: int) -> list[tuple[float, float]]:
    """Top and height of each bar in a box 100 high; what is there at all stays visible."""
    heights = [max(1.5, 100 * n / highest) if n else 0.0 for n in counts]
    return [(_r(100 - height), _r(height)) for height in heights]


def stack(parts: Sequence[int], total: int) -> list[tuple[float, float]]:
    """Start and width of each part of a bar of 100."""
    whole, out, start = max(total, sum(parts), 1), [], 0
    for part in parts:
        out.append((_r(100 * start / whole), _r(100 * part / whole)))
        start += part
    return out


def _runs(values: Sequence[float | None]) -> list[list[int]]:
    runs: list[list[int]] = [[]]
    for at, value in enumerate(values):
        if value is None:
            runs.append([])
        else:
            runs[-1].append(at)
    return [run for run in runs if run]


def _x(at: int, n: int) -> float:
    return 50.0 if n == 1 else _r(1 + 98 * at / (n - 1))


def _r(value: float) -> float:
    return round(value, 2) + 0.0
