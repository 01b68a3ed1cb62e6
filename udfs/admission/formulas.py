"""The parts of a gold in mathematics, read from its notation alone: what near misses and rewritings are made of.

Nothing here asks the grader: a gold that both read wrongly in the same way would be tried in vain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

_DECIMAL = re.compile(r"[-+]?\d{1,30}(?:\.\d{1,30})?\Z")
_FRACTION = re.compile(r"([-+]?)(?:\\[dt]?frac\{(-?\d{1,30})\}\{(\d{1,30})\}|(\d{1,30})\s*/\s*(\d{1,30}))\Z")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?\Z")
_OPEN = re.compile(r"(?:\\left\s*)?(?:\\\{|[(\[])")
_CLOSE = re.compile(r"(?:\\right\s*)?(?:\\\}|[)\]])\Z")
_WORD_BREAK = re.compile(r"\s+(?:and|or)\s+")
_PIECE = re.compile(r"\s*(?:\\left)?([(\[])(.+),(.+?)(?:\\right)?([)\]])\s*\Z", re.DOTALL)
_MEMBER = re.compile(r"\A[A-Za-z]\s*\\in\b\s*")
#: An end of an interval at infinity.
ENDLESS = re.compile(r"[-+]?\s*(?:\\infty|\u221e|inf(?:inity|ty)?|oo)\Z", re.IGNORECASE)


def formula(gold: str) -> str:
    """A gold without dollar signs and spaces around it."""
    text = gold.strip()
    return text.strip("$").strip() if text.startswith("$") and text.endswith("$") else text


def value_of(text: str) -> Fraction | None:
    r"""The value of an integer, a decimal or a fraction of integers as written; None of anything else.

    Args:
        text: ``72``, ``1,234``, ``-0.5``, ``3/4``, ``\frac{3}{4}``.
    """
    text = text.strip()
    if _THOUSANDS.match(text):
        text = text.replace(",", "")
    if _DECIMAL.match(text):
        return Fraction(text)
    found = _FRACTION.match(text)
    if found is None:
        return None
    top, bottom = int(found[2] or found[4]), int(found[3] or found[5])
    return Fraction(-top if found[1] == "-" else top, bottom) if bottom else None


def spelled(value: Fraction) -> str:
    """A value as a whole number or as a fraction in LaTeX."""
    sign = "-" if value < 0 else ""
    return str(value.numerator) if value.denominator == 1 else f"{sign}\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


@dataclass(frozen=True, slots=True)
class Items:
    """A collection as written.

    Attributes:
        left, right: its brackets, empty where it has none.
        items: its items as written.
    """

    left: str
    items: tuple[str, ...]
    right: str

    def spell(self, items: Iterable[str]) -> str:
        """Other items in the same brackets."""
        return self.left + ", ".join(items) + self.right


def _split(text: str) -> list[str]:
    """At the commas and semicolons outside of every bracket."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if sign in ",;" and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in (*parts, text[start:])]


def encloses(text: str) -> bool:
    """Whether the first bracket of a text is closed by its last sign and no earlier."""
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0 and sign in ")]}":
            return at == len(text) - 1
    return False


def items_of(gold: str, *, words: bool) -> Items | None:
    """The items of a set, a list, a tuple or several values side by side; None where a gold is one value.

    Args:
        gold: the gold.
        words: whether commas may be followed by words ("Mars, Venus and Earth"): lists and sets.
    """
    text = formula(gold)
    if not words and _THOUSANDS.match(text):
        return None
    opened, closed = _OPEN.match(text), _CLOSE.search(text)
    left = right = ""
    if opened and closed and encloses(text.replace("\\left", "").replace("\\right", "")):
        left, text, right = opened[0], text[opened.end() : closed.start()], closed[0]
    items = _split(text)
    if words and "\\" not in text:
        items = [part for item in items for part in _WORD_BREAK.split(re.sub(r"\A(?:and|or)\s+", "", item)) if part]
    if not items or not all(items) or (len(items) < 2 and "{" not in left):
        return None
    return Items(left, tuple(items), right)


@dataclass(frozen=True, slots=True)
class Piece:
    """An interval as written: brackets, ends, and whether each end is a number or at infinity."""

    opened: str
    low: str
    high: str
    closed: str

    @property
    def bounded(self) -> tuple[bool, bool]:
        """Whether the lower and the upper end are finite."""
        return not ENDLESS.match(self.low), not ENDLESS.match(self.high)

    def spell(self) -> str:
        """As written, without extra spaces."""
        return f"{self.opened}{self.low}, {self.high}{self.closed}"


def pieces_of(gold: str) -> tuple[Piece, ...] | None:
    r"""The pieces of a union of intervals; None where a gold is none, or is written as an inequality."""
    found = [_PIECE.match(part) for part in _MEMBER.sub("", formula(gold)).split("\\cup")]
    pieces = tuple(Piece(m[1], m[2].strip(), m[3].strip(), m[4]) for m in found if m is not None)
    return pieces if len(pieces) == len(found) else None
