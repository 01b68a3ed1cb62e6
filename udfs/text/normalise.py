"""The normal form in which texts are compared: NFKC, case-folded, without invisible code points."""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

#: Code points that render as nothing and split no word: soft hyphen, combining grapheme joiner, zero-width and
#: direction marks, word joiner and invisible operators, variation selectors, byte order mark.
INVISIBLE = re.compile("[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]+")

#: Longest run of combining marks that is normalised as one (UAX #15, Stream-Safe Text Format).
MAX_MARKS = 30

#: Code points that ``simple_folds`` knows: the basic plane, and the one of symbols and old scripts.
SIMPLE_LIMIT = 0x20000
#: In place of a fold: the code point needs the whole procedure. Marked by a value beyond Unicode; it costs no second table.
NOT_SIMPLE = 0xFFFFFFFF
_HANGUL_JAMO = (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))


@lru_cache(maxsize=1)
def _long_marks() -> re.Pattern[str]:
    """Runs of more than ``MAX_MARKS`` code points with a canonical combining class."""
    members = [chr(cp) for cp in range(sys.maxunicode + 1) if unicodedata.combining(chr(cp))]
    return re.compile(f"[{''.join(members)}]{{{MAX_MARKS},}}")


@lru_cache(maxsize=1)
def _mark_table() -> NDArray[np.bool_]:
    """True for code points with a canonical combining class: bool[0x110000]; beyond ``SIMPLE_LIMIT`` there are none."""
    table = np.zeros(sys.maxunicode + 1, np.bool_)
    table[:SIMPLE_LIMIT] = np.fromiter((unicodedata.combining(chr(cp)) > 0 for cp in range(SIMPLE_LIMIT)), np.bool_, SIMPLE_LIMIT)
    return table


def _has_long_marks(text: str) -> bool:
    """Whether a run of ``MAX_MARKS`` marks occurs; by a table, for the pattern takes a hundred times as long to find none."""
    if len(text) < MAX_MARKS:
        return False
    at = np.flatnonzero(_mark_table()[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)])
    return bool((at[MAX_MARKS - 1 :] - at[: -MAX_MARKS + 1] == MAX_MARKS - 1).any())


def _stream_safe(text: str) -> str:
    """Break long runs of marks by U+034F: canonical ordering takes quadratic time in the length of a run."""

    def broken(run: re.Match[str]) -> str:
        marks = run.group()
        return "\u034f".join(marks[i : i + MAX_MARKS] for i in range(0, len(marks), MAX_MARKS))

    return _long_marks().sub(broken, text) if _has_long_marks(text) else text


@lru_cache(maxsize=1)
def simple_folds() -> NDArray[np.uint32]:
    """The normal form of every code point whose neighbours do not matter, else ``NOT_SIMPLE``: uint32[SIMPLE_LIMIT + 1].

    Simple is what becomes one code point, neither side of which is reordered, composes with the one before it, or vanishes. The last
    entry stands for all code points beyond the table.
    """
    seconds = set(_HANGUL_JAMO)
    for cp in range(SIMPLE_LIMIT):  # beyond it lie no pairs, only single equivalents
        parts = unicodedata.decomposition(chr(cp)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            seconds.add(int(parts[1], 16))
    table = np.full(SIMPLE_LIMIT + 1, NOT_SIMPLE, np.uint32)
    for cp in range(SIMPLE_LIMIT):
        char = chr(cp)
        if 0xD800 <= cp < 0xE000 or cp in seconds or unicodedata.combining(char) or INVISIBLE.match(char):
            continue
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", char).casefold())
        if len(folded) == 1 and not unicodedata.combining(folded) and ord(folded) not in seconds and not INVISIBLE.match(folded):
            table[cp] = ord(folded)
    table.setflags(write=False)
    return table


def _whole(text: str) -> str:
    """The procedure in full."""
    folded = unicodedata.normalize("NFKC", _stream_safe(INVISIBLE.sub("", text))).casefold()
    return INVISIBLE.sub("", unicodedata.normalize("NFKC", _stream_safe(folded)))


def normalise(text: str) -> str:
    """Bring ``text`` to the form in which it is compared; white space and punctuation stay.

    ASCII is lower-cased, and text of simple code points alone goes through a table (fast paths with the same result). Otherwise:
    ``INVISIBLE`` removed, NFKC, case folding, NFKC again (folding may undo it), and once more without the invisible ones that either
    made. Time is linear in the length.
    """
    if text.isascii():
        return text.lower()
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    folded = simple_folds()[np.minimum(points, SIMPLE_LIMIT)]
    if len(folded) and int(folded.max()) != NOT_SIMPLE:
        return folded.tobytes().decode("utf-32-le")
    return _whole(text)


def squeeze(text: str) -> str:
    """Every run of white space as one space, none at the ends."""
    return " ".join(text.split())
