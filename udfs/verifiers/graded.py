"""What a row got."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.contract import Verdict

#: Verdicts that say nothing about the candidate: their reward is null, whatever a verifier gives.
UNKNOWN: frozenset[Verdict] = frozenset({"unparsable_gold", "error", "skipped"})


@dataclass(frozen=True, slots=True)
class Graded:
    """Verdict and reward of one row.

    Attributes:
        verdict: see :data:`schemas.contract.Verdict`; ``error`` where the row could not be graded at all.
        reward: within the verifier's range; null where the fault is not the candidate's (law 6).
        extracted: what was taken for the answer.
        by: the verifier that gave it and its version, ``number@1``; None where the row names none.
        flags: what was noticed, sorted; of an ``error`` its reasons.
        tier: of the sandbox, where code was run.
    """

    verdict: Verdict
    reward: float | None
    extracted: str | None
    by: str | None
    flags: tuple[str, ...] = ()
    tier: str | None = None


def refused(by: str | None, *flags: str) -> Graded:
    """A row that could not be graded, and why."""
    return Graded("error", None, None, by, tuple(sorted(flags)))


def storable(text: str) -> str:
    """A text that UTF-8 can hold: half a surrogate pair is written as its escape."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text
