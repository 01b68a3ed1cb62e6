"""Words as probes compare them, in any script: folded, with decimal digits of every script as ASCII, and akin where only an ending differs."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from udfs.text.charclass import SPACELESS
from udfs.text.normalise import normalise
from udfs.text.tokens import tokens

#: Languages whose marks tell words apart that are otherwise spelt alike (Vietnamese tones): their marks stay.
TONAL = frozenset({"vi"})
#: Scripts whose marks are vowels or letters of their own, by the start of their Unicode names; elsewhere a mark is an accent or optional pointing.
_MARKED = ("LATIN", "GREEK", "CYRILLIC", "ARABIC", "HEBREW")
#: Where scripts lie whose letters have accents that may go; the other ones need no decomposition.
_ACCENTED = re.compile("[\u00c0-\u0900\u1e00-\u1fff]")
#: Letters that are one letter to who compares words: dotless i, the forms of alef, final ya, ta marbuta.
_LETTERS = {
    0x0131: "i", 0x0142: "l", 0x0111: "d", 0x00F8: "o", 0x0622: "\u0627", 0x0623: "\u0627", 0x0625: "\u0627", 0x0671: "\u0627",
    0x0649: "\u064a", 0x0629: "\u0647", 0x0640: None,
}  # fmt: skip
#: Proclitics (conjunction, preposition, article) and enclitics that Arabic writes as part of the word, longest first.
ARABIC_HEADS = ("وبال", "وال", "بال", "كال", "فال", "ولل", "لل", "ال", "و", "ف", "ب", "ك", "ل")
_ARABIC_TAILS = ("هما", "تها", "ات", "ون", "ين", "ان", "ها", "هم", "نا", "وا", "ه", "ي", "ا")
#: Shortest stem, and shortest root of an Arabic word, that is compared.
MIN_STEM, MIN_ROOT = 4, 3
#: Most letters that an ending has, on the side of the answer and on that of the question.
MAX_ENDING, MAX_OTHER_ENDING = 2, 4


class _Digits(dict[int, int | str]):
    """Code points for ``str.translate``: decimal digits of every script become ASCII."""

    def __missing__(self, cp: int) -> int | str:
        digit = unicodedata.decimal(chr(cp), None)
        self[cp] = value = cp if digit is None else str(digit)
        return value


_DIGITS = _Digits()


def _is_accent(char: str) -> bool:
    """Whether a mark may be left out: combining marks that are not a vowel or letter of their script."""
    if unicodedata.category(char) != "Mn":
        return False
    name = unicodedata.name(char, "")
    return name.startswith(("COMBINING", *_MARKED)) and char != "\u3099"


@lru_cache(maxsize=1)
def _accents() -> re.Pattern[str]:
    return re.compile("[" + "".join(chr(cp) for cp in range(0x300, 0x2100) if _is_accent(chr(cp))) + "]+")


@lru_cache(maxsize=32768)
def fold(text: str, language: str | None = None) -> str:
    """NFKC, case folded, digits as ASCII; accents and optional vowel points dropped unless they tell words of ``language`` apart."""
    text = normalise(text)
    if text.isascii():
        return text
    text = text.translate(_DIGITS)
    if language not in TONAL and _ACCENTED.search(text):
        text = unicodedata.normalize("NFC", _accents().sub("", unicodedata.normalize("NFD", text))).translate(_LETTERS)
    return text


@lru_cache(maxsize=32768)
def words(text: str, language: str | None = None) -> tuple[str, ...]:
    """Folded tokens; one code point each in scripts without spaces (:func:`udfs.text.tokens.tokens`)."""
    return tuple(tokens(fold(text, language)))


@lru_cache(maxsize=4096)
def _alone(char: str) -> bool:
    return any(low <= ord(char) <= high for low, high in SPACELESS)


def is_spaceless(word: str) -> bool:
    """Whether a token is of a script that has no spaces between words."""
    return _alone(word[0])


def find_words(wanted: tuple[str, ...], within: tuple[str, ...]) -> list[int]:
    """Where a sequence of tokens stands in another one: every start."""
    if not wanted:
        return []
    first, n = wanted[0], len(wanted)
    return [at for at in range(len(within) - n + 1) if within[at] == first and within[at : at + n] == wanted]


@lru_cache(maxsize=32768)
def _arabic_root(word: str) -> str:
    """An Arabic word without what is written onto it; at least ``MIN_ROOT`` letters stay."""
    for head in ARABIC_HEADS:
        if word.startswith(head) and len(word) - len(head) >= MIN_ROOT:
            word = word[len(head) :]
            break
    for _ in range(2):
        tail = next((tail for tail in _ARABIC_TAILS if word.endswith(tail) and len(word) - len(tail) >= MIN_ROOT), "")
        word = word[: len(word) - len(tail)]
    return word


def akin(word: str, other: str) -> bool:
    """Whether two folded tokens are forms of one word, as far as spelling says: the same stem, endings of a few letters.

    Needs no list of endings, so that it works where there is none; derived words (Islam, Islamist) count as akin.

    Args:
        word: of the answer; it loses at most ``MAX_ENDING`` letters and keeps ``MIN_STEM``.
        other: of the question; what follows the stem is at most ``MAX_OTHER_ENDING`` letters.
    """
    if word == other:
        return True
    if word[0] != other[0] and not "\u0600" <= word[0] <= "\u06ff":
        return False
    if word.isdigit() or other.isdigit() or is_spaceless(word):
        return False
    if "\u0600" <= word[0] <= "\u06ff":
        return len(word) >= MIN_ROOT and _arabic_root(word) == _arabic_root(other)
    same = next((at for at, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))
    if len(word) == same < MIN_STEM:  # car, cars
        return same >= MIN_ROOT and len(other) - same <= MAX_ENDING
    return same >= MIN_STEM and len(word) - same <= MAX_ENDING and len(other) - same <= MAX_OTHER_ENDING
