"""Spoiled items, made from good ones: what the probes must reject. Canaries for a check, and the tests' measure of it.

Every kind is made by rules that know nothing of the probe that should catch it. The choice among several ways derives from the item's id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from schemas.ids import seed_from, text_hash
from udfs.probes.contracts import infer_type
from udfs.probes.evidence import in_number, value_of
from udfs.probes.number_words import numbers
from udfs.probes.spelling import spell
from udfs.text.charclass import SPACELESS
from udfs.text.normalise import normalise
from udfs.text.tokens import token_spans

Row = Mapping[str, Any]

#: Where an answer is put into a question.
_PLACES = ("{question} ({answer})", "{answer}: {question}", "{question} – {answer}", "{question} \u00ab{answer}\u00bb")
#: Endings that the last word of an answer gets instead of the letters named: (language, letters that go, what comes).
_ENDINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "en": (("", "s"), ("", "'s"), ("e", "es")), "de": (("", "s"), ("e", "en"), ("", "en")), "nl": (("", "s"), ("", "en")), "es": (("o", "os"), ("a", "as"), ("", "es")),
    "pt": (("o", "os"), ("a", "as"), ("", "s")), "it": (("o", "i"), ("a", "e"), ("e", "i")), "fr": (("", "s"), ("", "e")),
    "ro": (("", "ul"), ("a", "ei"), ("", "lor"), ("e", "ii")), "ru": (("а", "ы"), ("ий", "ого"), ("", "ом"), ("ь", "и"), ("я", "ю")),
    "el": (("ος", "ου"), ("α", "ας"), ("η", "ης"), ("ο", "ου"), ("ς", "")), "tr": (("", "'nin"), ("", "lar"), ("", "da")),
    "hi": (("ा", "े"), ("ी", "ियों"), ("", "ों")), "ar": (("", "ات"), ("ة", "ات"), ("", "ين")),
}  # fmt: skip
#: What Arabic writes before a word.
_ARABIC_HEADS = ("و", "ب", "ال")
_SHIFTS = (1, -1, 2, -2, 3, 5, -5, 9)
_WORD = re.compile(r"[^\W\d_]{4,}\Z")
_DIGITS = re.compile(r"(?<![\w.,-])\d{1,2}(?![\d.,]|\w)")


def _pick(row: Row, kind: str, choices: Sequence[Any]) -> Any:
    return choices[seed_from("spoil", kind, row.get("id"), row["question"]) % len(choices)]


def _asked(row: Row, kind: str, answer: str) -> dict[str, Any]:
    question = _pick(row, kind, _PLACES).format(question=row["question"], answer=answer)
    return {**row, "question": question}


def answer_altered(row: Row) -> dict[str, Any] | None:
    """Another answer, one digit or letter away, which the context does not hold."""
    answer, context = str(row["answer"]), normalise(row["context"])
    places = [at for at, char in enumerate(answer) if char.isalnum()]
    letters = sorted({char for char in row["context"] if char.isalpha()})
    for turn in range(len(places)):
        at = places[(turn + _pick(row, "altered", range(len(places)))) % len(places)]
        old = answer[at]
        if old.isdecimal():
            new = str((int(old) + 1 + _pick(row, "digit", range(8))) % 10)
        else:
            new = letters[(letters.index(old) + 1) % len(letters)] if old in letters else "x"
        changed = answer[:at] + new + answer[at + 1 :]
        if normalise(changed) not in context and normalise(changed) != normalise(answer):
            return {**row, "answer": changed}
    return None


def offset_shifted(row: Row) -> dict[str, Any] | None:
    """The offset a few code points away, where the answer does not begin."""
    start, answer, context = row.get("answer_start"), str(row["answer"]), row["context"]
    if start is None:
        return None
    first = _pick(row, "shift", range(len(_SHIFTS)))
    for turn in range(len(_SHIFTS)):
        at = start + _SHIFTS[(first + turn) % len(_SHIFTS)]
        if 0 <= at < len(context) and not normalise(context[at:]).startswith(normalise(answer)):
            return {**row, "answer_start": at}
    return None


def hash_of_other(row: Row) -> dict[str, Any] | None:
    """The hash of another span of the context."""
    spans = token_spans(row["context"])
    if not spans:
        return None
    begin, end = _pick(row, "hash", spans)
    other = row["context"][begin:end]
    return None if other == row["answer"] else {**row, "evidence_hash": text_hash(other)}


def answer_verbatim(row: Row) -> dict[str, Any] | None:
    """The answer in the question, word for word."""
    return _asked(row, "verbatim", str(row["answer"]))


def answer_inflected(row: Row) -> dict[str, Any] | None:
    """The answer in the question, its last word in another form; of languages that have forms, and of words of four letters and more."""
    *before, last = str(row["answer"]).split() or [""]
    endings = _ENDINGS.get(row.get("language") or "", ())
    fitting = [(gone, comes) for gone, comes in endings if last.endswith(gone) and len(last) - len(gone) >= 4]
    if not _WORD.match(last) or not fitting or any(_is_spaceless(char) for char in last):
        return None
    gone, comes = _pick(row, "ending", fitting)
    form = last[: len(last) - len(gone)] + comes
    if row.get("language") == "ar" and _pick(row, "head", (True, False)) and not last.startswith(_ARABIC_HEADS):
        form = _pick(row, "head", _ARABIC_HEADS) + last
    return None if normalise(form) == normalise(last) else _asked(row, "inflected", " ".join([*before, form]))


def _is_spaceless(char: str) -> bool:
    return any(low <= ord(char) <= high for low, high in SPACELESS)


def number_word_for_digits(row: Row) -> dict[str, Any] | None:
    """The answer in the question, its one number in words instead of digits."""
    answer = str(row["answer"])
    found = _DIGITS.findall(answer)
    if len(found) != 1 or len(re.findall(r"\d+", answer)) != 1:
        return None
    spelt = spell(int(found[0]), row.get("language"))
    return None if spelt is None else _asked(row, "in_words", _DIGITS.sub(lambda _: spelt, answer))


def digits_for_number_word(row: Row) -> dict[str, Any] | None:
    """The answer in the question, its one number in digits instead of words; of answers that are a number word, with a unit perhaps."""
    answer, language = str(row["answer"]), row.get("language")
    found = numbers(answer, language)
    if any(char.isdigit() for char in answer) or len(found.stated) != 1 or not found.stated[0].in_words or found.stated[0].ambiguous:
        return None
    spelt = [span for span in _stretches(answer) if value_of(answer[slice(*span)], language) == (found.stated[0].values[0], ())]
    if not spelt:
        return None
    begin, end = max(spelt, key=lambda span: (span[1] - span[0], -span[0]))
    return _asked(row, "in_digits", f"{answer[:begin]}{found.stated[0].values[0]}{answer[end:]}")


def _stretches(text: str) -> list[tuple[int, int]]:
    spans = token_spans(text)[:24]
    return [(begin, end) for at, (begin, _) in enumerate(spans) for _, end in spans[at:]]


def answer_swapped(row: Row) -> dict[str, Any] | None:
    """Another span of the same context and type for an answer: grounded, and (nearly always) wrong. No probe of one item can tell."""
    answer, context = str(row["answer"]), row["context"]
    spans, size = token_spans(context), max(1, len(token_spans(answer)))
    kind, first = infer_type(answer), answer[:1]
    found = []
    for at in range(len(spans) - size + 1):
        begin, end = spans[at][0], spans[at + size - 1][1]
        other = context[begin:end]
        if in_number(context, begin, end):  # of a script whose digits are tokens
            continue
        alike = other[:1].isupper() == first.isupper() and other[:1].isdigit() == first.isdigit() and infer_type(other) == kind
        if alike and normalise(other) not in normalise(answer) and normalise(answer) not in normalise(other):
            found.append((begin, other))
    if not found:
        return None
    start, other = _pick(row, "swap", found)
    return {**row, "answer": other, **({"answer_start": start} if row.get("answer_start") is not None else {})}


#: Kind -> what makes a row of it, or None of a row of which none can be made.
SPOILERS: dict[str, Callable[[Row], dict[str, Any] | None]] = {
    spoiler.__name__: spoiler
    for spoiler in (
        answer_altered, offset_shifted, hash_of_other, answer_verbatim, answer_inflected, number_word_for_digits, digits_for_number_word, answer_swapped,
    )
}  # fmt: skip
#: Kinds that a check of the item alone must reject.
TELLABLE = tuple(kind for kind in SPOILERS if kind != "answer_swapped")


def spoil(row: Row, kind: str) -> dict[str, Any] | None:
    """A spoiled copy of a row.

    Args:
        row: fields ``id, question, answer, context``, and ``answer_start``, ``language`` where it has them.
        kind: of ``SPOILERS``.

    Returns:
        The row with what is spoiled replaced; None where the kind does not apply to it.
    """
    return SPOILERS[kind](row)
