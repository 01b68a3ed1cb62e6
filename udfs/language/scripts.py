"""Scripts of letters, coarsely: enough to see that a document is written in several."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from udfs.quality.marks import LETTER, mark_table
from udfs.text.charclass import CODE_POINTS

#: Group -> inclusive code point ranges (Unicode blocks). Chinese characters and kana are one group, because Japanese mixes them; letters of no
#: listed block are a group of their own.
SCRIPTS: dict[str, tuple[tuple[int, int], ...]] = {
    "latin": ((0x0041, 0x024F), (0x0250, 0x02AF), (0x1E00, 0x1EFF), (0x2C60, 0x2C7F), (0xA720, 0xA7FF), (0xFB00, 0xFB06), (0xFF21, 0xFF5A)),
    "greek": ((0x0370, 0x03FF), (0x1F00, 0x1FFF)),
    "cyrillic": ((0x0400, 0x052F), (0x1C80, 0x1C8F), (0x2DE0, 0x2DFF), (0xA640, 0xA69F)),
    "armenian": ((0x0530, 0x058F),),
    "hebrew": ((0x0590, 0x05FF), (0xFB1D, 0xFB4F)),
    "arabic": ((0x0600, 0x06FF), (0x0750, 0x077F), (0x08A0, 0x08FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFF)),
    "devanagari": ((0x0900, 0x097F),),
    "bengali": ((0x0980, 0x09FF),),
    "tamil": ((0x0B80, 0x0BFF),),
    "thai": ((0x0E00, 0x0E7F),),
    "georgian": ((0x10A0, 0x10FF), (0x1C90, 0x1CBF)),
    "hangul": ((0x1100, 0x11FF), (0x3130, 0x318F), (0xAC00, 0xD7FF)),
    "han": ((0x2E80, 0x312F), (0x31A0, 0x31FF), (0x3400, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x20000, 0x3FFFF)),
}


@lru_cache(maxsize=1)
def script_table() -> NDArray[np.uint8]:
    """Group of every letter, from 1; 0 for what is no letter: uint8[0x110000], read-only."""
    table = np.full(CODE_POINTS, len(SCRIPTS) + 1, np.uint8)
    for number, ranges in enumerate(SCRIPTS.values(), 1):
        for low, high in ranges:
            table[low : high + 1] = number
    table[mark_table() & LETTER == 0] = 0
    table.setflags(write=False)
    return table


def letters_by_script(text: str) -> tuple[int, int]:
    """Letters of ``text``, and how many of them belong to its commonest group."""
    points = np.frombuffer(text.encode("utf-32-le", "replace"), np.uint32)
    counts = np.bincount(script_table()[points], minlength=2)[1:]
    return int(counts.sum()), int(counts.max())
