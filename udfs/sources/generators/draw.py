"""Draws that depend on nothing but their names: no generator of a library, whose sequence a version may change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from schemas.ids import content_id

T = TypeVar("T")


class Draw:
    """A stream of draws for one problem."""

    def __init__(self, *parts: object) -> None:
        """Begin a stream.

        Args:
            parts: JSON values that name it; equal names give equal draws.
        """
        self._parts = parts
        self._count = 0

    def between(self, low: int, high: int) -> int:
        """An integer from ``low`` to ``high``, both included; the bias of the remainder is below 1e-19 for spans under a billion."""
        self._count += 1
        return low + int(content_id("draw", *self._parts, self._count), 16) % (high - low + 1)

    def one_of(self, values: Sequence[T]) -> T:
        """One of some values."""
        return values[self.between(0, len(values) - 1)]

    def several(self, values: Sequence[T], count: int) -> list[T]:
        """``count`` different ones, in an order of their own."""
        left = list(values)
        return [left.pop(self.between(0, len(left) - 1)) for _ in range(count)]
