"""Program ``convert`` with the engine by rules: a document in, its candidate items out."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from gpu_workers.errors import RefusedRunError
from gpu_workers.programs.program import ITEM_ERRORS, Begun, Clock, Finished, Item, Origin, Row, describe, failure_class_of
from gpu_workers.programs.replies import draws_of, known_of, reply_row
from schemas.handoff import RunPlan
from schemas.ids import canonical_json
from udfs.replies.request import extract_request

Extract = Callable[..., list[dict[str, Any]]]


class ConvertProgram:
    """Runs a conversion engine that needs no model.

    A document whose reply an earlier run brought is answered with it: nothing is computed again.
    """

    def __init__(self, plan: RunPlan, extract: Extract, version: str, clock: Clock) -> None:
        wanted = str(plan.settings["engine_version"])
        if wanted != version:
            raise RefusedRunError.from_version(plan.engine, wanted, version)
        self._plan = plan
        self._extract = extract
        self._template = str(plan.settings["template"])
        self._max_items = int(plan.settings["max_items"])
        self._clock = clock

    def generate(self, items: Sequence[Item], origin: Origin, begun: Begun) -> Iterator[Finished]:
        """One row a document, in the order of the items."""
        for item in items:
            begun([item["doc_id"]])
            yield self._answer(item, origin)

    def failed(self, item: Item, origin: Origin, failure_class: str, reason: str) -> Finished:
        """A row without reply; the reason is logged, the table has no column for it."""
        del reason
        _, draw = self._known(item)
        return Finished(item["doc_id"], [self._row(item, origin, draw, failure_class=failure_class)])

    def _known(self, item: Item) -> tuple[Row | None, int]:
        """The reply that an earlier run brought with the ordinal of its draw; None, and the next ordinal, where there is none."""
        draws = draws_of(known_of(self._plan, item, ()), partial(self._request, item))
        answered = bool(draws) and draws[-1]["reply"] is not None
        return (draws[-1], len(draws) - 1) if answered else (None, len(draws))

    def _answer(self, item: Item, origin: Origin) -> Finished:
        earlier, draw = self._known(item)
        if earlier is not None:
            row = self._row(item, origin, draw, n_items=_count(earlier["reply"]), **_usage(earlier["reply"], 0.0))
            return Finished(item["doc_id"], [row])
        begin = time.perf_counter()
        try:
            found = self._extract(
                item["doc_id"], item["source"], item["uri"], item["title"], item["text"], item["metadata"], max_items=self._max_items
            )
            reply = canonical_json(found)
        except ITEM_ERRORS as error:
            return self.failed(item, origin, failure_class_of(error), describe(error))
        return Finished(item["doc_id"], [self._row(item, origin, draw, n_items=len(found), **_usage(reply, time.perf_counter() - begin))])

    def _row(self, item: Item, origin: Origin, draw: int, **given: Any) -> Row:
        request, prompt_tokens = self._request(item, draw), len(item["text"])
        made = {"request_hash": request, "template": self._template, "draw": draw, "stage": "extract", "prompt_tokens": prompt_tokens}
        return reply_row(self._plan, item, origin, self._clock, **made, **given)

    def _request(self, item: Item, draw: int) -> str:
        return extract_request(self._plan.engine, str(self._plan.settings["engine_version"]), self._template, item, draw)


def _usage(reply: str, seconds: float) -> dict[str, Any]:
    return {"reply": reply, "completion_tokens": len(reply), "seconds": seconds, "finish_reason": "stop"}


def _count(reply: str) -> int:
    """Items of an earlier reply; 0 where it is no JSON list, which the reader of replies declares."""
    try:
        parsed = json.loads(reply)
    except ValueError:
        return 0
    return len(parsed) if isinstance(parsed, list) else 0
