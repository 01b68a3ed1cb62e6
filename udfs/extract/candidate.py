"""A candidate question, and the row that it becomes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from schemas.contract import AnswerContract
from schemas.ids import canonical_json, content_id, text_hash

BLANK = "____"
MAX_DISTRACTORS = 6
_SPACE = re.compile(r"\s+")
_NOT_WORD = re.compile(r"[^\w%$£€°]+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question with the place of its answer; ``rank`` orders candidates of a kind, lower is better."""

    kind: str
    subject: str
    question: str
    answer: tuple[int, int]
    evidence: tuple[int, int]
    contract: AnswerContract
    pattern: str
    distractors: tuple[str, ...] = ()
    reason: str | None = None
    rank: int = 0

    def reject(self, reason: str) -> Candidate:
        """The same with a filter's name, unless one rejected it before."""
        return self if self.reason else replace(self, reason=reason)

    def row(self, text: str, domain: str) -> dict[str, Any]:
        """The columns of silver.qa that an engine knows."""
        start, end = self.evidence
        return {
            "kind": self.kind,
            "subject": self.subject,
            "question": self.question,
            "answer": text[self.answer[0] : self.answer[1]],
            "answer_type": self.contract.type,
            "contract": self.contract.canonical(),
            "evidence_start": start,
            "evidence_end": end,
            "evidence_hash": text_hash(text[start:end]),
            "answer_start": self.answer[0],
            "answer_end": self.answer[1],
            "pattern": self.pattern,
            "distractors": canonical_json(list(self.distractors[:MAX_DISTRACTORS])),
            "domain": domain,
            "filter_reason": self.reason,
        }


def one_line(text: str) -> str:
    """White space collapsed."""
    return _SPACE.sub(" ", text).strip()


def normal(text: str) -> str:
    """Words alone, in lower case: the form in which questions and answers are compared."""
    return _NOT_WORD.sub(" ", text.casefold()).strip()


def pattern_id(kind: str, *parts: str) -> str:
    """Hash of what is asked, with the answer left out: equal patterns with unequal answers are ambiguous."""
    return content_id("pattern", kind, *(normal(part) for part in parts))


def dotted_pattern_id(kind: str, *parts: str) -> str:
    """The same for names of code, in which case and punctuation matter."""
    return content_id("pattern", kind, *parts)


def text_contract(gold: str, *aliases: str) -> AnswerContract:
    """A text answer; aliases equal to the gold, empty or repeated are left out."""
    kept = [alias for alias in dict.fromkeys(aliases) if alias and alias != gold]
    return AnswerContract(type="text", gold=gold, aliases=tuple(kept))


def number_contract(gold: str, unit: str | None = None) -> AnswerContract:
    """An exact number, with the unit that the text gives."""
    return AnswerContract(type="number", gold=gold, unit=unit)
