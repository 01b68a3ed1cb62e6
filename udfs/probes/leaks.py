"""Does a question give its answer away: word for word, in another form of its words, or as the same number in another spelling?

A question may share words with its answer ("Which prize ...?", the Nobel Prize): only the whole answer is a leak. Shares are measured
beside it (Q section 5, point 3: probes that measure).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from udfs.probes.alternatives import named_as_alternative
from udfs.probes.number_words import Numbers, Value, numbers
from udfs.probes.words import akin, find_words, is_spaceless, words
from udfs.text.normalise import normalise, squeeze

Kind = Literal["verbatim", "inflected", "number"]
#: Tokens that may stand between two words of an answer that is given away in another form.
MAX_GAP = 1
_END = re.compile("[?\uff1f\u061f\u037e]")
#: Greek asks with what elsewhere is a semicolon.
_GREEK_END = re.compile("[?;\u037e]")
#: Words that may stand beside the number of an answer (its unit), and code points of them in scripts without spaces.
MAX_UNIT, MAX_UNIT_POINTS = 2, 4


@dataclass(frozen=True, slots=True)
class Leak:
    """What a question says of its answer.

    Attributes:
        kind: how it names the whole answer; None where it does not.
        alternative: it names it only as one of the alternatives that it offers.
        overlap: share of the answer's distinct words, or of their forms, that stand in the question.
    """

    kind: Kind | None
    alternative: bool
    overlap: float


def leak(question: str, answer: str, language: str | None) -> Leak:
    """What a question gives away.

    Args:
        question: as it stands.
        answer: as it stands.
        language: whose number words and joining words are read; None: digits alone, joining words of all languages.
    """
    asked, wanted = words(question, language), words(answer, language)
    if not wanted:  # signs alone
        sign = squeeze(normalise(answer))
        return Leak("verbatim" if sign and sign in squeeze(normalise(question)) else None, alternative=False, overlap=0.0)
    overlap = _overlap(wanted, asked)
    exact = [(at, at + len(wanted)) for at in find_words(wanted, asked)]
    kind: Kind | None = "verbatim" if exact else None
    places = exact
    if kind is None and overlap == 1.0:
        places = _inflected(wanted, asked)
        kind = "inflected" if places else None
    if kind is None and _number(question, answer, language):
        return Leak("number", alternative=False, overlap=overlap)
    alternative = bool(places) and _only_alternatives(question, places, language)
    return Leak(kind, alternative, overlap)


def _only_alternatives(question: str, places: list[tuple[int, int]], language: str | None) -> bool:
    """Whether every place is an alternative of the question itself: what follows its question mark offers none."""
    asked = words((_GREEK_END if language == "el" else _END).split(question, maxsplit=1)[0], language)
    return all(end <= len(asked) and named_as_alternative(asked, start, end, language) for start, end in places)


def _overlap(wanted: tuple[str, ...], asked: tuple[str, ...]) -> float:
    distinct, there = sorted(set(wanted)), set(asked)
    found = sum(word in there or (not is_spaceless(word) and any(akin(word, other) for other in there)) for word in distinct)
    return round(found / len(distinct), 3)


def _inflected(wanted: tuple[str, ...], asked: tuple[str, ...]) -> list[tuple[int, int]]:
    """Where forms of all words of an answer stand in their order, close together."""
    if all(map(is_spaceless, wanted)):
        return []
    found = []
    for start, first in enumerate(asked):
        if not akin(wanted[0], first):
            continue
        end = start + 1
        for word in wanted[1:]:
            step = next((step for step in range(MAX_GAP + 1) if end + step < len(asked) and akin(word, asked[end + step])), None)
            if step is None:
                break
            end += step + 1
        else:
            found.append((start, end))
    return found


def _values(found: Numbers, *, ambiguous: bool) -> set[Value]:
    return {value for stated in found.stated if ambiguous or not stated.ambiguous for value in stated.values}


def _number(question: str, answer: str, language: str | None) -> bool:
    """Whether the question states the number, or all numbers, that the answer is."""
    said = numbers(answer, language)
    if not said.stated:
        return False
    points = sum(map(is_spaceless, said.rest))
    if len(said.rest) - points > MAX_UNIT or points > MAX_UNIT_POINTS:
        return False
    asked = _values(numbers(question, language), ambiguous=not said.rest)
    return all(any(value in asked for value in stated.values) for stated in said.stated)
