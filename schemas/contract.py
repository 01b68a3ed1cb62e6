"""The answer contract: what counts as a right answer, in a form that code can try."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from schemas.ids import canonical_json

AnswerType = Literal["number", "date", "text", "choice"]
FormatRule = Literal["json", "one_word", "unit"]

#: Grades an answer may get (R§7.4). ``unparsable_pred`` is the candidate's fault (reward 0), ``unparsable_gold`` ours (null).
Verdict = Literal["correct", "incorrect", "partial", "unparsable_gold", "unparsable_pred", "timeout", "error", "skipped"]


class AnswerContract(BaseModel):
    """Type, gold and latitude of one answer.

    Attributes:
        type: number (with ``unit`` and ``tolerance``), date, text (with ``aliases``) or choice (with ``options``).
        gold: the right answer; for a choice the letter.
        unit: unit that a numeric answer must carry or may leave out, never contradict; None where it has none.
        tolerance: absolute tolerance of a number, in ``unit``; 0 means exact as a decimal.
        aliases: further right answers of a text.
        options: texts of a choice in order of their letters A, B, C ...
        format: an additional constraint on the form of the response, graded as a reward of its own.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: AnswerType
    gold: str = Field(min_length=1)
    unit: str | None = None
    tolerance: float = Field(default=0.0, ge=0.0)
    aliases: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    format: FormatRule | None = None

    def canonical(self) -> str:
        """The one JSON spelling of this contract, as stored in the tables."""
        return canonical_json(self.model_dump(mode="json"))
