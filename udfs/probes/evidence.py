"""Where an answer stands in its context: at the offset that an item names, or found by search; by code points, checked against a hash."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from schemas.ids import text_hash
from udfs.probes.number_words import Value, numbers
from udfs.probes.words import ARABIC_HEADS
from udfs.text.charclass import WORD, class_table
from udfs.text.normalise import INVISIBLE, normalise
from udfs.text.tokens import token_spans

#: How the span reads as the answer: code point by code point; case, width and composition of letters aside; the same number in another spelling.
Match = Literal["exact", "folded", "number"]
#: A span may have so many times the code points of its answer, and so many more: composed letters, invisible marks, other spellings of a number.
_TIMES, _MORE = 3, 16
_GROUP = re.compile(r"\d[.,']\d{3}(?!\d)")
_LONGEST_HEAD = max(map(len, ARABIC_HEADS))
#: Longest answer that is looked for in other spellings, and most tokens that spell a number.
MAX_FOLDED, MAX_NUMBER, MAX_NUMBER_TOKENS = 400, 48, 8


@dataclass(frozen=True, slots=True)
class Evidence:
    """A span of a context.

    Attributes:
        start, end: code points; the span is ``context[start:end]``.
        match: how it reads as the answer.
        inside_word: letters of a script with spaces go on beside it.
    """

    start: int
    end: int
    match: Match
    inside_word: bool = False

    def hash_in(self, context: str) -> str:
        """The hash by which it is found again."""
        return text_hash(context[self.start : self.end])


@dataclass(frozen=True, slots=True)
class Found:
    """Outcome of the search.

    Attributes:
        evidence: the span; None where the answer is not where it should be.
        occurrences: places where the answer stands in the context as a whole.
        nearest: where it stands instead, nearest to the named offset; None where it does not, or no offset is named.
    """

    evidence: Evidence | None
    occurrences: int
    nearest: int | None = None


def _is_word(char: str) -> bool:
    return bool(class_table()[ord(char)] == WORD)


def in_number(text: str, start: int, end: int) -> bool:
    """Whether a span is a part of a longer number: 30 in 308, 500 in 1,500."""
    if (start > 1 and _GROUP.match(text[start - 2 : start + 3])) or _GROUP.match(text[end - 1 : end + 4]):
        return True
    return (start > 0 and text[start - 1 : start + 1].isdigit()) or (end < len(text) and text[end - 1 : end + 1].isdigit())


def _in_word(text: str, start: int, end: int) -> bool:
    """Whether a span is a part of a longer word; what Arabic writes before a word and Korean behind it does not count."""
    if end < len(text) and _is_word(text[end - 1]) and _is_word(text[end]) and not "\uac00" <= text[end - 1] <= "\ud7a3":
        return True
    if not start or not (_is_word(text[start]) and _is_word(text[start - 1])):
        return False
    begin = start
    while begin and start - begin < _LONGEST_HEAD and _is_word(text[begin - 1]):
        begin -= 1
    return text[begin:start] not in ARABIC_HEADS or (begin > 0 and _is_word(text[begin - 1]))


def locate(context: str, answer: str, start: int | None, language: str | None) -> Found:
    """Where the answer stands.

    Args:
        context: text of the source.
        answer: as the item gives it, not empty.
        start: its first code point, as the item says; None: it is searched, and the first place as a whole word counts.
        language: whose number words are read.
    """
    places = _places(context, answer)
    whole = [at for at in places if not _in_word(context, at, at + len(answer))]
    if start is not None:
        evidence = _at(context, answer, start, language)
        return Found(evidence, len(whole or places), None if evidence or not places else min(places, key=lambda at: (abs(at - start), at)))
    if places:
        first = (whole or places)[0]
        return Found(Evidence(first, first + len(answer), "exact", inside_word=not whole), len(whole or places))
    other = _folded(context, answer) or list(_numbers(context, answer, language))
    return Found(other[0] if other else None, len(other))


def _places(context: str, answer: str) -> list[int]:
    """Where the answer stands code point by code point, not as a part of a longer number."""
    found, at = [], context.find(answer)
    while at >= 0:
        if not in_number(context, at, at + len(answer)):
            found.append(at)
        at = context.find(answer, at + len(answer))
    return found


def _at(context: str, answer: str, start: int, language: str | None) -> Evidence | None:
    """The answer at one offset; nothing is skipped before it, be it a space or a byte order mark."""
    if not 0 <= start < len(context):
        return None
    if context.startswith(answer, start):
        end = start + len(answer)
        if in_number(context, start, end):
            return None
        return Evidence(start, end, "exact", _in_word(context, start, end))
    first = context[start]
    if first.isspace() or INVISIBLE.match(first) or unicodedata.combining(first):
        return None
    folded = _folded_end(context, normalise(answer), len(answer), start)
    if folded is not None:
        return Evidence(start, folded, "folded")
    return next((found for found in _numbers(context, answer, language, start) if found.start == start), None)


def _folded_end(context: str, wanted: str, size: int, start: int) -> int | None:
    """Where a text that begins at ``start`` ends, if it reads as ``wanted`` in normal form."""
    if not wanted or size > MAX_FOLDED or normalise(context[start])[:1] != wanted[:1]:
        return None
    for end in range(start + max(1, size // _TIMES), min(len(context), start + size * _TIMES + _MORE) + 1):
        said = normalise(context[start:end])
        if said == wanted and not (end < len(context) and unicodedata.combining(context[end])):
            return None if _in_word(context, start, end) or in_number(context, start, end) else end
        if len(said) > len(wanted) + 4:
            return None
    return None


def _folded(context: str, answer: str) -> list[Evidence]:
    """Where the answer stands as a whole, case, width and composition of letters aside."""
    wanted = normalise(answer).strip()
    if not wanted or len(answer) > MAX_FOLDED or wanted not in normalise(context):
        return []
    ends = ((start, _folded_end(context, wanted, len(answer), start)) for start, _ in token_spans(context))
    return [Evidence(start, end, "folded") for start, end in ends if end is not None]


@lru_cache(maxsize=4096)
def value_of(text: str, language: str | None) -> tuple[Value, tuple[str, ...]] | None:
    """The one number that a text is, and the words beside it; None where it states none or several."""
    if len(text) > MAX_NUMBER:
        return None
    found = numbers(text, language)
    if len(found.stated) != 1 or not found.stated[0].values:
        return None
    return found.stated[0].values[0], found.rest


_NUMERIC = re.compile(r"\d")


def _numbers(context: str, answer: str, language: str | None, start: int | None = None) -> Iterator[Evidence]:
    """Spans of the context that are the same number with the same words beside it, in another spelling; none begins within a longer number."""
    wanted = value_of(answer, language)
    if wanted is None or isinstance(wanted[0], Fraction):
        return
    spans = token_spans(context)
    for at, (begin, _) in enumerate(spans):
        if start is not None and begin != start:
            continue
        if begin and _NUMERIC.match(context[begin]) and re.search(r"\d[.,' \u00a0]?\Z", context[max(0, begin - 2) : begin]):
            continue
        window = numbers(context[begin : spans[min(at + MAX_NUMBER_TOKENS, len(spans)) - 1][1]], language).sequence
        if not window or isinstance(window[0], str):
            continue
        for _, end in reversed(spans[at : at + MAX_NUMBER_TOKENS]):
            if value_of(context[begin:end], language) == wanted and not re.match(r"[.,]?\d", context[end : end + 2]):
                yield Evidence(begin, end, "number")
                break
