"""What a judge's reply says, read strictly: a reply that is not the asked-for object is ``invalid``, never guessed at."""

from __future__ import annotations

from dataclasses import dataclass

from udfs.replies.strict import read_object


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judgement.

    Attributes:
        verdict: a, b, tie: of the trajectories, wherever they were shown; score; invalid.
        score: pointwise, in [0, 1]; None where none could be read.
        explanation: the judge's reasons; None where none could be read.
    """

    verdict: str
    score: float | None = None
    explanation: str | None = None


INVALID = Verdict("invalid")


def read_verdict(kind: str, reply: str, *, swapped: bool) -> Verdict:
    """The verdict of a reply.

    Args:
        kind: pairwise or pointwise.
        reply: the whole text.
        swapped: b was shown first.
    """
    found = read_object(reply)
    field = "verdict" if kind == "pairwise" else "score"
    if found is None or set(found) != {"explanation", field} or not isinstance(found["explanation"], str):
        return INVALID
    value, explanation = found[field], found["explanation"]
    if kind == "pairwise":
        places = {"1": "b" if swapped else "a", "2": "a" if swapped else "b", "tie": "tie"}
        return Verdict(places[value], None, explanation) if isinstance(value, str) and value in places else INVALID
    if type(value) is not int or not 0 <= value <= 10:
        return INVALID
    return Verdict("score", value / 10, explanation)
