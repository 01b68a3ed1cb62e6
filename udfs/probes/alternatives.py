"""Questions that name their possible answers: "A or B?", "between A and B", yes or no."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from udfs.probes.words import find_words, is_spaceless, words

#: "or" by language; read in every language at once, for a question's language may be unknown.
_OR = {
    "en": "or", "de": "oder", "nl": "of", "fr": "ou", "es": "o u", "pt": "ou", "it": "o oppure", "ro": "sau ori", "ru": "или либо", "el": "ή είτε", "tr": "veya yoksa ya",
    "vi": "hay hoặc", "ar": "أو أم", "hi": "या अथवा", "th": "หรือ", "zh": "还是 還是 或 或者", "ja": "または それとも", "ko": "또는 아니면 혹은",
}  # fmt: skip
#: What frames alternatives joined by "and": "between the Broncos and Steelers"; and that "and".
_BETWEEN = {
    "en": "between", "de": "zwischen", "nl": "tussen", "fr": "entre", "es": "entre", "pt": "entre", "it": "tra fra", "ro": "dintre între", "ru": "между из", "el": "μεταξύ ανάμεσα",
    "tr": "arasında arasındaki arasındaydı", "vi": "giữa", "ar": "بين", "hi": "बीच", "th": "ระหว่าง", "zh": "之间 在", "ja": "間", "ko": "사이",
}  # fmt: skip
_AND = {
    "en": "and", "de": "und", "nl": "en", "fr": "et", "es": "y e", "pt": "e", "it": "e ed", "ro": "și şi", "ru": "и", "el": "και", "tr": "ve ile", "vi": "và", "ar": "و",
    "hi": "और", "th": "และ กับ", "zh": "和 与 與", "ja": "と", "ko": "와 과",
}  # fmt: skip
#: What offers no alternative although it begins like one: "or not".
_OR_NOT = {"th": "หรือไม่ หรือเปล่า", "zh": "在于 与否"}
_YES_NO = frozenset(
    "yes no true false ja nein nee oui non sí si no sim não sì da nu да нет ναι όχι evet hayır có không نعم لا हाँ हां नहीं ใช่ ไม่ ไม่ใช่ 是 否 不是 对 はい いいえ 예 네 아니요 아니오".split()  # noqa: SIM905 - a list of words reads better as words
)
#: Tokens between the joining word and an alternative behind it ("or did they remain X"), in scripts with spaces and without, and before it.
MAX_GAP, MAX_GAP_POINTS, MAX_GAP_BEFORE = 6, 6, 1


@lru_cache(maxsize=64)
def _table(kind: str, language: str | None) -> tuple[tuple[str, ...], ...]:
    table: Mapping[str, str] = {"or": _OR, "and": _AND, "between": _BETWEEN, "not": _OR_NOT}[kind]
    said = [table[language]] if language is not None and language in table else table.values()
    return tuple(sorted({words(word, language) for group in said for word in group.split()}))


def _places(kind: str, question: tuple[str, ...], language: str | None) -> list[tuple[int, int]]:
    not_these = {at for word in _table("not", language) for at in find_words(word, question)}
    return [(at, at + len(word)) for word in _table(kind, language) for at in find_words(word, question) if at not in not_these]


def named_as_alternative(question: tuple[str, ...], start: int, end: int, language: str | None) -> bool:
    """Whether what stands at tokens ``start`` to ``end`` of a question is one of the alternatives that it offers.

    Args:
        question: folded tokens.
        start: first token of the answer.
        end: behind its last one.
        language: of the question; None: joining words of every language count.
    """
    said = _places("or", question, language)
    if any(end <= at or behind <= start for at, behind in _places("between", question, language)):
        said += _places("and", question, language)
    joining = [(at, behind) for at, behind in said if behind <= start or end <= at]
    gap = MAX_GAP_POINTS if is_spaceless(question[start]) else MAX_GAP
    after = any(0 <= start - behind <= gap for _, behind in joining)
    before = any(0 <= at - end <= MAX_GAP_BEFORE for at, _ in joining)
    return after or before


def is_yes_no(answer: str) -> bool:
    """Whether an answer is a bare yes or no (true, false)."""
    return answer.strip(" .!\u3002\t\n").casefold() in _YES_NO
