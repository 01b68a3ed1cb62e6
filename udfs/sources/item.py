"""One item of a source, whatever set it came from: what is asked, the gold, and the contract that grades it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from schemas.code import CodeContract
from schemas.contract import AnswerContract
from udfs.decontamination.items import Item

#: What a task stands on, beside ``corpus`` and ``constraint``; gold.tasks.source_kind.
SourceKind = Literal["benchmark", "generator", "conversation", "safety", "format"]
#: silver.qa.engine of candidates that no conversion proposed; admission has rules of its own for both.
ADAPTER, GENERATOR = "adapter", "generator"
ENGINES = frozenset({ADAPTER, GENERATOR})
SOURCE_KINDS = frozenset(get_args(SourceKind))


class RecordError(Exception):
    """A record that is no item of its format: reason code of bronze.rejects, and what is wrong in words."""

    def __init__(self, reason: Literal["no_text", "bad_value"], detail: str) -> None:
        super().__init__(detail)
        self.reason: Literal["no_text", "bad_value"] = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class SourceItem:
    """One item.

    Attributes:
        kind: kind of question, the task type of its task.
        question: what is asked, with its lines; of code what the candidate is given.
        answer: the gold as the source spells it; of code the reference program. May be empty where ``refused``.
        contract: what grades it; None where ``refused``.
        subject: what it is about, in few words; may be empty.
        domain: topic; the source's name where empty.
        stage: curriculum stage, 1 to 3.
        solution: worked solution; empty where there is none.
        tests: of code, as text.
        asked: the question as the set gives it, where the task's differs; empty where it does not.
        refused: why this item cannot become a task, a reason code; None where it can be tried.
        ident: its own id in its set; empty where it has none.
    """

    kind: str
    question: str
    answer: str = ""
    contract: AnswerContract | CodeContract | None = None
    subject: str = ""
    domain: str = ""
    stage: int = 2
    solution: str = ""
    tests: str = ""
    asked: str = ""
    refused: str | None = None
    ident: str = ""

    @property
    def options(self) -> tuple[str, ...]:
        """Options of a choice in order; empty where it is none."""
        return self.contract.options if isinstance(self.contract, AnswerContract) else ()

    @property
    def answer_type(self) -> str:
        """As gold.tasks names it: the contract's type; ``none`` where the item is refused."""
        return self.contract.type if self.contract is not None else "none"

    def as_benchmark(self, item_id: str) -> Item:
        """The item as one that must not be trained on.

        Args:
            item_id: its id within the set.
        """
        answer, solution = ("", self.answer) if self.tests else (self.answer, self.solution)
        return Item(item_id, self.asked or self.question, answer, solution, self.options, self.tests)


def text_of(value: Any, name: str) -> str:
    """A field as text: numbers as they print; anything else is no text.

    Raises:
        RecordError: it is neither text nor a number.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise RecordError("bad_value", f"field {name!r} holds {type(value).__name__}, not text")


def first(record: Mapping[str, Any], *names: str) -> tuple[str, Any]:
    """Name and value of the first of some fields that is there and not null.

    Raises:
        RecordError: none is.
    """
    for name in names:
        if record.get(name) is not None:
            return name, record[name]
    there = ", ".join(sorted(map(str, record))[:8]) or "none"
    raise RecordError("no_text", f"no field {' or '.join(map(repr, names))}; there are: {there}")


def needed(record: Mapping[str, Any], *names: str) -> str:
    """The text of the first of some fields that is there.

    Raises:
        RecordError: none is, or it is no text or empty.
    """
    name, value = first(record, *names)
    found = text_of(value, name)
    if not found.strip():
        raise RecordError("no_text", f"field {name!r} is empty")
    return found


def wanted(record: Mapping[str, Any], *names: str) -> str:
    """The text of the first of some fields that holds text or a number; empty where none does."""
    held = (record.get(name) for name in names)
    return next((str(value) for value in held if isinstance(value, (str, int, float)) and not isinstance(value, bool)), "")


def texts_of(value: Any, name: str) -> tuple[str, ...]:
    """A field as a list of texts.

    Raises:
        RecordError: it is no list, or one of its values is no text.
    """
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise RecordError("bad_value", f"field {name!r} holds {type(value).__name__}, not a list")
    return tuple(text_of(part, name) for part in value)
