"""Can a question be understood alone, or does it point at something that only its passage says?

Of 50 human questions read, 12 could not (E section 1): grounded and self-contained are two verdicts. What points back without a name before it
in the question is told by lists (:mod:`udfs.probes.reference_words`); in languages without one the answer is "unknown".
"""

from __future__ import annotations

import unicodedata
from itertools import pairwise

from udfs.probes.reference_words import CASELESS, REFERENCES, TOPIC_FIRST, References
from udfs.text.normalise import normalise
from udfs.text.tokens import token_spans, tokens

#: Words (code points in scripts without spaces) before a pointer, in scripts without capitals, among which there may be what it means.
FAR, FAR_POINTS = 4, 12
#: English pronouns that mean a noun of the same question unless they stand within so many words of its start.
_NEAR, NEAR = frozenset("they them their theirs its itself themselves these those".split()), 3  # noqa: SIM905 - a list of words reads better as words
_WHO = frozenset({"who", "whose", "whom", "someone", "person", "people", "one"})


def dangling(question: str, language: str | None) -> str | None:
    """The word of a question that points at something outside of it; empty where none does, None where nobody can tell.

    Args:
        question: as it stands: capitals show names.
        language: ISO 639-1.
    """
    references = REFERENCES.get(language or "")
    if references is None:
        return None
    if language in ("th", "zh", "ja"):
        return _spaceless(normalise(question), references)
    plain = unicodedata.normalize("NFKC", question)
    said = [plain[begin:end] for begin, end in token_spans(plain)]
    found = [word.casefold() for word in said]
    for at, word in enumerate(found):
        if word in references.passage and (not references.articles or (at and found[at - 1] in references.articles)):
            return word
        if (
            word in references.pointers
            and not _antecedent(said[:at], language or "")
            and not (language == "en" and _english(word, found[:at]))
        ):
            return word
    named = any(_is_name(word) for word in said[1:])
    if not named and references.articles:
        pairs = pairwise(found)
        return next((f"{article} {noun}" for article, noun in pairs if article in references.articles and noun in references.roles), "")
    return ""


def _is_name(word: str) -> bool:
    return word[0].isupper() or word[0].isdigit()


def _antecedent(before: list[str], language: str) -> bool:
    """Whether something before a pointer may be what it means: a capital or a number, in scripts without capitals enough words."""
    if language in CASELESS:
        return len(before) >= FAR or any(word[0].isdigit() for word in before)
    return any(_is_name(word) for word in (before if language in TOPIC_FIRST else before[1:]))


def _english(word: str, before: list[str]) -> bool:
    """Whether an English pronoun has its noun before it without a capital: "stratigraphers ... their data", "who ... his work"."""
    return (word in _NEAR and len(before) > NEAR) or bool(_WHO.intersection(before))


def _spaceless(question: str, references: References) -> str:
    for word in references.not_these:
        question = question.replace(word, "\0" * len(word))
    for word in sorted(references.passage):
        if word in question:
            return word
    places = sorted((question.find(word), word) for word in references.pointers if word in question)
    if places and len(tokens(question[: places[0][0]])) < FAR_POINTS:
        return places[0][1]
    return ""
