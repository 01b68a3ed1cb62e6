"""A contract tried on itself: what is right must be accepted, near misses rejected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.contract import AnswerContract
from udfs.admission.near_misses import near_misses
from udfs.admission.rewritings import paraphrases, rewritings
from udfs.grading import grade

__all__ = ["SelfTest", "rewritings", "self_test"]


@dataclass(frozen=True, slots=True)
class SelfTest:
    """What the trial found.

    Attributes:
        refused: the first right answer that is refused, None where none is.
        verdict: its verdict.
        accepted: the first near miss that is accepted, None where none is.
        n_right: right answers tried.
        n_near_misses: near misses tried.
        n_refused: right answers refused.
        n_accepted: near misses accepted.
    """

    refused: str | None
    verdict: str | None
    accepted: str | None
    n_right: int
    n_near_misses: int
    n_refused: int = 0
    n_accepted: int = 0

    @property
    def sound(self) -> bool:
        """Whether the grader erred on none of them."""
        return self.refused is None and self.accepted is None


def self_test(contract: AnswerContract, answer: str, *, others: Sequence[str] = (), seed: str = "", limit: int = 8) -> SelfTest:
    """Try a contract on its gold, its aliases, the answer as it stands in the evidence, rewritings, paraphrases and near misses.

    All are tried, also after the first error: error rates are counted over them. Where the gold itself is refused, the rest is left out.

    Args:
        contract: the contract.
        answer: the answer as it stands in the evidence.
        others: other answers that must be wrong.
        seed: an id, for near misses.
        limit: at most so many near misses.
    """
    right = tuple(dict.fromkeys((answer, *contract.aliases, *rewritings(contract), *paraphrases(contract))))
    refused: list[tuple[str, str]] = []
    for text in right:
        got = grade(contract, text).verdict
        if got != "correct":
            refused.append((text, got))
        if got in ("unparsable_gold", "error"):
            break
    unreadable = bool(refused) and refused[0][1] in ("unparsable_gold", "error")
    wrong = () if unreadable else near_misses(contract, others=others, seed=seed, limit=limit)
    accepted = [text for text in wrong if grade(contract, text).reward == 1.0]
    first, verdict = refused[0] if refused else (None, None)
    tried = 1 if unreadable else len(right)
    return SelfTest(first, verdict, accepted[0] if accepted else None, tried, len(wrong), len(refused), len(accepted))
