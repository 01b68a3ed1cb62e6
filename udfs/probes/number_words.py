"""Numbers that a text states, in digits of any script and in the words of its language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from udfs.probes.number_lexicon import AMBIGUOUS, APART, COMPOUNDS, JOINERS, NOT_NUMBERS, ONES_FIRST, WORDS
from udfs.probes.words import fold, words

#: Digits with separators; grouping by a space is read in both ways.
_DIGITS = re.compile(r"(?<![a-z])(?:\d{1,3}(?:[.,']\d{3})+(?:[.,]\d+)?(?!\d)|\d{1,3}(?: \d{3})+(?!\d)|\d+[.,\u066b]\d+|\d+)")
#: What stands between digits and a word that does not multiply them: more than a space or a hyphen.
_APART = re.compile(r"\s*[^\w\s-]|\s{2,}")
#: Longer digit strings are no numbers to compare.
_MAX_DIGITS = 40

Value = int | Fraction


#: What one is within a compound, where alone it is an article; and the article that Arabic writes onto a number.
_ONE_WITHIN, _ARABIC_ARTICLE = {"de": "ein", "nl": "een"}, "ال"


@dataclass(frozen=True, slots=True)
class Stated:
    """A number that a text states.

    Attributes:
        values: its value; several where its spelling can be read in several ways (1.500).
        in_words: spelt as words, at least in part.
        ambiguous: a single word that more often means something else.
    """

    values: tuple[Value, ...]
    in_words: bool
    ambiguous: bool = False


@dataclass(frozen=True, slots=True)
class Numbers:
    """A text as its numbers and the words between them, in order."""

    sequence: tuple[str | Stated, ...]

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The numbers."""
        return tuple(part for part in self.sequence if isinstance(part, Stated))

    @property
    def rest(self) -> tuple[str, ...]:
        """The words."""
        return tuple(part for part in self.sequence if isinstance(part, str))


@dataclass(frozen=True, slots=True)
class _Word:
    value: int
    scale: bool
    ambiguous: bool
    apart: bool


