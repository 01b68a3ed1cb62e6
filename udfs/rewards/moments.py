"""Count, sum and sum of squares of rewards, exactly: parts may be added in any order, over partitions and rounds.

A float64 is an integer times 2**-1074. Sums of such integers, and of their squares, are exact, so that mean and spread are rounded once, at
their end, and do not depend on the order of the rows (law 3); the usual running mean and M2 do.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from udfs.stats.group import RELATIVE_SPREAD

#: Every finite float64 is a multiple of 2**-_SHIFT.
_SHIFT = 1074


@dataclass(frozen=True, slots=True)
class Moments:
    """Sums of known values; the empty one is the neutral element of ``+``.

    Attributes:
        n: values.
        total: their sum, in units of 2**-1074.
        squares: sum of their squares, in units of 2**-2148.
        low: smallest value.
        high: largest value.
    """

    n: int = 0
    total: int = 0
    squares: int = 0
    low: float = math.inf
    high: float = -math.inf

    @classmethod
    def of(cls, values: Iterable[float]) -> Moments:
        """Moments of finite values.

        Raises:
            ValueError, OverflowError: a value is NaN or infinite.
        """
        counts = Counter(values)  # rewards repeat: most rounds hold a handful of different ones
        n = total = squares = 0
        for value, count in counts.items():
            scaled = _scaled(value)
            n, total, squares = n + count, total + scaled * count, squares + scaled * scaled * count
        return cls(n, total, squares, min(counts, default=math.inf), max(counts, default=-math.inf))

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.n + other.n, self.total + other.total, self.squares + other.squares, min(self.low, other.low), max(self.high, other.high)
        )

    @property
    def mean(self) -> float | None:
        """Correctly rounded; None where there is no value."""
        return self.total / (self.n << _SHIFT) if self.n else None

    @property
    def constant(self) -> bool:
        """All values are equal by R§5's rule; also where there is none or one."""
        return not self.n or self.high - self.low <= RELATIVE_SPREAD * max(1.0, abs(self.high))

    @property
    def std(self) -> float | None:
        """Population standard deviation (n in the denominator), exactly 0.0 where all are equal; None where there is no value."""
        if not self.n:
            return None
        if self.constant:
            return 0.0
        return math.sqrt((self.n * self.squares - self.total * self.total) / (self.n * self.n << 2 * _SHIFT))

    def score(self, value: float) -> float | None:
        """How many standard deviations a finite value lies from the mean; None where there is no value, exactly 0.0 where all are equal.

        From the exact sums, (n x - total) / sqrt(n squares - total^2): what shifts or scales all values without rounding them changes no
        bit of it.
        """
        if not self.n:
            return None
        if self.constant:
            return 0.0
        above = self.n * _scaled(value) - self.total
        size = math.sqrt(above * above / (self.n * self.squares - self.total * self.total))
        return -size if above < 0 else size


def _scaled(value: float) -> int:
    """A finite value in units of 2**-1074."""
    over, under = value.as_integer_ratio()
    return over << (_SHIFT + 1 - under.bit_length())  # under is a power of two
