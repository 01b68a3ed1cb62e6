"""Where the tokens of a text in normal form stand in the text itself."""

from __future__ import annotations

import re
import unicodedata
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from udfs.text.normalise import normalise
from udfs.text.tokens import token_spans

#: Conjoining jamo, which compose with a letter before them although they are letters.
_JAMO = re.compile("[\u1160-\u11ff\ud7b0-\ud7ff]")
_RUN = re.compile("[\x00-\x7f]+|[^\x00-\x7f]")


def original_spans(text: str) -> list[tuple[int, int]]:
    """Start and end, in code points of ``text``, of every token of its normal form, in the order of ``tokens(text)``.

    A token that normalisation made of other code points has the span of the smallest pieces of the text that normalise by themselves;
    several tokens made of one code point (a ligature of words) share its span.
    """
    if text.isascii():
        return token_spans(text)
    normal = normalise(text)
    starts, ends = _source(text, normal)
    return [(int(starts[a]), int(ends[b - 1])) for a, b in token_spans(normal)]


def _source(text: str, normal: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every code point of ``normal``: bounds of the piece of ``text`` that it came from."""
    starts: list[int] = []
    ends: list[int] = []
    size = 0
    for begin, piece in _pieces(text):
        folded = normalise(piece)
        size += len(folded)
        if len(folded) == len(piece):
            starts.extend(range(begin, begin + len(piece)))
            ends.extend(range(begin + 1, begin + len(piece) + 1))
        else:
            starts.extend([begin] * len(folded))
            ends.extend([begin + len(piece)] * len(folded))
    if size != len(normal):  # not expected: then the whole text is all that can be said
        return np.zeros(len(normal), np.int64), np.full(len(normal), len(text), np.int64)
    return np.array(starts, np.int64), np.array(ends, np.int64)


def _joins(run: str) -> bool:
    """Whether a code point, or what it stands for (half-width voicing marks), may compose with the one before it."""
    if run.isascii():
        return False
    first = unicodedata.normalize("NFKC", run)[0]
    return unicodedata.category(first)[0] == "M" or _JAMO.match(first) is not None


def _pieces(text: str) -> list[tuple[int, str]]:
    """The text cut before every code point that never joins the one before it: runs of ASCII, and letters with their marks."""
    pieces: list[str] = []
    for run in _RUN.findall(text):
        if not pieces or not _joins(run):
            pieces.append(run)
        elif pieces[-1].isascii() and len(pieces[-1]) > 1:
            last = pieces.pop()
            pieces += [last[:-1], last[-1] + run]
        else:
            pieces[-1] += run
    return list(zip(accumulate(map(len, pieces), initial=0), pieces, strict=False))
