"""A budget of money: laid down for the workers before they start, and told of when it is spent."""

from __future__ import annotations

import time

from schemas.budget import BUDGET, Allowance
from schemas.errors import VerilakeError
from schemas.ids import content_id
from udfs.replies.prices import NANOS
from udfs.store.run import HandoffRun, to_bytes


class BudgetReachedError(VerilakeError):
    """The budget is spent before everything was asked; what was paid for is in the lake."""

    exit_code = 4

    @classmethod
    def from_documents(cls, ingest_id: str, budget: float, waiting: int) -> BudgetReachedError:
        """How much, and how many documents wait."""
        return cls(
            f"ingest={ingest_id}: the budget of {budget:g} is spent; {waiting} documents wait, the rest is in the lake. "
            "Raise convert.budget and run again: what was paid for is not paid again."
        )


def lay_budget(run: HandoffRun, budget: float, paid_nanos: int) -> None:
    """Allow the workers of a run what is left; slices of an earlier allowance are void."""
    if not budget:
        run.store.remove(BUDGET)
        return
    left = max(0, round(budget * NANOS) - paid_nanos)
    epoch = content_id("allowance", left, time.time_ns())[:16]  # a name alone: it bears on nothing that is stored
    run.store.put(BUDGET, to_bytes(Allowance(epoch=epoch, nanos=left)))
