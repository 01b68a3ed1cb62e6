"""Quoted passages: evidence with its surroundings, between fences that it cannot close."""

from __future__ import annotations

import re

#: Longest passage shown, in code points; evidence longer than this is shown whole up to MAX_EVIDENCE, alone.
MAX_PASSAGE = 1200
MAX_EVIDENCE = 4000

_TICKS = re.compile(r"`+")


def passage_around(text: str, start: int, end: int, *, bound: int = MAX_PASSAGE) -> str | None:
    """The evidence with as much of its surroundings as fits, cut at white space.

    Args:
        text: the document.
        start: code point offset of the evidence.
        end: end offset, exclusive.
        bound: longest passage in code points.

    Returns:
        The passage, which contains ``text[start:end]``; None where the offsets are none of the text or the evidence is too long to show.
    """
    if not 0 <= start < end <= len(text) or end - start > MAX_EVIDENCE:
        return None
    room = max(0, bound - (end - start)) // 2
    left, right = max(0, start - room), min(len(text), end + room)
    while 0 < left < start and not text[left - 1].isspace():
        left += 1
    while end < right < len(text) and not text[right].isspace():
        right -= 1
    return text[left:right]


def quote(passage: str) -> str:
    """The passage between two lines of backticks, longer than any run of backticks inside it.

    Args:
        passage: corpus text, shown as it is.
    """
    longest = max((len(m.group()) for m in _TICKS.finditer(passage)), default=0) if "`" in passage else 0
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{passage}\n{fence}"
