"""From the replies about a document to what became of it: candidates for silver.qa, and a state at every stage for silver.conversions.

Nothing is asked and nothing is rendered here: the chain is driven again with what was recorded, and comes to the same end as in the worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from schemas.bronze.replies import REPLIES
from schemas.silver.conversions import CONVERSIONS
from schemas.silver.qa import QA
from udfs.conversion.ask import FAILED, UNASKED, Ask, Conversion, Document, Reply, StageState
from udfs.conversion.chain import convert
from udfs.conversion.drive import drive
from udfs.conversion.recipe import Recipe
from udfs.replies.items import CARRIED, item_row, qa_rows, told_apart
from udfs.replies.prices import FREE, Price, prices_of

#: Columns of bronze.replies that bear on the outcome.
_REPLIED = (
    "request_hash", "engine", "template", "draw", "reply", "failure_class", "prompt_tokens", "cached_tokens", "completion_tokens", "stage",
    "ordinal", "reask", "model", "n_items",
)  # fmt: skip
REPLIED = pa.struct([pa.field(name, REPLIES.schema.field(name).type) for name in _REPLIED])
_DOCUMENT = ("ingest_id", "doc_id", "cluster_id", "split", "source", "uri", "title", "text", "metadata")
#: A document with all that was replied about it, in any order.
ANSWERED = pa.schema([*(pa.field(name, pa.string()) for name in _DOCUMENT), pa.field("replies", pa.list_(pa.field("element", REPLIED)))])


def _struct(schema: pa.Schema) -> pa.DataType:
    return pa.list_(pa.field("element", pa.struct([pa.field(f.name, f.type, f.nullable) for f in schema]), nullable=False))


#: What became of it.
OUTCOMES = pa.schema(
    [
        pa.field("items", _struct(QA.schema), nullable=False),
        pa.field("states", _struct(CONVERSIONS.schema), nullable=False),
    ]
)

Row = dict[str, Any]


@dataclass(frozen=True)
class Pricing:
    """How replies are counted.

    Attributes:
        recipe: of the chain, None where only rules replied.
        prices: by the name of the model.
    """

    recipe: Recipe | None
    prices: Mapping[str, Price] = field(default_factory=dict)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Pricing:
        """From the settings of a plan, and the price table in force."""
        recipe = settings.get("recipe")
        return cls(None if recipe is None else Recipe.from_settings(recipe), prices_of(settings.get("prices")))

    def of(self, model: str | None) -> Price:
        """Price of a model, named with its revision."""
        return self.prices.get((model or "").rpartition("@")[0], FREE)


def outcome_batches(batches: Iterator[pa.RecordBatch], settings: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """``ANSWERED`` -> ``OUTCOMES``, one row a document.

    Args:
        batches: documents with their replies.
        settings: ``recipe`` and ``prices``, as in a plan.
    """
    pricing = Pricing.from_settings(settings)
    for batch in batches:
        made = [outcome(row, pricing) for row in batch.to_pylist()]
        yield pa.RecordBatch.from_pylist([{"items": items, "states": states} for items, states in made], schema=OUTCOMES)


def outcome(row: Mapping[str, Any], pricing: Pricing) -> tuple[list[Row], list[Row]]:
    """Rows of silver.qa and of silver.conversions of one document.

    Args:
        row: row of ``ANSWERED``.
        pricing: recipe and prices.
    """
    replies: Sequence[Mapping[str, Any]] = row["replies"]
    if pricing.recipe is None:
        return _extracted(row, replies)
    return _Replay(row, replies, pricing).outcome(pricing.recipe)


def _extracted(row: Mapping[str, Any], replies: Sequence[Mapping[str, Any]]) -> tuple[list[Row], list[Row]]:
    """The outcome of an engine by rules: one reply, or one failure."""
    last = max(replies, key=lambda reply: (reply["reply"] is not None, reply["draw"]))
    items = qa_rows({**{name: row[name] for name in CARRIED if name in row}, **last})
    reason = last["failure_class"] or ("passed" if last["n_items"] else "no_items")
    state = "failed" if last["failure_class"] else "passed" if last["n_items"] else "rejected"
    made = {**_of_document(row, "extract", 0, state, reason), "template": last["template"], "draws": len(replies)}
    return items, [made]


def _of_document(row: Mapping[str, Any], stage: str, ordinal: int, state: str, reason: str) -> Row:
    return {
        "ingest_id": row["ingest_id"], "doc_id": row["doc_id"], "stage": stage, "ordinal": ordinal, "state": state, "reason": reason,
        "domain": None, "persona": None, "qa_id": None, "template": None, "model": None, "draws": 0, "prompt_tokens": 0,
        "cached_tokens": 0, "completion_tokens": 0, "price_nanos": 0,
    }  # fmt: skip


class _Replay:
    """The replies of one document, by the place of the chain that they were given for."""

    def __init__(self, row: Mapping[str, Any], replies: Sequence[Mapping[str, Any]], pricing: Pricing) -> None:
        self._row, self._pricing = row, pricing
        self._spent = any(reply["failure_class"] == "budget" for reply in replies)
        self._drawn: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
        self._said: dict[tuple[str, int, int], Mapping[str, Any]] = {}
        for reply in sorted(replies, key=lambda reply: reply["draw"]):
            place = (reply["stage"], reply["ordinal"])
            if reply["model"] is not None:
                self._drawn.setdefault(place, []).append(reply)
            if reply["reply"] is not None:
                self._said.setdefault((*place, reply["reask"]), reply)

    def outcome(self, recipe: Recipe) -> tuple[list[Row], list[Row]]:
        """Rows of both tables."""
        row = self._row
        document = Document(row["doc_id"], row["source"], row["uri"], row["title"], row["text"], row["metadata"])
        made = drive(convert(document, recipe), self._answer)
        items = self._items(made)
        return items, [self._state(state, items) for state in made.states]

    def _answer(self, ask: Ask) -> Reply:
        said = self._said.get((ask.stage, ask.ordinal, ask.reask))
        if said is not None:
            return str(said["reply"])
        return UNASKED if self._spent else FAILED

    def _items(self, made: Conversion) -> list[Row]:
        """Candidates, each with the reply that proposed it."""
        ordinals = {state.item: state.ordinal for state in made.states if state.stage == "generate" and state.item is not None}
        rows = []
        for index, item in enumerate(made.items):
            proposed = next(said for reask in (1, 0) if (said := self._said.get(("generate", ordinals[index], reask))) is not None)
            carried = {**self._row, **{name: proposed[name] for name in ("request_hash", "engine", "template")}}
            rows.append(item_row({name: carried[name] for name in CARRIED}, item, index))
        return told_apart(rows)

    def _state(self, state: StageState, items: Sequence[Row]) -> Row:
        drawn = self._drawn.get((state.stage, state.ordinal), ())
        price = sum(
            self._pricing.of(reply["model"]).nanos(reply["prompt_tokens"], reply["completion_tokens"], reply["cached_tokens"] or 0)
            for reply in drawn
        )
        return {
            **_of_document(self._row, state.stage, state.ordinal, state.state, state.reason),
            "domain": state.domain,
            "persona": state.persona,
            "qa_id": None if state.item is None else items[state.item]["qa_id"],
            "template": state.template,
            "model": drawn[-1]["model"] if drawn else None,
            "draws": len(drawn),
            "prompt_tokens": sum(reply["prompt_tokens"] for reply in drawn),
            "cached_tokens": sum(reply["cached_tokens"] or 0 for reply in drawn),
            "completion_tokens": sum(reply["completion_tokens"] for reply in drawn),
            "price_nanos": price,
        }
