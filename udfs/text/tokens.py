"""The tokeniser in plain Python: the definition that the compiled kernels are tested against."""

from __future__ import annotations

import re
from functools import lru_cache

from udfs.text.charclass import ALONE, CODE_POINTS, WORD, regex_class
from udfs.text.normalise import normalise

#: Last code point of the basic plane. Texts without any beyond have a pattern of their own: a class that goes further is searched range by
#: range for every code point that it does not hold, each space among them.
_LAST_BASIC = "\uffff"


@lru_cache(maxsize=2)
def _pattern(limit: int = CODE_POINTS) -> re.Pattern[str]:
    return re.compile(f"[{regex_class(WORD, limit)}]+|[{regex_class(ALONE, limit)}]")


def _pattern_for(text: str) -> re.Pattern[str]:
    return _pattern(ord(_LAST_BASIC) + 1) if max(text, default="") <= _LAST_BASIC else _pattern()


def tokens(text: str) -> list[str]:
    """Word tokens of ``text`` in normal form, in order.

    A token is a maximal run of letters, marks and numbers, or one code point of a script without spaces (Chinese,
    Japanese, Thai, Lao, Khmer, Myanmar), so that a word 5-gram is a character 5-gram there.
    """
    text = normalise(text)
    return _pattern_for(text).findall(text)


def token_spans(text: str) -> list[tuple[int, int]]:
    """Start and end, in code points of ``text`` itself, of its tokens (before normalisation)."""
    return [found.span() for found in _pattern_for(text).finditer(text)]
