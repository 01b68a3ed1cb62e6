"""How figures and foreign text are written on the page. Whatever comes from the lake becomes text here, never markup."""

from __future__ import annotations

import math
from datetime import datetime
from functools import lru_cache

from markupsafe import Markup, escape

from jobs.views.visible import visible

#: Characters shown of a name (task type, policy, reason), of a cell, and of a prompt or an answer.
NAME, CELL, TEXT = 48, 280, 1400
#: Lines shown of a prompt or an answer.
LINES = 40
#: Written where there is no figure.
NONE = "–"
_CUT = Markup(' <span class="cut">… {:,} more characters</span>')
_ESCAPE = Markup('<span class="esc">{}</span>')


def name(value: object) -> Markup:
    """A short text in one line."""
    return _text(value, NAME, lines=False)


def cell(value: object) -> Markup:
    """A text of a table's cell, in one line."""
    return _text(value, CELL, lines=False)


def block(value: object) -> Markup:
    """A longer text that keeps its lines."""
    return _text(value, TEXT, lines=True)


def plain(value: object, limit: int = NAME) -> str:
    """A short text for an attribute: nothing that steers a reader, nothing marked up."""
    return visible(str(value), limit)


def _text(value: object, limit: int, *, lines: bool) -> Markup:
    """Text, escaped; characters that steer a display are shown as their escapes, set apart from letters; cut with a mark that says how much."""
    if value is None:
        return Markup(NONE)  # noqa: S704  # a constant
    text = str(value).replace("\r\n", "\n") if lines else str(value)
    # Nothing is gained by hiding the last few characters behind a longer mark.
    shown = text if len(text) <= limit + limit // 8 else text[:limit]
    if lines and shown.count("\n") >= LINES:
        shown = "\n".join(shown.split("\n", LINES)[:LINES])
    parts = [_shown(line) for line in shown.split("\n")] if lines else [_shown(shown)]
    out = Markup("\n").join(parts)
    return out if len(shown) == len(text) else out + _CUT.format(len(text) - len(shown))


def _shown(text: str) -> Markup:
    if text.isprintable():
        return escape(text)
    return Markup("").join(_char(char) for char in text)


@lru_cache(maxsize=4096)
def _char(char: str) -> Markup:
    seen = visible(char)
    return escape(char) if seen == char else _ESCAPE.format(seen)


def count(value: float | None) -> str:
    """A whole number with thousands apart."""
    return NONE if value is None else f"{round(value):,}"


def share(value: float | None) -> str:
    """A share in per cent, one decimal."""
    return NONE if value is None or not math.isfinite(value) else f"{value * 100:.1f} %"


def bounds(interval: tuple[float, float] | None) -> str:
    """An interval of shares, whole per cents, the lower end rounded down and the upper end up."""
    if interval is None:
        return NONE
    # An end that is whole but for its last bits must not move by one.
    low, high = math.floor(round(interval[0] * 100, 6)), math.ceil(round(interval[1] * 100, 6))
    return f"{low}–{high} %"


def points(value: float | None) -> str:
    """A difference of shares in points of a per cent."""
    if value is None:
        return NONE
    said = f"{value * 100:+.1f}".replace("-", "−")
    return "0.0" if said in {"+0.0", "−0.0"} else said


def figure(value: float | None) -> str:
    """Any figure, four digits."""
    if value is None or not math.isfinite(value):
        return NONE
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:,.4g}"


def seconds(value: float | None) -> str:
    """Seconds, one decimal; from two minutes on in minutes and hours too."""
    if value is None:
        return NONE
    if value < 120:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def size(value: float | None) -> str:
    """Bytes in a unit that keeps the number short."""
    if value is None:
        return NONE
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def moment(value: datetime | None) -> str:
    """A point in time, UTC, to the minute."""
    return "unknown" if value is None else f"{value:%Y-%m-%d %H:%M} UTC"
