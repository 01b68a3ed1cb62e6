"""How often contracts err, by answer type: right answers refused and near misses accepted, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from udfs.stats.wilson import wilson


@dataclass(frozen=True, slots=True)
class Errors:
    """Counts over contracts; sums in any order are the same.

    Attributes:
        right: right answers tried.
        refused: of them, those that were refused.
        wrong: near misses tried.
        accepted: of them, those that were accepted.
    """

    right: int = 0
    refused: int = 0
    wrong: int = 0
    accepted: int = 0

    def __add__(self, other: Errors) -> Errors:
        """Both together."""
        return Errors(self.right + other.right, self.refused + other.refused, self.wrong + other.wrong, self.accepted + other.accepted)

    @property
    def false_reject(self) -> tuple[float, float, float] | None:
        """Share of right answers that are refused, with its 95 % Wilson interval; None where none was tried."""
        return _rate(self.refused, self.right)

    @property
    def false_accept(self) -> tuple[float, float, float] | None:
        """Share of near misses that are accepted, likewise."""
        return _rate(self.accepted, self.wrong)


def _rate(k: int, n: int) -> tuple[float, float, float] | None:
    return (k / n, *wilson(k, n)) if n else None


def lines(table: Mapping[str, Errors]) -> list[str]:
    """A line a type and one for their sum, to print.

    Args:
        table: counts by answer type.
    """
    head = f"{'type':<12}{'right':>9}{'refused':>9}  {'false reject (95 %)':<27}{'wrong':>9}{'accepted':>9}  false accept (95 %)"
    rows = [*sorted(table.items()), ("all", sum(table.values(), Errors()))]
    return [head, *(_line(name, errors) for name, errors in rows)]


def _line(name: str, e: Errors) -> str:
    return f"{name:<12}{e.right:>9,}{e.refused:>9,}  {_said(e.false_reject):<27}{e.wrong:>9,}{e.accepted:>9,}  {_said(e.false_accept)}"


def _said(rate: tuple[float, float, float] | None) -> str:
    return "-" if rate is None else f"{rate[0]:.3%} ({rate[1]:.3%} to {rate[2]:.3%})"
