"""The answer contract: what counts as a right answer, in a form that code can try."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from schemas.ids import canonical_json

AnswerType = Literal["number", "date", "text", "choice", "expression", "set", "interval", "list"]
FormatRule = Literal["json", "one_word", "unit"]

#: Grades an answer may get (R§7.4). ``unparsable_pred`` is the candidate's fault (reward 0), ``unparsable_gold`` ours (null).
Verdict = Literal["correct", "incorrect", "partial", "unparsable_gold", "unparsable_pred", "timeout", "error", "skipped"]


#: Fields added since the first contracts were stored, with their defaults.
_LATER = {"ordered": True}


class AnswerContract(BaseModel):
    """Type, gold and latitude of one answer.

    Attributes:
        type: number (with ``unit`` and ``tolerance``), date, text (with ``aliases``) or choice (with ``options``); mathematics in LaTeX or
            plain: expression (one value, formula or equation; what its notation says it is), set (finite, order and repetition do not
            count), interval (also unions, and inequalities that say the same), list (``ordered`` or not).
        gold: the right answer; for a choice the letter.
        unit: unit that a numeric answer must carry or may leave out, never contradict; None where it has none.
        tolerance: absolute tolerance of a number, in ``unit``; 0 means exact as a decimal. In mathematics: of every value in the answer.
        aliases: further right answers of a text or of mathematics.
        options: texts of a choice in order of their letters A, B, C ...
        format: an additional constraint on the form of the response, graded as a reward of its own.
        ordered: whether the order of a list counts; of no meaning elsewhere.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: AnswerType
    gold: str = Field(min_length=1)
    unit: str | None = None
    tolerance: float = Field(default=0.0, ge=0.0)
    aliases: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    format: FormatRule | None = None
    ordered: bool = True

    def canonical(self) -> str:
        """The one JSON spelling of this contract, as stored in the tables.

        Fields that came later are left out at their defaults: ids that hash older contracts stay as they are.
        """
        spelled = self.model_dump(mode="json")
        return canonical_json({name: value for name, value in spelled.items() if name not in _LATER or value != _LATER[name]})
