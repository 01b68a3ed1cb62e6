"""Dates as people write them, in one ISO spelling."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from functools import lru_cache

from udfs.grading.characters import DASHES

_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905 - a list of words reads better as words
_MONTH = {name: n for n, name in enumerate(_MONTHS, 1)} | {name[:3]: n for n, name in enumerate(_MONTHS, 1)} | {"sept": 9}
_DAYS = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
_LEAD = re.compile(rf"\A(?:on|in|the|year|since|{_DAYS}[.,]?)\s+", re.IGNORECASE)
_ERA = re.compile(r"\s*\b(bce?|b\.\s?c\.?(?:\s?e\.?)?|ad|a\.\s?d\.?|ce|c\.\s?e\.?)\s*\Z", re.IGNORECASE)
_ISO = re.compile(r"\A-?(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?\Z")
_DAY_ALONE = re.compile(r"\A--(\d{2})-(\d{2})\Z")
_YEAR_FIRST = re.compile(r"\A(\d{4})[/.](\d{1,2})[/.](\d{1,2})\Z")
_COMPACT = re.compile(r"\A(\d{4})(\d{2})(\d{2})\Z")
_NUMERIC = re.compile(r"\A(\d{1,2})[/.\-](\d{1,2})[/.\-](\d{4})\Z")
_DAY_FIRST = re.compile(r"\A(\d{1,2})(?:st|nd|rd|th)?(?:\s+of)?[\s\-]+([a-z]{3,9})\.?(?:[,\s\-]+(\d{1,4}))?\Z")
_MONTH_FIRST = re.compile(r"\A([a-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?:(?:\s*,\s*|\s+)(\d{3,4}))?\Z")
_MONTH_YEAR = re.compile(r"\A([a-z]{3,9})\.?[,\s]+(?:of\s+)?(\d{3,4})\Z")
_YEAR = re.compile(r"\A(\d{1,4})\Z")
_DASHES = str.maketrans(DASHES)
#: No date is longer; longer answers are refused before any pattern sees them.
MAX_DATE = 64


def _spell(year: int | None, month: int | None, day: int | None, *, bc: bool) -> str | None:
    """ISO spelling of a (partial) date, None where the calendar has no such day: 1939-09-03, 1939-09, 1939, --09-03, -0044."""
    if month is not None and not 1 <= month <= 12:
        return None
    if day is not None and month is not None:
        try:
            dt.date(2000 if year is None or bc else year, month, day)
        except ValueError:
            return None
    if year == 0:
        return None
    head = "-" if year is None else f"{'-' if bc else ''}{year:04d}"
    return head + (f"-{month:02d}" if month is not None else "") + (f"-{day:02d}" if day is not None else "")


def _numeric(first: int, second: int, year: int) -> tuple[int, int, int] | None:
    """Day and month of ``first/second/year``: None where both readings are days of the calendar and differ."""
    if first == second or (first > 12 >= second):
        return year, second, first
    return (year, first, second) if second > 12 >= first else None


@lru_cache(maxsize=16384)
def parse_date(text: str) -> str | None:
    """The ISO spelling of a date, a month or a year.

    Reads ISO (also compact and with slashes), ``3 September 1939``, ``3rd of Sept. 1939``, ``September 3, 1939``, a month with its year, a year, a
    day without year, eras, a weekday before. ``04/03/1939`` is refused: day and month cannot be told apart; ``13/03/1939`` and
    ``03/03/1939`` can. Two-digit years of numeric dates, ranges and approximations are refused.

    Args:
        text: an answer.

    Returns:
        ``YYYY-MM-DD``, ``YYYY-MM``, ``YYYY`` or ``--MM-DD``, with a leading ``-`` before years BC; None where it is no one date.
    """
    if len(text) > MAX_DATE:
        return None
    text = unicodedata.normalize("NFKC", text).translate(_DASHES).strip(" \t\r\n.,;:!?*_`\"'()[]").casefold()
    for _ in range(3):
        text = _LEAD.sub("", text)
    era = _ERA.search(text)
    bc = era is not None and era.group(1).startswith("b")
    if era is not None:
        text = text[: era.start()]
    elif text.startswith("ad "):
        text = text[3:]
    if not text.isascii():
        return None
    iso = _ISO.match(text) or _YEAR_FIRST.match(text) or _COMPACT.match(text)
    if iso:
        year, month, day = (int(g) if g else None for g in iso.groups())
        return _spell(year, month, day, bc=bc or text.startswith("-"))
    if alone := _DAY_ALONE.match(text):
        return _spell(None, int(alone.group(1)), int(alone.group(2)), bc=False)
    if numeric := _NUMERIC.match(text):
        parts = _numeric(*(int(g) for g in numeric.groups()))
        return _spell(*parts, bc=bc) if parts else None
    if found := _DAY_FIRST.match(text):
        day_s, name, year_s = found.groups()
    elif found := _MONTH_FIRST.match(text):
        name, day_s, year_s = found.groups()
    elif found := _MONTH_YEAR.match(text):
        (name, year_s), day_s = found.groups(), None
    elif found := _YEAR.match(text):
        return _spell(int(found.group(1)), None, None, bc=bc)
    else:
        return None
    if name not in _MONTH or (year_s is not None and len(year_s) < 3 and not era):
        return None
    return _spell(int(year_s) if year_s else None, _MONTH[name], int(day_s) if day_s else None, bc=bc)
