"""Dates: so many days later, and how many days lie between."""

from __future__ import annotations

import datetime as dt

from schemas.contract import AnswerContract
from udfs.sources.generators.draw import Draw
from udfs.sources.generators.problem import Problem, number

_SPAN = {1: 20, 2: 60, 3: 400, 4: 4000, 5: 20000}
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")


def _day(draw: Draw, level: int) -> dt.date:
    """A day of 1990 to 2030; at level 1 early in its month, so that the month mostly stays."""
    first = dt.date(1990, 1, 1).toordinal()
    day = dt.date.fromordinal(first + draw.between(0, 14_600))
    return day.replace(day=draw.between(1, 10)) if level == 1 else day


def spoken(day: dt.date) -> str:
    """``5 March 2024``."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def shifted(draw: Draw, level: int) -> Problem:
    """The date so many days before or after another; from level 3 on counted in weeks and days."""
    day, count, back = _day(draw, level), draw.between(3, _SPAN[level]), bool(draw.between(0, 1))
    found = day + dt.timedelta(days=-count if back else count)
    amount = f"{count} days" if level < 3 else f"{count // 7} weeks and {count % 7} days"
    question = f"Which date is {amount} {'before' if back else 'after'} {spoken(day)}?"
    return Problem(question, spoken(found), AnswerContract(type="date", gold=found.isoformat()))


def between(draw: Draw, level: int) -> Problem:
    """Days from one date to a later one, counted as nights."""
    day, count = _day(draw, level), draw.between(3, _SPAN[level])
    later = day + dt.timedelta(days=count)
    return number(f"How many days after {spoken(day)} is {spoken(later)}?", count)
