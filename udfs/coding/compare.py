"""Whether an answer is the expected one, type by type, without building either: both are compared as they are written on the wire.

Nothing of a candidate is hashed as itself, because a few thousand chosen integers make a set that takes minutes to build.

* ``type(x)`` must be the same: True is not 1, 1 is not 1.0, a list is not a tuple, a Counter is not a dict;
* floats are equal when they are the same number; nan equals nan, and 0.0 equals -0.0, as a printed answer would;
  with a tolerance t when |a - b| <= t * max(1, |b|), and then an int may stand for an expected float;
* with ``tuple_as_list`` a tuple may stand for an expected list;
* order counts in lists and tuples, and counts for nothing in sets and dicts.
"""

from __future__ import annotations

import json
import math
from typing import Any


def same(expected: Any, answer: Any, *, tolerance: float = 0.0, tuple_as_list: bool = False) -> bool:
    """Whether two wire values are the same; everything about the answer is doubted.

    Args:
        expected: written by us.
        answer: from the candidate.
        tolerance: of floats, absolute and relative.
        tuple_as_list: a tuple may stand for a list.
    """
    try:
        return _Comparison(tolerance, tuple_as_list=tuple_as_list).same(expected, answer)
    except (TypeError, ValueError, IndexError, KeyError, RecursionError, OverflowError):
        return False


class _Comparison:
    def __init__(self, tolerance: float, *, tuple_as_list: bool) -> None:
        self.tolerance, self.tuple_as_list = tolerance, tuple_as_list
        self.given: dict[int, Any] = {}

    def same(self, expected: Any, answer: Any) -> bool:
        if type(answer) is list and answer and answer[0] == "r":
            answer = self.given[answer[1]]
        if type(expected) is not list:
            return self._scalar(expected, answer)
        if type(answer) is not list or len(answer) < 2:
            return False
        tag, content = expected[0], expected[-1]
        if answer[0] in {"l", "d", "s", "B"}:
            self.given[answer[1]] = answer
        if answer[0] != tag and not (self.tuple_as_list and tag == "l" and answer[0] == "t"):
            return False
        theirs = answer[-1]
        if tag in {"l", "t"}:
            return len(content) == len(theirs) and all(map(self.same, content, theirs))
        if tag == "d":
            return self._dicts(content, theirs)
        if tag in {"s", "f"}:
            return sorted(map(_text, content)) == sorted(map(_text, theirs))
        if tag == "c":
            return self._number(expected[1], answer[1]) and self._number(expected[2], answer[2])
        return tag in {"i", "b", "B"} and type(theirs) is str and content == theirs

    def _scalar(self, expected: Any, answer: Any) -> bool:
        if type(expected) is float and type(answer) in ({int, float} if self.tolerance else {float}):
            return self._number(expected, answer)
        return type(expected) is type(answer) and bool(expected == answer)

    def _number(self, expected: float, answer: float) -> bool:
        if type(answer) not in {int, float}:
            return False
        if expected == answer or (math.isnan(expected) and math.isnan(answer)):
            return True
        if not self.tolerance or not (math.isfinite(expected) and math.isfinite(answer)):
            return False
        return abs(expected - answer) <= self.tolerance * max(1.0, abs(expected))

    def _dicts(self, content: list[Any], theirs: list[Any]) -> bool:
        mine = {_text(k): v for k, v in zip(content[::2], content[1::2], strict=True)}
        other = {_text(k): v for k, v in zip(theirs[::2], theirs[1::2], strict=True)}
        return len(theirs) == len(content) and mine.keys() == other.keys() and all(self.same(v, other[k]) for k, v in mine.items())


def _text(wire: Any) -> str:
    """One spelling for one hashable value; a frozenset's items in one order, -0.0 as 0.0."""
    return json.dumps(_ordered(wire))


def _ordered(wire: Any) -> Any:
    if type(wire) is float:
        return wire + 0.0
    if type(wire) is list and wire[0] == "f":
        return ["f", sorted(map(_text, wire[1]))]
    if type(wire) is list and wire[0] == "t":
        return ["t", [_ordered(item) for item in wire[1]]]
    return wire
