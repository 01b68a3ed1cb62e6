"""Given lists of numbers: sorted, counted."""

from __future__ import annotations

from collections.abc import Callable

from schemas.contract import AnswerContract
from udfs.sources.generators.draw import Draw
from udfs.sources.generators.problem import Problem, number


def _values(draw: Draw, level: int) -> list[int]:
    low = 0 if level < 3 else -20 * level
    return [draw.between(low, 15 * 2**level) for _ in range(3 + 2 * level)]


def sorting(draw: Draw, level: int) -> Problem:
    """A list in ascending or descending order, equal values kept; from level 4 on by distance from zero first."""
    values = _values(draw, level)
    down = bool(draw.between(0, 1))
    shown = ", ".join(map(str, values))
    if level >= 4:
        made = sorted(values, key=lambda v: (abs(v), v), reverse=down)
        rule = "by their absolute value (of two with the same, the smaller number counts as the lower)"
        order = f"{'descending' if down else 'ascending'} {rule}"
    else:
        made, order = sorted(values, reverse=down), "descending" if down else "ascending"
    question = f"Put these numbers in order, {order}, and keep repeated ones: {shown}"
    gold = ", ".join(map(str, made))
    return Problem(question, gold, AnswerContract(type="list", gold=gold))


def counting(draw: Draw, level: int) -> Problem:
    """How many numbers of a list fulfil a condition: two conditions from level 3 on, three at level 5."""
    values = _values(draw, level)
    bound, factor = draw.one_of(values), draw.between(2, 2 + level)
    conditions: list[tuple[str, Callable[[int], bool]]] = [
        (f"greater than {bound}", lambda v: v > bound),
        (f"divisible by {factor}", lambda v: v % factor == 0),
        ("not repeated in the list", lambda v: values.count(v) == 1),
    ]
    chosen = draw.several(conditions, (level + 1) // 2)
    said = " and ".join(text for text, _ in chosen)
    found = sum(all(holds(v) for _, holds in chosen) for v in values)
    return number(f"How many of these numbers are {said}: {', '.join(map(str, values))}?", found)
