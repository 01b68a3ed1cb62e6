"""Open book against closed book: what the passage of a task is worth to each policy that was sampled. No JVM."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jobs.views.reader import LakeReader, alias, literal
from schemas.silver.task_stats import TASK_STATS
from udfs.stats.wilson import wilson

#: A pass rate is called low, or high, where its whole 95 % interval lies beyond these.
LOW, HIGH = 0.5, 0.9


@dataclass(frozen=True)
class Rate:
    """k of n known samples right."""

    k: int
    n: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % Wilson interval; None where nothing is known."""
        return wilson(self.k, self.n) if self.n else None


@dataclass(frozen=True)
class Contrast:
    """Pass rates of one policy on one task over all its rounds; a choice is neither (it can be guessed)."""

    task_id: str
    policy_id: str
    open_book: Rate
    closed_book: Rate

    @property
    def gap(self) -> float | None:
        """Open-book minus closed-book rate; None where one of them is not known."""
        if not (self.open_book.n and self.closed_book.n):
            return None
        return self.open_book.k / self.open_book.n - self.closed_book.k / self.closed_book.n

    @property
    def reading(self) -> str:
        """What the rates say of the item, where their intervals allow it; empty elsewhere."""
        opened, closed = self.open_book.interval, self.closed_book.interval
        if opened and opened[1] < LOW:
            return "fails with its passage before it: the item, or the policy, is at fault"
        if closed and closed[0] > HIGH:
            return "known without its passage"
        if opened and closed and opened[0] > closed[1]:
            return "the passage helps"
        return ""


def contrasts(reader: LakeReader, task_ids: Iterable[str]) -> list[Contrast]:
    """Contrasts of some tasks, by task and policy; policies that were sampled on neither form are left out.

    Args:
        reader: open lake.
        task_ids: tasks.
    """
    wanted = ", ".join(literal(ident) for ident in sorted(set(task_ids)))
    if not wanted:
        return []
    sums = ", ".join(
        f"sum(CASE WHEN context_mode = '{mode}' THEN {column} ELSE 0 END) AS {mode}_{column}"
        for mode in ("open_book", "closed_book")
        for column in ("k", "n_valid")
    )
    rows = reader.select(
        f"SELECT task_id, policy_id, {sums} FROM {alias(TASK_STATS)} WHERE task_id IN ({wanted}) GROUP BY task_id, policy_id ORDER BY task_id, policy_id",
        TASK_STATS,
    )
    found = [
        Contrast(
            row["task_id"], row["policy_id"], Rate(int(row["open_book_k"]), int(row["open_book_n_valid"])),
            Rate(int(row["closed_book_k"]), int(row["closed_book_n_valid"])),
        )
        for row in rows
    ]  # fmt: skip
    return [one for one in found if one.open_book.n or one.closed_book.n]
