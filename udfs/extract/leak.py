"""Does a prompt give its answer away? By stem, by subword and by number, over the whole prompt including its title (E§1)."""

from __future__ import annotations

import re
from functools import lru_cache

from udfs.extract.wording import GENERIC_PARTS, STOPWORDS

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W\d_]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]")
_SUFFIXES = (
    "izations", "ization", "ations", "ation", "ingly", "edly", "ments", "ment", "ness", "ings", "ions", "ing", "ion", "ers", "ors",
    "ies", "ed", "er", "or", "es", "ly", "al", "s", "e", "y",
)  # fmt: skip
_MIN_STEM = 3
_MIN_SUBWORD = 4
_SPELLED = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10", "eleven": "11",
    "twelve": "12", "zero": "0", "twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "hundred": "100", "thousand": "1000",
}  # fmt: skip


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """A lower-cased word without its ending; at least three letters stay."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _MIN_STEM:
            cut = word[: -len(suffix)]
            return cut[:-1] if len(cut) > _MIN_STEM and cut[-1] == cut[-2] else cut
    return word


def _parts(text: str, *, whole: bool) -> list[str]:
    """Lower-cased words of a text, those in camel case in parts, with ``whole`` also undivided; underscores separate."""
    found: list[str] = []
    for word in _WORD.findall(text):
        pieces = _CAMEL.findall(word)
        found += [piece.lower() for piece in pieces]
        if whole and len(pieces) > 1:
            found.append(word.lower())
    return found


def _numbers(text: str) -> set[str]:
    found = {_plain(number) for number in _NUMBER.findall(text)}
    found.update(_SPELLED[word] for word in _WORD.findall(text.lower()) if word in _SPELLED)
    return found


def _plain(number: str) -> str:
    """A number without grouping commas and leading zeros: 1,500 and 1500 are one."""
    return re.sub(r",(?=\d{3}(?:\D|$))", "", number).lstrip("0") or "0"


def _leaking_number(answer: str, prompt: str) -> str | None:
    """A number of the answer that the prompt states; in a date, day numbers alone say nothing."""
    wanted = [_plain(number) for number in _NUMBER.findall(answer)]
    if len(wanted) + len(_WORD.findall(answer)) > 1:
        wanted = [number for number in wanted if len(number) > 2]
    if not wanted:
        return None
    stated = _numbers(prompt)
    return next((number for number in wanted if number in stated), None)


def _word_leaks(word: str, words: set[str], stems: set[str], blob: str) -> bool:
    if len(word) < _MIN_STEM:
        return word in words
    root = stem(word)
    if root in stems or (len(word) >= _MIN_SUBWORD and len(root) >= _MIN_SUBWORD and root in blob):
        return True
    return any(len(other) >= _MIN_SUBWORD and other in word for other in words | stems)


def leaks(answer: str, prompt: str) -> str | None:
    """The word or number of ``answer`` that ``prompt`` gives away, or None.

    A word leaks when the prompt has a word of the same stem, a word that contains its stem (``tar`` does not count, four letters
    do), or a word (of four letters) that it contains. Stop words and parts that many identifiers share (Error, Base ...) are passed over unless
    the answer has no others. Numbers leak as whole numbers, also spelled out.

    Args:
        answer: the gold answer.
        prompt: everything that is shown beside it: title, question, instructions.
    """
    number = _leaking_number(answer, prompt)
    if number is not None:
        return number
    parts = _parts(answer, whole=False)
    telling = [part for part in parts if part not in STOPWORDS and part not in GENERIC_PARTS] or parts
    if not telling:
        return None
    words = {part for part in _parts(prompt, whole=True) if part not in STOPWORDS or part in telling}
    stems = {stem(word) for word in words}
    blob = " ".join(sorted(words))
    return next((word for word in telling if _word_leaks(word, words, stems, blob)), None)
