"""Does a question give its answer away: word for word, in another form of its words, or as the same number in another spelling?

A question may share words with its answer ("Which prize ...?", the Nobel Prize): only the whole answer is a leak. Shares are measured
beside it (Q section 5, point 3: probes that measure).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from udfs.probes.alternatives import named_as_alternative
from udfs.probes.number_words import Stated, numbers
from udfs.probes.words import akin, find_words, is_spaceless, words
from udfs.text.normalise import normalise, squeeze

Wanted = tuple[str, ...]
Kind = Literal["verbatim", "inflected", "number"]
#: Tokens that may stand between two words of an answer that is given away in another form.
MAX_GAP = 1
#: What separates a question from what is put beside it; Greek asks with what elsewhere is a semicolon.
_CLAUSE = re.compile(
    '[?\uff1f\u061f()\\[\\]:\uff1a\u2013\u2014\n\uff08\uff09]|\\s[\u00ab\u201c"](?=[^\u00ab\u00bb\u201c\u201d"]*[\u00bb\u201d"]\\s*\\Z)'  # also a quotation at the end
)
_GREEK_CLAUSE = re.compile("[?;\u037e()\\[\\]:\u2013\u2014\n]")
#: Counts along in Chinese and Japanese: the fourth is no four.
_ORDINAL = frozenset("第")
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
    places = _stands(wanted, asked) if overlap == 1.0 else []
    if not places:
        return Leak("number" if _number(question, answer, language) else None, alternative=False, overlap=overlap)
    kind: Kind = "verbatim" if find_words(wanted, asked) else "inflected"
    return Leak(kind, _only_alternatives(question, wanted, len(places), language), overlap)


def _stands(wanted: Wanted, asked: Wanted) -> list[tuple[int, int]]:
    """Where an answer stands in a question, word for word or else in another form."""
    exact = [(at, at + len(wanted)) for at in find_words(wanted, asked)]
    return exact or _inflected(wanted, asked)


def _only_alternatives(question: str, wanted: Wanted, places: int, language: str | None) -> bool:
    """Whether every place of an answer is an alternative of the clause in which it stands: what is put behind the question is none."""
    found = 0
    for clause in (_GREEK_CLAUSE if language == "el" else _CLAUSE).split(question):
        asked = words(clause, language)
        found += sum(named_as_alternative(asked, start, end, language) for start, end in _stands(wanted, asked))
    return found == places


def _overlap(wanted: tuple[str, ...], asked: tuple[str, ...]) -> float:
    distinct, there = set(wanted), set(asked)
    found = sum(word in there or (not is_spaceless(word) and any(akin(word, other) for other in asked)) for word in distinct)
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


def _number(question: str, answer: str, language: str | None) -> bool:
    """Whether the question states the number, or all numbers, that the answer is: with all its other words, or with nothing but a unit beside it."""
    said = numbers(answer, language)
    if not said.stated:
        return False
    asked = numbers(question, language)
    size = len(said.sequence)
    if any(_same(said.sequence, asked.sequence[at : at + size]) for at in range(len(asked.sequence) - size + 1)):
        return True
    points = sum(map(is_spaceless, said.rest))
    if _ORDINAL.intersection(said.rest) or len(said.rest) - points > MAX_UNIT or points > MAX_UNIT_POINTS:
        return False
    stated = {value for number in asked.stated if not number.ambiguous for value in number.values}
    return all(any(value in stated for value in number.values) for number in said.stated)


def _same(wanted: tuple[str | Stated, ...], there: tuple[str | Stated, ...]) -> bool:
    """Whether two stretches say the same, numbers by their values."""
    return all(
        not set(a.values).isdisjoint(b.values) if isinstance(a, Stated) and isinstance(b, Stated) else a == b
        for a, b in zip(wanted, there, strict=True)
    )