class _Lexicon:
    """Number words of one language, by their folded tokens."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.entries: dict[tuple[str, ...], _Word | None] = {self.key(word): None for word in NOT_NUMBERS.get(language, ())}
        ambiguous, apart = AMBIGUOUS.get(language, frozenset()), APART.get(language, frozenset())
        for entry in WORDS[language].replace("\n", "|").split("|"):
            value, *spellings = entry.split()
            for word in spellings:
                self.entries[self.key(word)] = _Word(int(value.lstrip("*")), value[0] == "*", word in ambiguous, word in apart)
        #: Lengths of the entries that begin with a token, longest first.
        self.sizes: dict[str, list[int]] = {}
        for first, size in sorted({(key[0], len(key)) for key in self.entries}, key=lambda pair: -pair[1]):
            self.sizes.setdefault(first, []).append(size)
        self.joiners = frozenset(key for word in JOINERS.get(language, ()) for key in self.key(word))
        self.compounds = language in COMPOUNDS
        self.single = {key[0]: word for key, word in self.entries.items() if len(key) == 1 and word is not None}

    def key(self, word: str) -> tuple[str, ...]:
        return words(word, self.language)

    def at(self, tokens: tuple[str, ...], at: int) -> tuple[list[_Word | str], int] | None:
        """Number words that begin at a token, joiners among them as text, and how many tokens they are; none of a word that only looks so."""
        for size in self.sizes.get(tokens[at], ()):
            if (found := self.entries.get(tokens[at : at + size], self)) is not self:
                return ([found], size) if isinstance(found, _Word) else ([], size)
        parts = self._split(tokens[at]) if self.compounds else None
        return (parts, 1) if parts else None

    def _split(self, word: str) -> list[_Word | str] | None:
        """A word written together, as its parts: *dreihundertundacht*, *وعشرون*."""
        if word in self.single:
            return [self.single[word]]
        if self.language == "ar" and word.startswith(_ARABIC_ARTICLE):
            return self._split(word.removeprefix(_ARABIC_ARTICLE))
        for end in range(min(len(word) - 1, 14), 0, -1):
            head: _Word | str | None = self.single.get(word[:end])
            head = word[:end] if head is None and word[:end] in self.joiners else head
            if head is None and word[:end] == _ONE_WITHIN.get(self.language):
                head = _Word(1, scale=False, ambiguous=False, apart=False)
            if head is not None and (tail := self._split(word[end:])) is not None:
                return [head, *tail]
        return None


@lru_cache(maxsize=32)
def _lexicon(language: str) -> _Lexicon:
    return _Lexicon(language)


class _Sum:
    """A number as it is put together from its words."""

    def __init__(self, first: _Word, language: str) -> None:
        self.value: Value = first.value
        self._parts, self._language = 1, language
        # a hundred by itself is a number in some languages, and in none what a question would be turned down for
        self._doubtful = first.ambiguous or first.scale

    @property
    def ambiguous(self) -> bool:
        """A single word that more often means something else."""
        return self._doubtful and self._parts == 1

    def add(self, word: _Word, *, joined: bool) -> bool:
        """Take one word more; False where it begins another number."""
        value = word.value
        if word.scale:
            low = self.value % value
            if low:
                self.value += low * (value - 1)  # two thousand three | hundred
            elif self.value < 10 * value:
                self.value *= value  # a hundred | thousand
            else:
                return False
        elif self._language == "fr" and value == 20 and self.value % 100 == 4:
            self.value += 76  # quatre-vingts
        elif not self._fits(value, joined=joined) or (word.apart and not joined):
            return False
        else:
            self.value += value
        self._parts += 1
        return True

    def _fits(self, value: int, *, joined: bool) -> bool:
        if not value or not self.value:
            return not value  # 三百零八
        if self._language == "fr" and 10 <= value < 20 and self.value % 100 in (60, 80):
            return True
        if self._language == "ar" and value == 10 and 0 < self.value < 10:
            return True
        room = 10 if value < 10 else 100 if value < 100 else 1000
        if self.value % room == 0:
            return True
        return self._language in ONES_FIRST and joined and 0 < self.value % 100 < 10 and 20 <= value < 100 and value % 10 == 0


def _digits(spelt: str) -> tuple[Value, ...]:
    """Readings of digits: grouped, or with a decimal sign."""
    if len(spelt) > _MAX_DIGITS:
        return ()
    bare = re.sub(r"[.,' \u066b]", "", spelt)
    readings: dict[Value, None] = {}
    parts = re.split(r"[.,\u066b]", spelt)
    if re.fullmatch(r"\d{1,3}(?:[.,' ]\d{3})+|\d+", spelt):
        readings[int(bare)] = None
    if len(parts) >= 2 and (len(parts) == 2 or len(parts[-1]) != 3):
        value = Fraction(Decimal(f"{''.join(parts[:-1])}.{parts[-1]}".replace("'", "")))
        if value.denominator != 1 or len(parts[-1]) != 3:  # 2,000 is not 2
            readings[int(value) if value.denominator == 1 else value] = None
    if " " in spelt:
        readings.update(dict.fromkeys(map(int, spelt.split(" "))))
    return tuple(readings)


def _pieces(text: str, language: str | None) -> Iterator[tuple[str, bool]]:
    """The folded text cut at its numbers in digits, and whether each piece is one."""
    at, folded = 0, fold(text, language)
    for found in _DIGITS.finditer(folded):
        if found.start() > at:
            yield folded[at : found.start()], False
        yield found.group(), True
        at = found.end()
    if at < len(folded):
        yield folded[at:], False


@lru_cache(maxsize=16384)
def numbers(text: str, language: str | None) -> Numbers:
    """Every number that ``text`` states, in digits or in words.

    Args:
        text: question or answer.
        language: whose number words are read (ISO 639-1, see :data:`udfs.probes.number_lexicon.WORDS`); without one, digits alone.
    """
    lexicon = _lexicon(language) if language in WORDS else None
    found: list[str | Stated] = []
    before: tuple[Value, ...] = ()  # digits that a scale may follow: 5 million
    for piece, spelt in _pieces(text, language):
        values = _digits(piece) if spelt else ()
        tokens = words(piece, language) if not spelt else () if values else (piece,)
        skipped = 0
        if before:
            adjacent = lexicon is not None and not spelt and not _APART.match(piece)
            skipped, factor = _scales(tokens, lexicon) if adjacent and lexicon is not None else (0, 1)
            found.append(Stated(tuple(value * factor for value in before), in_words=False))
        before = values
        if lexicon is None:
            found.extend(tokens)
        else:
            _read(tokens[skipped:], lexicon, found)
    if before:
        found.append(Stated(before, in_words=False))
    return Numbers(tuple(found))


def _read(tokens: tuple[str, ...], lexicon: _Lexicon, found: list[str | Stated]) -> None:
    """Numbers among tokens without digits, and the other tokens."""
    at = 0
    while at < len(tokens):
        size, stated = _one(tokens, at, lexicon)
        size = size or 1
        found.extend(stated or tokens[at : at + size])
        at += size


def _scales(tokens: tuple[str, ...], lexicon: _Lexicon) -> tuple[int, int]:
    """How many tokens at the start multiply the digits before them, and by how much."""
    found = lexicon.at(tokens, 0) if tokens else None
    if found is None or not found[0]:
        return 0, 1
    (word, *more), size = found
    return (size, word.value) if isinstance(word, _Word) and word.scale and not more else (0, 1)


def _one(tokens: tuple[str, ...], at: int, lexicon: _Lexicon) -> tuple[int, list[Stated]]:
    """The numbers that one run of number words from a token on spells, and how many tokens it is; a word that only looks so has none."""
    begin, end, joined = at, at, False
    run: list[tuple[_Word, bool]] = []
    while at < len(tokens):
        found = lexicon.at(tokens, at)
        if found is None:
            if not run or joined or tokens[at] not in lexicon.joiners:
                break
            at, joined = at + 1, True
            continue
        if not found[0]:
            end = end if run else at + found[1]
            break
        for part in found[0]:
            if isinstance(part, str):
                joined = True
            else:
                run.append((part, joined))
                joined = False
        at += found[1]
        end = at
    return end - begin, list(_values(run, lexicon)) if run else []


def _values(run: list[tuple[_Word, bool]], lexicon: _Lexicon) -> Iterator[Stated]:
    """The numbers that a run of number words spells."""
    if lexicon.language in ("zh", "ja", "vi") and len(run) > 2 and all(word.value < 10 and not word.scale for word, _ in run):
        yield Stated((int("".join(str(word.value) for word, _ in run)),), in_words=True)  # a year, digit by digit
        return
    done: list[_Sum] = []
    for word, joined in run:
        if not done or not done[-1].add(word, joined=joined):
            done.append(_Sum(word, lexicon.language))
    for number, following in zip(done, [*done[1:], None], strict=True):
        yield Stated((number.value,), in_words=True, ambiguous=number.ambiguous and len(done) == 1)
        if lexicon.language == "en" and following is not None and 10 <= number.value < 100 and 10 <= following.value < 100:
            yield Stated((number.value * 100 + following.value,), in_words=True)  # nineteen forty-five
