"""What a judge's reply says, read strictly: a reply that is not the asked-for object is ``invalid``, never guessed at."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

#: The whole reply may stand in one fence; anything beside it is no reply.
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n```", re.DOTALL)
#: Longest reply read, in code points.
MAX_REPLY = 100_000


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
    found = _object(reply)
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


def _object(reply: str) -> dict[str, Any] | None:
    """The one JSON object that a reply is; None where it is none, or says a key twice."""
    text = reply.strip()
    if len(text) > MAX_REPLY:
        return None
    if (fenced := _FENCED.fullmatch(text)) is not None:
        text = fenced[1]
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) != len(pairs):
        raise ValueError("a key twice")
    return held
