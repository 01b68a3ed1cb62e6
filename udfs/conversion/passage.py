"""A passage in which quotes are found again: letter by letter, or apart from white space, quotes, dashes and Unicode's normal form."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cached_property

from udfs.grading.texts import QUOTES
from udfs.text.normalise import INVISIBLE

#: Scripts that put no space between words: a neighbouring letter says nothing about where a word ends.
_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f]"
)
_FOLDED = QUOTES | str.maketrans({"\u2026": "...", "\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl"})

Span = tuple[int, int]


def fold(text: str) -> tuple[str, list[int]]:
    """A text as quotes are compared, and where each of its code points comes from.

    White space is one space, invisible code points are gone, typographic quotes, dashes, ellipsis and ligatures are ASCII, and letters are
    decomposed (NFD), so that offsets can be taken back. Case and everything else stay.
    """
    folded: list[str] = []
    origin: list[int] = []
    for at, sign in enumerate(text):
        if sign.isspace():
            if not folded or folded[-1] != " ":
                folded.append(" ")
                origin.append(at)
            continue
        if sign.isascii():
            folded.append(sign)
            origin.append(at)
        elif not INVISIBLE.match(sign):
            plain = unicodedata.normalize("NFD", sign).translate(_FOLDED)
            folded.extend(plain)
            origin.extend([at] * len(plain))
    return "".join(folded), origin


class Passage:
    """A stretch of a document, searchable; ``offset`` is where it begins there (code points)."""

    def __init__(self, text: str, offset: int = 0) -> None:
        self.text = text
        self.offset = offset

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        return fold(self.text)

    @cached_property
    def _lowered(self) -> str | None:
        """The folded text in lower case; None where that has another length."""
        lowered = self._folded[0].lower()
        return lowered if len(lowered) == len(self._folded[0]) else None

    def find_quote(self, quote: str) -> Span | None:
        """The first place of a quote in the passage; None where it does not stand there.

        Args:
            quote: compared letter by letter, then as folded.
        """
        bare = quote.strip()
        if not bare or not (bare.isascii() or INVISIBLE.sub("", bare).strip()):
            return None
        exact = next((span for span in self._exact(bare, 0, len(self.text))), None)
        return exact or next(self._by_fold(bare, 0, len(self.text)), None)

    def find_within(self, words: str, start: int, end: int, *, any_case: bool = False) -> Iterator[Span]:
        """Places of words within ``text[start:end]``: exact ones first, then folded ones, then (``any_case``) those in other case.

        Args:
            words: what is looked for.
            start: offset in the passage, in code points.
            end: end offset, exclusive.
            any_case: also where upper and lower case differ.
        """
        bare = words.strip()
        if bare:
            yield from self._exact(bare, start, end)
            yield from self._by_fold(bare, start, end)
            if any_case:
                yield from self._by_fold(bare, start, end, any_case=True)

    def _exact(self, bare: str, start: int, end: int) -> Iterator[Span]:
        at = self.text.find(bare, start, end)
        while at >= 0:
            if self._ends_a_character(at + len(bare)):
                yield at, at + len(bare)
            at = self.text.find(bare, at + 1, end)

    def _by_fold(self, bare: str, start: int, end: int, *, any_case: bool = False) -> Iterator[Span]:
        text, origin = self._folded
        wanted = fold(bare)[0].strip()
        if any_case:
            if self._lowered is None:
                return
            text, wanted = self._lowered, wanted.lower()
        at = text.find(wanted) if wanted else -1
        while at >= 0:
            until = at + len(wanted)
            span = origin[at], origin[until - 1] + 1
            if (until == len(text) or not unicodedata.combining(text[until])) and start <= span[0] and span[1] <= end:
                yield span
            at = text.find(wanted, at + 1)

    def _ends_a_character(self, at: int) -> bool:
        return at >= len(self.text) or not unicodedata.combining(self.text[at])


def stands_alone(text: str, start: int, end: int) -> bool:
    """Whether ``text[start:end]`` is no part of a longer word or number.

    Letters and digits on both sides of an end join, except in scripts without spaces. A digit is also joined by a decimal point or a
    grouping comma (``5`` in ``1.5`` or ``5,000``), and by a minus sign before it.
    """
    first, last = text[start], text[end - 1]
    before, after = text[start - 1 : start], text[end : end + 1]
    if (before and _joined(before, first)) or (after and _joined(last, after)):
        return False
    if first.isdigit():
        if before in (".", ",") and text[start - 2 : start - 1].isdigit():
            return False
        if before in ("-", "\u2212") and not text[start - 2 : start - 1].strip("([ \t\n"):
            return False
    return not (last.isdigit() and after in (".", ",") and text[end + 1 : end + 2].isdigit())


def _joined(left: str, right: str) -> bool:
    if not (left.isalnum() or left == "_") or not (right.isalnum() or right == "_"):
        return False
    if left.isdigit() and right.isdigit():
        return True
    return not (_SPACELESS.match(left) or _SPACELESS.match(right))
