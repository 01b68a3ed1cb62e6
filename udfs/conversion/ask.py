"""What the chain and whoever drives it say to each other.

The chain (``udfs.conversion.chain``) is a generator: it yields what it wants to ask, is sent the replies, and returns what became of
the document. A worker drives it with an engine; the job that takes replies in drives it again with the recorded ones and gets the
same result: nothing but the replies is ever stored between the two.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from udfs.prompts.templates import Template

#: Stages that ask a model, in their order.
AskingStage = Literal["filter", "identify", "generate", "check"]
#: Stages of silver.conversions: ``extract`` is the whole of an engine by rules; ``evidence`` is decided by code alone.
Stage = Literal["extract", "filter", "identify", "generate", "evidence", "check"]
State = Literal["passed", "rejected", "failed", "unasked"]

#: A reply's text. ``FAILED``: no reply came, however often the engine tried. ``UNASKED``: the budget was spent before it was asked.
Reply = str | Literal[0, 1]
FAILED: Literal[0] = 0
UNASKED: Literal[1] = 1


@dataclass(frozen=True, slots=True)
class Document:
    """A curated document; ``metadata`` is JSON."""

    doc_id: str
    source: str
    uri: str
    title: str | None
    text: str
    metadata: str = "{}"


@dataclass(frozen=True, slots=True)
class Ask:
    """One call of the chain. Its prompt is rendered only when somebody wants to see it: one who replays has no need.

    Attributes:
        stage: which stage asks.
        ordinal: which persona it is for, from 0; 0 in stages that know none.
        reask: 0, or 1 where the first reply could not be read.
        template: of the prompt.
        values: what fills its slots; corpus and model text is quoted already (``udfs.prompts.passages.quote``).
        schema: JSON schema that the reply must follow.
        max_tokens: at most so many are drawn.
        temperature: 0 is greedy.
        domain, persona: for metering, once they are known.
    """

    stage: AskingStage
    ordinal: int
    reask: int
    template: Template
    values: Mapping[str, str]
    schema: Mapping[str, Any]
    max_tokens: int
    temperature: float
    domain: str | None = None
    persona: str | None = None

    def messages(self) -> tuple[dict[str, str], ...]:
        """The chat that asks."""
        return (
            {"role": "system", "content": self.template.system.strip()},
            {"role": "user", "content": self.template.fill(self.values).strip()},
        )


@dataclass(frozen=True, slots=True)
class StageState:
    """What became of a document (or of one persona's candidate) at one stage.

    Attributes:
        stage, ordinal, state: as in silver.conversions.
        reason: ``passed``, or a code that says what ended it here (``not_self_contained``, ``reply:malformed`` ...).
        domain, persona: once known.
        template: label of the stage's template; None where code decided.
        item: index into ``Conversion.items`` of the candidate, in stages that have one.
    """

    stage: Stage
    ordinal: int
    state: State
    reason: str
    domain: str | None = None
    persona: str | None = None
    template: str | None = None
    item: int | None = None


@dataclass(frozen=True, slots=True)
class Conversion:
    """What became of one document.

    Attributes:
        states: one for every (stage, ordinal) that was reached, in order.
        items: candidates as rows with the columns of silver.qa that an engine knows (``udfs.replies.items``); one that the chain's own
            checks rejected carries ``filter_reason``.
    """

    states: tuple[StageState, ...]
    items: tuple[dict[str, Any], ...] = field(default=())


#: The chain of one document: yields calls that do not depend on each other, is sent one reply for each, in their order.
Chain = Generator[Sequence[Ask], Sequence[Reply], Conversion]
