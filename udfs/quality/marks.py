"""What the figures of lines look for: classes of code points, phrases, citations."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from udfs.text.charclass import CODE_POINTS

#: Bits of the table. A code point may have several.
SPACE, SYMBOL, LETTER, TERMINAL, ENDER, CLOSER, FULL_STOP = 1, 2, 4, 8, 16, 32, 64

#: Ends a sentence where white space or the line's end follows.
ENDERS = ".?!\u2026\u061f\u06d4\u0964\u203c\u2047\u2048\u2049"
#: Ends a sentence wherever it stands: scripts that write no space after it.
FULL_STOPS = "\u3002\uff01\uff1f\uff0e\uff61"
#: May stand between the end of a sentence and the white space after it.
CLOSERS = "\"'\u2019\u201d\u00bb)]\u300d\u300f\uff09"
#: A line that ends in one of these is a sentence, not a menu entry: C4's marks, their typographic forms, and those of other scripts.
TERMINALS = ENDERS + FULL_STOPS + "\"'\u2019\u201d\u00bb\u300d\u300f"

#: A line with one of these is a notice, not prose (C4: Raffel et al. 2020, section 2.2; phrases as in datatrove).
NOTICES = (
    b"javascript", b"terms of use", b"privacy policy", b"cookie policy", b"uses cookies", b"use of cookies", b"use cookies",
)  # fmt: skip
#: A text with this is a dummy page (C4).
LOREM = b"lorem ipsum"
#: Citations that C4 takes off before it looks at a line's end; ``[12]`` and ``[]`` beside them.
CITATIONS = (b"[edit]", b"[citation needed]")
#: First characters of a bullet line, as in datatrove.
BULLETS = "\u2022-"


@lru_cache(maxsize=1)
def mark_table() -> NDArray[np.uint8]:
    """Bits of every code point: uint8[0x110000], read-only."""
    table = np.zeros(CODE_POINTS, np.uint8)
    for cp in range(CODE_POINTS):
        char, category = chr(cp), unicodedata.category(chr(cp))[0]
        if char.isspace():
            table[cp] = SPACE
        elif category == "L":
            table[cp] = LETTER
        elif category not in "MN":
            table[cp] = SYMBOL
    for bit, members in ((TERMINAL, TERMINALS), (ENDER, ENDERS), (CLOSER, CLOSERS), (FULL_STOP, FULL_STOPS)):
        table[[ord(char) for char in members]] |= bit
    table.setflags(write=False)
    return table
