"""Whether a response is copied from its prompt.

Copied means: nearly all of a long response lies in runs of words that stand in the prompt as well. Short answers taken
from an open-book passage or from an option are what was asked for, and quoting the passage before answering is reasoning;
so options are left out, responses below a length are never called copied, and a passage must be all there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from udfs.text.tokens import tokens

#: Words (code points in scripts without spaces) in a row that two texts hardly share by chance.
RUN = 8
#: Responses of fewer words are answers, however they came about.
MIN_WORDS = 16
#: Share of copied words from which a response is a copy of the instruction or the question.
COPIED_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Source:
    """What can be copied: the runs of a prompt, prepared once for a group."""

    instruction: frozenset[tuple[str, ...]]
    passage: frozenset[tuple[str, ...]]

    @classmethod
    def of(cls, text: str, context: str | None, options: Sequence[str] = ()) -> Source:
        """From a prompt's text, the passage quoted in it, and its options."""
        rest = text.replace(context, " ", 1) if context else text
        for option in options:
            if len(tokens(option)) >= RUN:  # shorter ones make no run, and might be parts of words
                rest = rest.replace(option, " ")
        return cls(_runs(tokens(rest)), _runs(tokens(context or "")))


def _runs(words: Sequence[str]) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1))


def _covered(words: Sequence[str], runs: frozenset[tuple[str, ...]]) -> int:
    """Words that lie in a run of ``runs``."""
    count, until = 0, 0
    for start in range(len(words) - RUN + 1):
        if tuple(words[start : start + RUN]) in runs:
            count += start + RUN - max(start, until)
            until = start + RUN
    return count


def copied_share(response: str, source: Source) -> float | None:
    """Share of the response's words that are copied where it is a copy; None where it is none.

    A copy is a response of at least MIN_WORDS words of which COPIED_SHARE stand in runs of the instruction and question, or
    all in runs of the passage.
    """
    words = tokens(response)
    if len(words) < MIN_WORDS:
        return None
    asked = _covered(words, source.instruction) / len(words)
    if asked >= COPIED_SHARE:
        return asked
    return 1.0 if source.passage and _covered(words, source.passage) == len(words) else None
