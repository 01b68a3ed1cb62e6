"""Rows of bronze.replies, as the programs of conversion make them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gpu_workers.programs.program import Clock, Item, Origin, Row
from schemas.handoff import RunPlan
from udfs.conversion.ask import Document

#: Stage of a row that says of a document that nothing was asked about it any more.
NOT_ASKED = "document"


def reply_row(plan: RunPlan, item: Item, origin: Origin, clock: Clock, **given: Any) -> Row:
    """A row with what belongs to run, item and worker, and ``given``; what is not given is empty."""
    return {
        "run_id": plan.run_id,
        "ingest_id": item["ingest_id"],
        "doc_id": item["doc_id"],
        "engine": plan.engine,
        "engine_version": str(plan.settings.get("engine_version", "")),
        "template": "",
        "draw": 0,
        "reply": None,
        "n_items": 0,
        "failure_class": None,
        "finish_reason": "error",
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "price": 0.0,
        "seconds": 0.0,
        "worker_id": origin.worker_id,
        "finished_at": clock(),
        "call_hash": None,
        "stage": NOT_ASKED,
        "ordinal": 0,
        "reask": 0,
        "model": None,
        "domain": None,
        "persona": None,
        "cached_tokens": None,
        **given,
    }


def known_of(plan: RunPlan, item: Item, recorded: Iterable[Row]) -> dict[str, Row]:
    """Replies and failures that are known of an item, by request hash: from earlier runs, and from earlier attempts at its shard."""
    of_item = {"run_id": plan.run_id, "ingest_id": item["ingest_id"], "doc_id": item["doc_id"]}
    earlier: Iterable[Mapping[str, Any]] = item["earlier"]
    return {row["request_hash"]: row for row in (*({**of_item, **row} for row in earlier), *recorded)}


def draws_of(known: Mapping[str, Row], request: Callable[[int], str]) -> list[Row]:
    """The known draws of a call in their order, up to the first that has a reply: where the last one has none, the next draw is their number.

    Args:
        known: rows by request hash.
        request: the hash of the call's draw of an ordinal.
    """
    draws: list[Row] = []
    while (row := known.get(request(len(draws)))) is not None:
        draws.append(row)
        if row["reply"] is not None:
            break
    return draws


def document_of(item: Item) -> Document:
    """The document of an item of a shard."""
    return Document(item["doc_id"], item["source"], item["uri"], item["title"], item["text"], item["metadata"])
