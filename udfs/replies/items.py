"""What a reply holds: every item of it becomes one row of silver.qa, also one that cannot be read as an item (law 1)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from pydantic import ValidationError

from schemas.contract import AnswerContract, AnswerType
from schemas.ids import canonical_json, content_id, text_hash

#: Why an item is no candidate; admission turns these into verdicts.
MALFORMED = "malformed"
REPEATED = "repeated_item"
#: Kind of a candidate whose answer is worked out from numbers of its evidence: it has no place of its own there, so its place is all of it.
COMPUTED = "computed_number"

#: Columns of silver.qa that come with the reply, not with the item.
CARRIED = ("ingest_id", "doc_id", "cluster_id", "split", "request_hash", "engine", "template")

_TEXTS = (
    "kind", "subject", "question", "answer", "answer_type", "contract", "evidence_hash", "pattern", "distractors", "domain",
)  # fmt: skip
_OFFSETS = ("evidence_start", "evidence_end", "answer_start", "answer_end")
#: Code points kept of an item that is none.
_KEPT = 2000


def qa_rows(reply: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of silver.qa, one an item of the reply, in its order.

    A reply that is no JSON list counts as one malformed item, so that it shows up where people look.
    """
    if reply["reply"] is None:
        return []
    try:
        items = json.loads(reply["reply"], parse_constant=_refuse)
    except (ValueError, RecursionError):
        items = None
    carried = {name: reply[name] for name in CARRIED}
    return told_apart(
        item_row(carried, item, ordinal) for ordinal, item in enumerate(items if isinstance(items, list) else [reply["reply"]])
    )


def told_apart(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same rows; one that an earlier one equals gets an id of its own and is no candidate."""
    kept: dict[str, dict[str, Any]] = {}
    for ordinal, row in enumerate(rows):
        if row["qa_id"] in kept:
            row |= {"qa_id": content_id(REPEATED, row["qa_id"], ordinal), "filter_reason": REPEATED}
        kept[row["qa_id"]] = row
    return list(kept.values())


def item_row(carried: Mapping[str, Any], item: Any, ordinal: int) -> dict[str, Any]:
    """The row of silver.qa of one item.

    Args:
        carried: ``CARRIED`` of its document and reply.
        item: what the engine proposed.
        ordinal: its place in the reply, which names it where it is no candidate.
    """
    return {**carried, **(_item(carried["doc_id"], item) or _malformed(carried["request_hash"], ordinal, item))}


def _item(doc_id: str, item: Any) -> dict[str, Any] | None:
    """The item as columns, None where it lacks one, or one is of another type."""
    if not isinstance(item, dict) or not all(isinstance(item.get(name), str) for name in _TEXTS):
        return None
    if not all(type(item.get(name)) is int and 0 <= item[name] < 2**62 for name in _OFFSETS):
        return None
    reason = item.get("filter_reason")
    if item["answer_type"] not in get_args(AnswerType) or not (reason is None or isinstance(reason, str)):
        return None
    try:
        contract = AnswerContract.model_validate_json(item["contract"])
    except ValidationError:
        return None
    names = (*_TEXTS, *_OFFSETS)
    qa_id = content_id(doc_id, item["kind"], item["question"], item["answer"], item["evidence_start"])
    return {name: item[name] for name in names} | {"qa_id": qa_id, "filter_reason": reason, "contract": contract.canonical()}


def _malformed(request_hash: str, ordinal: int, item: Any) -> dict[str, Any]:
    """A row that keeps the item's text as its question, and says what it is."""
    text = item if isinstance(item, str) else canonical_json(item)
    empty = dict.fromkeys(_TEXTS, "") | dict.fromkeys(_OFFSETS, 0)
    return empty | {
        "qa_id": content_id(MALFORMED, request_hash, ordinal),
        "kind": MALFORMED,
        "question": text[:_KEPT],
        "answer_type": "text",
        "contract": "{}",
        "evidence_hash": text_hash(""),
        "distractors": "[]",
        "filter_reason": MALFORMED,
    }


def _refuse(constant: str) -> None:
    msg = f"{constant} is no JSON"
    raise ValueError(msg)
