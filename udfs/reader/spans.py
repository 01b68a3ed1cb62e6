"""Candidate answers: spans of one to five words within a sentence, without stop words at the edges."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from udfs.reader.words import STOP_WORDS, WORD, sentence_spans, stem

Bools = np.ndarray[Any, np.dtype[np.bool_]]
Ints = np.ndarray[Any, np.dtype[np.int64]]

MAX_SPAN = 5
MONTHS = frozenset(
    ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"]
)
#: Between two words of a span nothing may stand but space and a comma.
_GAP = re.compile(r"\s*,?\s*\Z")

#: Shapes of a word, as bits.
CAPITAL, NUMBER, YEAR, MONTH, CODE, LITERAL, VERSION = (1 << k for k in range(7))
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)*%?\Z")
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?\Z")
_YEAR = re.compile(r"(?:1[0-9]|20)\d\d\Z")
_CODE = re.compile(r"\w*[a-z0-9]_\w+|_\w+|\w+\.\w+(?:\.\w+)*|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*")
_LITERALS = frozenset({"None", "True", "False", "()", "[]", "{}"})


def shape(word: str) -> int:
    """The bits that hold for a word."""
    bits = CAPITAL if word[0].isupper() else 0
    if _NUMBER.match(word):
        bits |= NUMBER | (YEAR if _YEAR.match(word) else 0) | (VERSION if _VERSION.match(word) else 0)
    if word.casefold() in MONTHS:
        bits |= MONTH
    if _CODE.fullmatch(word) and not bits & NUMBER:
        bits |= CODE
    if word[0] in "'\"" or word in _LITERALS:
        bits |= LITERAL
    return bits


@dataclass(frozen=True)
class Words:
    """A passage as arrays over its words.

    Attributes:
        text: the passage.
        starts, ends: code points of each word.
        stems: its term.
        sentence: number of its sentence.
        stop: whether it is a stop word.
        shapes: bits of ``shape``.
        joined: whether a span may run from the word before into this one.
    """

    text: str
    starts: Ints
    ends: Ints
    stems: list[str]
    sentence: Ints
    stop: Bools
    shapes: Ints
    joined: Bools

    @classmethod
    def read(cls, text: str) -> Words:
        """The words of a text."""
        found = [(m.start(), m.end(), m.group()) for m in WORD.finditer(text)]
        ends_of = np.asarray([end for _, end in sentence_spans(text)], dtype=np.int64)
        starts = np.asarray([start for start, _, _ in found], dtype=np.int64)
        sentence = np.searchsorted(ends_of, starts, side="right").astype(np.int64)
        joined = [
            k > 0 and bool(sentence[k] == sentence[k - 1]) and _GAP.match(text, found[k - 1][1], found[k][0]) is not None
            for k in range(len(found))
        ]
        return cls(
            text=text,
            starts=starts,
            ends=np.asarray([end for _, end, _ in found], dtype=np.int64),
            stems=[stem(word) for _, _, word in found],
            sentence=sentence,
            stop=np.asarray([word.casefold() in STOP_WORDS for _, _, word in found], dtype=np.bool_),
            shapes=np.asarray([shape(word) for _, _, word in found], dtype=np.int64),
            joined=np.asarray(joined, dtype=np.bool_),
        )

    def __len__(self) -> int:
        return len(self.stems)

    @cached_property
    def spans(self) -> tuple[Ints, Ints]:
        """First and last word of every candidate span, ordered by first word, then by length."""
        count = len(self)
        firsts, lasts = [], []
        start = np.arange(count)
        open_ = ~self.stop
        for length in range(1, MAX_SPAN + 1):
            last = start + length - 1
            inside = last < count
            if length > 1:
                open_[inside] &= self.joined[last[inside]]
            open_ &= inside
            keep = start[open_]
            keep = keep[~self.stop[keep + length - 1]]
            firsts.append(keep)
            lasts.append(keep + length - 1)
        first, last = np.concatenate(firsts), np.concatenate(lasts)
        order = np.lexsort((last, first))
        return first[order], last[order]

    def string(self, first: int, last: int) -> str:
        """A span as it stands, white space folded."""
        return " ".join(self.text[self.starts[first] : self.ends[last]].split())

    def find(self, text: str) -> tuple[Ints, Ints]:
        """First and last word of every place where the words of ``text`` stand; a word may be the last part of a dotted name."""
        wanted = [stem(match.group()) for match in WORD.finditer(text)]
        size = len(wanted)
        places = [k for k in range(len(self) - size + 1) if size and _alike(self.stems[k : k + size], wanted)]
        first = np.asarray(places, dtype=np.int64)
        return first, first + max(0, size - 1)

    def before(self, first: int) -> str:
        """The character before a word that is no space; empty at the beginning of its sentence."""
        if first == 0:
            lead = self.text[: self.starts[0]]
        elif self.sentence[first] != self.sentence[first - 1]:
            lead = self.text[self.ends[first - 1] : self.starts[first]].rpartition("\n")[2]
        else:
            lead = self.text[self.ends[first - 1] : self.starts[first]]
        return lead.strip()[-1:]

    def after(self, last: int) -> str:
        """The character after a word that is no space; empty at the end of its sentence."""
        end = self.starts[last + 1] if last + 1 < len(self) else len(self.text)
        return self.text[self.ends[last] : end].split("\n", 1)[0].strip()[:1]

    @cached_property
    def neighbours(self) -> tuple[list[str], list[str]]:
        """``before`` and ``after`` of every word."""
        return [self.before(k) for k in range(len(self))], [self.after(k) for k in range(len(self))]


def _alike(stems: list[str], wanted: list[str]) -> bool:
    return stems == wanted or (len(wanted) == 1 and stems[0].endswith("." + wanted[0]))
