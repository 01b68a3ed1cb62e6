"""A contract that errs, put right where there is but one way: a bad alias dropped, a tolerance brought to the precision of its gold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from schemas.contract import AnswerContract
from udfs.admission.self_test import SelfTest, self_test

_DECIMALS = re.compile(r"\.(\d+)")


@dataclass(frozen=True, slots=True)
class Tried:
    """A contract after its trial.

    Attributes:
        contract: as it was, or repaired.
        trial: of the contract as it was; its counts are error rates of what engines propose.
        left: of the contract as it is now.
        repaired: what was changed, in words that stand in the probes; empty where nothing was.
    """

    contract: AnswerContract
    trial: SelfTest
    left: SelfTest
    repaired: dict[str, Any]


def try_and_repair(contract: AnswerContract, answer: str, *, others: Sequence[str] = (), seed: str = "", limit: int = 8) -> Tried:
    """Try a contract on itself; where it errs and one change makes it sound, make that change.

    An alias is dropped where the contract is sound without it and errs with it. A tolerance that lets wrong values pass becomes half of the
    last decimal place that the gold is written with: what rounding can account for. Nothing else is touched.

    Args:
        contract: the contract as it was proposed.
        answer: the answer as it stands in the evidence.
        others: other answers that must be wrong.
        seed: an id, for near misses.
        limit: at most so many near misses.
    """
    attempt = partial(self_test, answer=answer, others=others, seed=seed, limit=limit)
    trial = attempt(contract)
    if trial.sound:
        return Tried(contract, trial, trial, {})
    if contract.aliases:
        kept = contract.model_copy(update={"aliases": ()})
        if attempt(kept).sound:
            for alias in contract.aliases:
                more = kept.model_copy(update={"aliases": (*kept.aliases, alias)})
                kept = more if attempt(more).sound else kept
            dropped = [alias for alias in contract.aliases if alias not in kept.aliases]
            return Tried(kept, trial, attempt(kept), {"dropped_aliases": dropped})
    decimals = _DECIMALS.search(contract.gold)
    precise = float(f"5e-{(len(decimals[1]) if decimals else 0) + 1}")
    if trial.refused is None and precise < contract.tolerance:
        tight = contract.model_copy(update={"tolerance": precise})
        left = attempt(tight)
        if left.sound:
            return Tried(tight, trial, left, {"tolerance": [contract.tolerance, precise]})
    return Tried(contract, trial, trial, {})
