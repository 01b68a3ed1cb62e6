"""Which part of a document a call shows: the head, or passages spread evenly; cut where a paragraph, a line or a word ends."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

#: A cut looks for a border within this share of the passage.
_SLACK = 8
#: Borders, best first.
_BORDERS = ("\n\n", "\r\n\r\n", "\n", " ")
_SPACES = " \t\r\n\f\v\u00a0\u3000"


class Window(NamedTuple):
    """A stretch of a document: its text, and the code point offset at which it begins there."""

    text: str
    offset: int


def head_window(text: str, max_chars: int) -> Window:
    """The beginning of a document, at most ``max_chars`` code points of it."""
    return _window(text, 0, max_chars)


def spread_windows(text: str, n: int, max_chars: int) -> tuple[Window, ...]:
    """A passage for each of ``n`` readers.

    A document that fits is shown whole to everybody. Of a longer one the first passage is the head, the last one the tail, and the others lie
    evenly between. The cost depends on what is shown, not on the length of the document.

    Args:
        text: the document.
        n: how many, at least 1.
        max_chars: code points of a passage, at most.
    """
    room = len(text) - max_chars
    if room <= 0:
        return (Window(text, 0),) * n
    if n == 1:
        return (head_window(text, max_chars),)
    return tuple(_window(text, room * i // (n - 1), max_chars) for i in range(n))


def _window(text: str, start: int, max_chars: int) -> Window:
    end = start + max_chars
    slack = max_chars // _SLACK
    if start > 0:
        start = _border_after(text, start, start + slack)
    end = _border_before(text, end - slack, end) if end < len(text) else len(text)
    return Window(text[start:end], start)


def _border_after(text: str, start: int, limit: int) -> int:
    """First place after ``start`` at which a passage may begin; where there is no border, not within a character."""
    for border in _BORDERS:
        if (at := text.find(border, start, limit)) >= 0:
            return _skip_spaces(text, at + len(border), limit)
    return _between_characters(text, start, limit)


def _border_before(text: str, limit: int, end: int) -> int:
    """Last place before ``end`` at which a passage may end."""
    for border in _BORDERS:
        if (at := text.rfind(border, limit, end)) > limit:
            return at
    while end > limit and unicodedata.combining(text[end]):
        end -= 1
    return end


def _skip_spaces(text: str, at: int, limit: int) -> int:
    while at < limit and text[at] in _SPACES:
        at += 1
    return at


def _between_characters(text: str, at: int, limit: int) -> int:
    while at < limit and unicodedata.combining(text[at]):
        at += 1
    return at
