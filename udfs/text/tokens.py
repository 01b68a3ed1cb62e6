"""The tokeniser in plain Python: the definition that the compiled kernels are tested against."""

from __future__ import annotations

import re
from functools import lru_cache

from udfs.text.charclass import ALONE, WORD, regex_class
from udfs.text.normalise import normalise


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    return re.compile(f"[{regex_class(WORD)}]+|[{regex_class(ALONE)}]")


def tokens(text: str) -> list[str]:
    """Word tokens of ``text`` in normal form, in order.

    A token is a maximal run of letters, marks and numbers, or one code point of a script without spaces (Chinese,
    Japanese, Thai, Lao, Khmer, Myanmar), so that a word 5-gram is a character 5-gram there.
    """
    return _pattern().findall(normalise(text))


def token_spans(text: str) -> list[tuple[int, int]]:
    """Start and end, in code points of ``text`` itself, of its tokens (before normalisation)."""
    return [found.span() for found in _pattern().finditer(text)]
