"""A model's reply that was to be one JSON object, read strictly: what is anything else is none, never guessed at."""

from __future__ import annotations

import json
import re
from typing import Any

#: The whole reply may stand in one fence; anything beside it is no reply.
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n```", re.DOTALL)
#: Longest reply read, in code points.
MAX_REPLY = 100_000


def read_object(reply: str) -> dict[str, Any] | None:
    """The one JSON object that a reply is.

    Args:
        reply: the whole text; white space around it, or one fence around all of it, is no part of the object.

    Returns:
        The object; None where the reply is none, goes on beside it, says a key twice, holds NaN, an infinity or half of a surrogate pair
        (no UTF-8 spells that), is too long or too deep.
    """
    text = reply.strip()
    if len(text) > MAX_REPLY:
        return None
    if text.startswith("```") and (fenced := _FENCED.fullmatch(text)) is not None:
        text = fenced[1]
    try:
        found = _DECODER.decode(text)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) != len(pairs):
        raise ValueError("a key twice")
    return held


def _refuse(constant: str) -> None:
    msg = f"{constant} is no JSON"
    raise ValueError(msg)


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_refuse)
