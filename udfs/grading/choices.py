"""Answers to multiple choice: a letter, a letter with its text, or the text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from udfs.grading.texts import is_code_like, normalise_code, normalise_text

_ONLY_LETTER = re.compile(r"\A(?:[Oo]ption\s+|[Cc]hoice\s+)?[(\[]?([A-Za-z])[)\].:]{0,2}\Z")
_LETTER_TEXT = re.compile(
    r"\A(?:[Oo]ption\s+|[Cc]hoice\s+)?(?:[(\[]([A-Za-z])[)\]][.:]?|([A-Za-z])[.):]|([A-Z])\s+[-\u2013])\s+(\S.*)\Z", re.DOTALL
)
_LETTER_BRACKET = re.compile(r"\A(?:[Oo]ption\s+|[Cc]hoice\s+)?([A-Z])\s*\((\S.*)\)\.?\Z", re.DOTALL)
_MARKED = re.compile(r"[(\[]([A-Z])[)\]]|(?<![\w'.])([A-Z])(?=[).:,;/]|\Z)|(?:[Oo]ption|[Cc]hoice)\s+([A-Z])\b")
_ALONE = re.compile(r"(?<![\w'.])([B-HJ-Z])(?![\w'])|(?<![\w'.])([AI])(?=\s+(?:and|or|is)\b|\s*[/&,])|(?:and|or|not|is)\s+([A-Z])(?![\w'])")
# "A (123)", "A 123": an article stands before words, never before a bracket or a number.
_FIRST = re.compile(r"\A([A-Z])(?=\s*\(|\s+[-+$\u20ac\u00a3]?\d)")
_DENIES = re.compile(r"\b(?:not|never|neither|except|isn't|wasn't)\b", re.IGNORECASE)

ChoiceVerdict = Literal["chosen", "multiple_options", "contradictory", "unparsable_pred"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen: a letter only where the verdict is ``chosen``."""

    verdict: ChoiceVerdict
    letter: str | None = None


def same_option(option: str, text: str) -> bool:
    """Whether a text is this option: as code where the option is code, else as words."""
    return normalise_code(text) == normalise_code(option) if is_code_like(option) else normalise_text(text) == normalise_text(option)


def well_formed(gold: str, options: tuple[str, ...]) -> bool:
    """Whether a contract of this type can be graded: the gold is a letter of the options, which are pairwise different."""
    if len(gold) != 1 or not "A" <= gold <= "Z" or len(options) > 26:
        return False
    if options and ord(gold) - 65 >= len(options):
        return False
    return not any(same_option(a, b) or same_option(b, a) for i, a in enumerate(options) for b in options[:i])


def _named_options(answer: str, options: tuple[str, ...]) -> set[str]:
    """Letters of the options whose text occurs in the answer as whole words; one inside another's occurrence does not count."""
    folded = normalise_text(answer)
    spans: list[tuple[int, int, str]] = []
    for i, option in enumerate(options):
        key = normalise_text(option)
        found = re.finditer(rf"(?<!\w){re.escape(key)}(?!\w)", folded) if key else ()
        spans.extend((match.start(), match.end(), chr(65 + i)) for match in found)
    return {c for a, b, c in spans if not any(x <= a and b <= y and (x, y) != (a, b) for x, y, _ in spans)}


def choose(answer: str, options: tuple[str, ...]) -> Choice:
    """Which option an answer names.

    Naming two options is ``multiple_options``; a letter with another option's text is ``contradictory``.

    Args:
        answer: the candidate's answer, bounded by the caller.
        options: texts in order of their letters; empty where the contract keeps none (then any letter counts).
    """
    valid = {chr(65 + i) for i in range(len(options) or 26)}
    text = answer.strip().strip("*_`\"'").strip()
    if only := _ONLY_LETTER.match(text):
        letter = only.group(1).upper()
        return Choice("chosen", letter) if letter in valid else Choice("unparsable_pred")
    first = _FIRST.match(text)
    exact = [chr(65 + i) for i, option in enumerate(options) if text == option.strip() or (first is None and same_option(option, text))]
    if len(exact) == 1:
        return Choice("chosen", exact[0])
    pair = _LETTER_TEXT.match(text) or _LETTER_BRACKET.match(text)
    if pair and (letter := next(filter(None, pair.groups())).upper()) in valid:
        rest = pair.groups()[-1]
        if not options or same_option(options[ord(letter) - 65], rest):
            return Choice("chosen", letter)
        others = [c for c, option in zip(sorted(valid), options, strict=False) if c != letter and same_option(option, rest)]
        if others:
            return Choice("contradictory")
    marks = (*_MARKED.finditer(text), *_ALONE.finditer(text), *((first,) if first else ()))
    letters = {c for m in marks for c in m.groups() if c} & valid
    named = _named_options(text, options)
    if len(letters) > 1 or len(named) > 1:
        return Choice("multiple_options")
    if not letters | named or _DENIES.search(text):
        return Choice("unparsable_pred")
    if letters and named and letters != named:
        return Choice("contradictory")
    return Choice("chosen", min(letters | named))
