"""Character classes: what separates words, what belongs to a word, and what is a token by itself."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

#: Classes of the table. A ``WORD`` run is one token; every ``ALONE`` code point is one.
SEPARATOR, WORD, ALONE = 0, 1, 2

#: Number of Unicode code points.
CODE_POINTS = 0x110000

#: Scripts written without spaces between words, as inclusive code point ranges (Unicode blocks). Only letters, marks and
#: numbers in them become tokens; their punctuation separates like any other.
SPACELESS: tuple[tuple[int, int], ...] = (
    (0x0E00, 0x0E7F),  # Thai
    (0x0E80, 0x0EFF),  # Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19DF),  # Tai Le, New Tai Lue
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x2E80, 0x2FDF),  # CJK and Kangxi radicals
    (0x3005, 0x3007),  # ideographic iteration mark, closing mark, zero
    (0x3021, 0x3029),  # Hangzhou numerals
    (0x3031, 0x30FF),  # kana repeat marks, Hiragana, Katakana
    (0x3100, 0x312F),  # Bopomofo
    (0x31A0, 0x31FF),  # Bopomofo extended, CJK strokes, Katakana extensions
    (0x3400, 0x4DBF),  # CJK extension A
    (0x4E00, 0x9FFF),  # CJK unified ideographs
    (0xA9E0, 0xA9FF),  # Myanmar extended B
    (0xAA60, 0xAA7F),  # Myanmar extended A
    (0xF900, 0xFAFF),  # CJK compatibility ideographs
    (0x1AFF0, 0x1B16F),  # Kana supplements
    (0x20000, 0x3FFFF),  # CJK extensions B and later
)


@lru_cache(maxsize=1)
def class_table() -> NDArray[np.uint8]:
    """Class of every code point: uint8[0x110000], read-only.

    Letters, marks and numbers (general categories L*, M*, N*) belong to words, or stand alone in ``SPACELESS``; everything
    else separates. Categories are those of this interpreter's Unicode database, which the signature scheme names.
    """
    table = np.fromiter((unicodedata.category(chr(cp))[0] in "LMN" for cp in range(CODE_POINTS)), np.uint8, CODE_POINTS)
    for low, high in SPACELESS:
        table[low : high + 1] *= ALONE
    table.setflags(write=False)
    return table


@lru_cache(maxsize=1)
def symbol_table() -> NDArray[np.bool_]:
    """True for code points that are neither letters, marks, digits nor white space: bool[0x110000], read-only."""
    table = np.fromiter(
        (unicodedata.category(chr(cp))[0] not in "LMN" and not chr(cp).isspace() for cp in range(CODE_POINTS)), np.bool_, CODE_POINTS
    )
    table.setflags(write=False)
    return table


def regex_class(which: int, limit: int = CODE_POINTS) -> str:
    """The inside of a regular-expression character class that matches the code points of one class below ``limit``."""
    runs = []
    for _, group in groupby(enumerate(np.flatnonzero(class_table()[:limit] == which).tolist()), lambda pair: pair[1] - pair[0]):
        members = [cp for _, cp in group]
        runs.append(f"\\U{members[0]:08x}-\\U{members[-1]:08x}")
    return "".join(runs)
