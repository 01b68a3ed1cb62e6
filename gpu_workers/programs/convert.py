"""Program ``convert``: a document in, an engine's reply with candidate items out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gpu_workers.errors import RefusedRunError
from gpu_workers.programs.program import ITEM_ERRORS, Begun, Clock, Finished, Item, Origin, Row, describe, failure_class_of
from schemas.handoff import RunPlan
from schemas.ids import canonical_json

Extract = Callable[..., list[dict[str, Any]]]


class ConvertProgram:
    """Runs a conversion engine that needs no batching.

    An item that carries an earlier reply is answered with it: nothing is generated and nothing is paid.
    """

    def __init__(self, plan: RunPlan, extract: Extract, version: str, clock: Clock) -> None:
        wanted = str(plan.settings["engine_version"])
        if wanted != version:
            raise RefusedRunError.from_version(plan.engine, wanted, version)
        self._plan = plan
        self._extract = extract
        self._max_items = int(plan.settings["max_items"])
        self._clock = clock

    def generate(self, items: Sequence[Item], origin: Origin, begun: Begun) -> Iterator[Finished]:
        """One row a document, in the order of the items."""
        for item in items:
            begun([item["request_hash"]])
            yield self._answer(item, origin)

    def failed(self, item: Item, origin: Origin, failure_class: str, reason: str) -> Finished:
        """A row without reply; the reason is logged, the table has no column for it."""
        del reason
        return Finished(item["request_hash"], [{**self._base(item, origin), "failure_class": failure_class, "finish_reason": "error"}])

    def _answer(self, item: Item, origin: Origin) -> Finished:
        earlier = item["earlier_reply"]
        begin = time.perf_counter()
        if earlier is not None:
            row = self._reply(item, origin, earlier, n_items=_count(earlier), seconds=0.0)
            return Finished(item["request_hash"], [row])
        try:
            found = self._extract(
                item["doc_id"], item["source"], item["uri"], item["title"], item["text"], item["metadata"], max_items=self._max_items
            )
            reply = canonical_json(found)
        except ITEM_ERRORS as error:
            return self.failed(item, origin, failure_class_of(error), describe(error))
        row = self._reply(item, origin, reply, n_items=len(found), seconds=time.perf_counter() - begin)
        return Finished(item["request_hash"], [row])

    def _reply(self, item: Item, origin: Origin, reply: str, *, n_items: int, seconds: float) -> Row:
        usage = {"n_items": n_items, "completion_tokens": len(reply), "seconds": seconds}
        return {**self._base(item, origin), **usage, "reply": reply, "finish_reason": "stop"}

    def _base(self, item: Item, origin: Origin) -> Row:
        return {
            **{name: item[name] for name in ("request_hash", "ingest_id", "doc_id", "draw")},
            "run_id": self._plan.run_id,
            "engine": self._plan.engine,
            "engine_version": str(self._plan.settings["engine_version"]),
            "template": str(self._plan.settings["template"]),
            "reply": None,
            "n_items": 0,
            "failure_class": None,
            "prompt_tokens": len(item["text"]),
            "completion_tokens": 0,
            "price": 0.0,
            "seconds": 0.0,
            "worker_id": origin.worker_id,
            "finished_at": self._clock(),
        }


def _count(reply: str) -> int:
    """Items of an earlier reply; 0 where it is no JSON list, which the reader of replies declares."""
    import json

    try:
        parsed = json.loads(reply)
    except ValueError:
        return 0
    return len(parsed) if isinstance(parsed, list) else 0
