"""What a prompt asks for: its terms, its blank, the type of answer it expects, the form of response it wants."""

from __future__ import annotations

import re
from dataclasses import dataclass

from udfs.reader.words import STOP_WORDS, WORD, stem, terms

BLANK = re.compile(r"_{3,}")

#: Kinds of answer and the wording that asks for them.
ASKS: dict[str, re.Pattern[str]] = {
    "date": re.compile(r"\b(?:date|when|year|month|day)\b", re.IGNORECASE),
    "number": re.compile(
        r"\b(?:how (?:many|much|long|far|tall|high|old|deep|heavy|wide|large)|number|amount|percentage|quantity)\b", re.IGNORECASE
    ),
    "name": re.compile(r"\b(?:who|whom|whose|name|person|place|where)\b", re.IGNORECASE),
    "version": re.compile(r"\bversion\b", re.IGNORECASE),
    "default": re.compile(r"\bdefault\b", re.IGNORECASE),
    "base": re.compile(r"\b(?:base|bases|subclass|inherits?|derived?)\b", re.IGNORECASE),
    "object": re.compile(r"\b(?:function|method|class|attribute|module|property|exception)\b", re.IGNORECASE),
}

#: Wording of a prompt that bears on the form of the response.
CUES: dict[str, re.Pattern[str]] = {
    "json": re.compile(r"\bjson\b", re.IGNORECASE),
    "unit": re.compile(r"\bunits?\b", re.IGNORECASE),
    "reason": re.compile(r"\b(?:reason(?:ing)?|explain|step by step|think|why)\b", re.IGNORECASE),
    "answer_line": re.compile(r"\bAnswer:"),
    "one_word": re.compile(r"\b(?:one|single) word\b", re.IGNORECASE),
    "only": re.compile(r"\bonly\b|\bnothing (?:else|more)\b", re.IGNORECASE),
}
_UNIT = re.compile(r"\bunits?\b\W{0,3}(?:of |is |in )?[\"'`(\u201c]*([^\s\"'`),.;:\u201d]{1,20})")


@dataclass(frozen=True)
class Prompt:
    """One prompt as a policy meets it.

    Attributes:
        prompt_id: gold.prompts.
        system, text: the messages.
        question: the question within ``text``, without instructions.
        subject: what it is about.
        context: quoted passage of an open-book prompt, else None.
        options: options of a choice in order, else empty.
    """

    prompt_id: str
    system: str
    text: str
    question: str
    subject: str
    context: str | None = None
    options: tuple[str, ...] = ()

    @property
    def rendered(self) -> str:
        """The prompt as one text: system message, blank line, user message."""
        return f"{self.system}\n\n{self.text}" if self.system else self.text


@dataclass(frozen=True)
class Question:
    """A prompt, taken apart.

    Attributes:
        terms: distinct content terms of question and subject, sorted.
        left, right: stems of up to three words before and after the blank, nearest first; empty where there is none.
        asks: which of ``ASKS`` it wants.
        cues: which of ``CUES`` and ``choice`` the prompt's text holds.
        unit: the unit the prompt names, else None.
    """

    terms: tuple[str, ...]
    left: tuple[str, ...]
    right: tuple[str, ...]
    has_blank: bool
    asks: frozenset[str]
    cues: frozenset[str]
    unit: str | None

    @classmethod
    def read(cls, prompt: Prompt) -> Question:
        """Take a prompt apart; what the form of the response shall be is said outside question, options and quoted context."""
        instructions = prompt.text
        for quoted in (prompt.context, prompt.question, *prompt.options):
            instructions = instructions.replace(quoted, " ") if quoted else instructions
        cues = {name for name, pattern in CUES.items() if pattern.search(f"{prompt.system}\n{instructions}")}
        if prompt.options:
            cues.add("choice")
        parts = BLANK.split(prompt.question, maxsplit=1)
        plain = BLANK.sub(" ", prompt.question)
        unit = _UNIT.search(instructions)
        return cls(
            terms=tuple(sorted({t for t in terms(f"{prompt.subject}\n{plain}") if t not in STOP_WORDS})),
            left=tuple(reversed(_stems(parts[0])[-3:])) if len(parts) > 1 else (),
            right=tuple(_stems(parts[1])[:3]) if len(parts) > 1 else (),
            has_blank=len(parts) > 1,
            asks=frozenset(name for name, pattern in ASKS.items() if pattern.search(plain)),
            cues=frozenset(cues),
            unit=unit.group(1) if unit else None,
        )


def _stems(text: str) -> list[str]:
    return [stem(match.group()) for match in WORD.finditer(text)]
