"""Whole numbers below a hundred, written out: for making items that give their number away in words."""

from __future__ import annotations

from functools import lru_cache

from udfs.probes.number_lexicon import WORDS

#: Between tens and ones: tens first, but for ``_ONES_FIRST``.
_BETWEEN = {
    "en": "-", "es": " y ", "pt": " e ", "it": "", "ro": " și ", "ru": " ", "el": " ", "tr": " ", "vi": " mươi ", "de": "und", "nl": "en", "ar": " و", "th": "สิบ",
    "zh": "十", "ja": "十",
}  # fmt: skip
_ONES_FIRST = frozenset({"de", "nl", "ar"})
#: Forms within a compound that differ from those of the number alone.
_ONES = {"de": {1: "ein"}, "vi": {1: "mốt", 5: "lăm"}, "th": {1: "เอ็ด"}, "nl": {1: "een"}}
#: Languages that say "three ten four"; one ten and two ten by exception.
_BY_TEN = {"vi": {1: "mười ", 2: "hai mươi "}, "th": {1: "สิบ", 2: "ยี่สิบ"}, "zh": {1: "十"}, "ja": {1: "十"}}


@lru_cache(maxsize=32)
def _table(language: str) -> dict[int, str]:
    entries = [entry.split() for entry in WORDS[language].replace("\n", "|").split("|")]
    return {int(entry[0]): entry[1] for entry in reversed(entries) if entry[0][0] != "*"}


def spell(value: int, language: str | None) -> str | None:
    """A number from 0 to 99 in words; None where we cannot.

    Args:
        value: the number.
        language: ISO 639-1.
    """
    if language not in WORDS or not 0 <= value < 100:
        return None
    table = _table(language)
    if value in table:
        return table[value]
    tens, one = divmod(value, 10)
    ones = _ONES.get(language, {}).get(one, table.get(one, ""))
    if language in _BY_TEN:
        head = _BY_TEN[language].get(tens) or f"{table[tens]}{_BETWEEN[language]}"
        return f"{head}{ones if one else ''}".strip()
    if language not in _BETWEEN or not ones or tens * 10 not in table:
        return None
    parts = (ones, table[tens * 10]) if language in _ONES_FIRST else (table[tens * 10], ones)
    return _BETWEEN[language].join(parts)
