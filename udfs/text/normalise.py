"""The normal form in which texts are compared: NFKC, case-folded, without invisible code points."""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache

#: Code points that render as nothing and split no word: soft hyphen, combining grapheme joiner, zero-width and
#: direction marks, word joiner and invisible operators, variation selectors, byte order mark.
INVISIBLE = re.compile("[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]+")

#: Longest run of combining marks that is normalised as one (UAX #15, Stream-Safe Text Format).
MAX_MARKS = 30


@lru_cache(maxsize=1)
def _long_marks() -> re.Pattern[str]:
    """Runs of more than ``MAX_MARKS`` code points with a canonical combining class."""
    members = [chr(cp) for cp in range(sys.maxunicode + 1) if unicodedata.combining(chr(cp))]
    return re.compile(f"[{''.join(members)}]{{{MAX_MARKS},}}")


def _stream_safe(text: str) -> str:
    """Break long runs of marks by U+034F: canonical ordering takes quadratic time in the length of a run."""

    def broken(run: re.Match[str]) -> str:
        marks = run.group()
        return "\u034f".join(marks[i : i + MAX_MARKS] for i in range(0, len(marks), MAX_MARKS))

    return _long_marks().sub(broken, text)


def normalise(text: str) -> str:
    """Bring ``text`` to the form in which it is compared; white space and punctuation stay.

    ASCII is lower-cased (a fast path with the same result). Otherwise: ``INVISIBLE`` removed, NFKC, case folding, NFKC again
    (folding may undo it), and once more without the invisible ones that either made. Time is linear in the length.
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", _stream_safe(INVISIBLE.sub("", text))).casefold()
    return INVISIBLE.sub("", unicodedata.normalize("NFKC", _stream_safe(folded)))


def squeeze(text: str) -> str:
    """Every run of white space as one space, none at the ends."""
    return " ".join(text.split())
