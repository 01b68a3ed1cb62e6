"""The checker's audit: labelled items that it is asked about blind, in calls that differ in nothing from those about real candidates."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from schemas.errors import VerilakeError, wrong_fields
from schemas.ids import canonical_json
from udfs.conversion.ask import Ask, Chain, Conversion, StageState, State
from udfs.conversion.asking import PASSED, asked
from udfs.conversion.prompts import shown_passage, stages_of
from udfs.conversion.readings import CHECK_VERDICTS, read_verdicts
from udfs.conversion.recipe import Recipe


class AuditItemError(VerilakeError):
    """A text that is no audit item."""

    exit_code = 3

    @classmethod
    def from_invalid(cls, error: ValidationError) -> AuditItemError:
        """Every field that is wrong."""
        return cls(f"audit item: {wrong_fields(error, 'item')}. An item has {', '.join(AuditItem.model_fields)}.")


class AuditItem(BaseModel):
    """A question whose verdict is known.

    Attributes:
        audit_id: names it in replies and reports; never shown to the checker.
        domain: for figures by domain; never shown.
        label: good where the checker should let it pass, bad where it should not.
        flaw: what is wrong with a bad one (answer_altered, answer_in_question ...); empty where nothing is.
        question, answer, passage: what the checker sees.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    audit_id: str = Field(min_length=1)
    domain: str = Field(min_length=1)
    label: Literal["good", "bad"]
    flaw: str = ""
    question: str = Field(min_length=1)
    answer: str = Field(min_length=1)
    passage: str = Field(min_length=1)

    @model_validator(mode="after")
    def _bad_ones_have_a_flaw(self) -> Self:
        if (self.label == "bad") is not bool(self.flaw):
            msg = "a bad item names its flaw, a good one has none"
            raise ValueError(msg)
        return self

    def to_json(self) -> str:
        """The item as canonical JSON."""
        return canonical_json(self.model_dump(mode="json"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The item of a JSON text.

        Raises:
            AuditItemError: it is none; every wrong field is named.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise AuditItemError.from_invalid(error) from None


def audit_ask(item: AuditItem, recipe: Recipe) -> Ask:
    """The call about an audit item: the stage, template, schema and sampling of a real check, and not a word that tells it from one.

    Args:
        item: its passage is shown whole.
        recipe: of the conversion whose checker is audited.
    """
    return stages_of(recipe).check(shown_passage(item.passage, None), item.question, item.answer, domain=item.domain)


def audit_chain(item: AuditItem, recipe: Recipe) -> Chain:
    """The chain of an audit item: the one call, asked once more where its reply cannot be read.

    Args:
        item: what is asked about.
        recipe: as for ``audit_ask``.

    Returns:
        A chain that ends in one state of the stage ``check``: passed, rejected with the checker's first objection, failed or unasked.
    """
    ask = audit_ask(item, recipe)
    (outcome,) = yield from asked([ask], [read_audit])
    verdict = outcome.value
    state: State = outcome.state if verdict is None or verdict == PASSED else "rejected"
    return Conversion((StageState("check", 0, state, verdict or outcome.reason, item.domain, None, ask.template.label),))


def read_audit(reply: str) -> str | None:
    """What the checker says: ``passed`` or the reason of its first objection, as in the chain; None where the reply is none."""
    return read_verdicts(reply, CHECK_VERDICTS)
