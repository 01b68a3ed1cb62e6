"""Program ``convert`` with a model: drives the chain of each document, asks what nobody has paid for yet, keeps every reply.

A document is a group of one draw in flight; its calls go through the engine's gate like any others. What is known (earlier runs, earlier
attempts at the shard) is never asked again, and a reply is written down before the chain sees it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial

from gpu_workers.budget import Budget
from gpu_workers.engines.engine import Generation, Request, Sampling
from gpu_workers.inflight import Group
from gpu_workers.ledger import ReplyLedger
from gpu_workers.programs.host import Host
from gpu_workers.programs.program import ITEM_ERRORS, Begun, Clock, Finished, Item, Origin, Row, failure_class_of
from gpu_workers.programs.replies import document_of, draws_of, known_of, reply_row
from schemas.handoff import RunPlan
from schemas.ids import content_id, seed_from
from udfs.conversion.ask import FAILED, UNASKED, Ask, Chain, Reply
from udfs.conversion.audit import AuditItem, audit_chain
from udfs.conversion.chain import convert
from udfs.conversion.recipe import Recipe
from udfs.replies.prices import FREE, NANOS, Price, prices_of
from udfs.replies.request import call_of, request_of
from udfs.store.run import HandoffRun

#: A chat template wraps each message in a few tokens of its own; a token holds at least one byte of text.
_WRAPPING = 64


class Recorded:
    """What is known of one document, and what its chain has used of it.

    Attributes:
        used: rows of the replies and failures that this pass met, by request hash, in their order.
    """

    def __init__(self, plan: RunPlan, item: Item, recorded: Sequence[Row]) -> None:
        self._known = known_of(plan, item, recorded)
        self.used: dict[str, Row] = {}

    def find(self, ask: Ask, call: str) -> tuple[Row | None, int]:
        """The first draw of a call that has a reply, None where there is none; and the ordinal of the next draw."""
        draws = draws_of(self._known, partial(request_of, call))
        for row in draws:
            self.add(ask, row)
        return (draws[-1] if draws and draws[-1]["reply"] is not None else None), len(draws)

    def add(self, ask: Ask, row: Row) -> None:
        """Note a reply, or a failure, as met at this place of the chain."""
        placed = {"stage": "audit" if row["stage"] == "audit" else ask.stage, "ordinal": ask.ordinal, "reask": ask.reask}
        self.used[row["request_hash"]] = {**row, **placed, "domain": ask.domain, "persona": ask.persona}

    def end(self, row: Row) -> None:
        """Note that nothing further was asked."""
        self.used[row["request_hash"]] = row

    @property
    def rows(self) -> list[Row]:
        """All of them."""
        return list(self.used.values())


class ChainProgram:
    """Converts documents with a model, or, without a host, with what earlier runs have recorded (engine ``replay``)."""

    def __init__(self, run: HandoffRun, host: Host | None, clock: Clock) -> None:
        settings = run.plan.settings
        self._run, self._plan, self._host, self._clock = run, run.plan, host, clock
        self._recipe = Recipe.from_settings(settings["recipe"])
        # By stage: the name by which the server knows the model, and what names its weights.
        self._models: dict[str, tuple[str, str]] = {stage: (name, revision) for stage, (name, revision) in settings["models"].items()}
        self._prices = prices_of(settings.get("prices"))
        self._budget = Budget(run.store)
        # A place for each draw that the engine is given at once.
        self._places = asyncio.Semaphore(host.inflight.limit if host is not None else 1)
        self._ledgers: tuple[Origin, ReplyLedger] | None = None

    def generate(self, items: Sequence[Item], origin: Origin, begun: Begun) -> Iterator[Finished]:
        """Documents as they end. Once the budget is spent the rest ends at once, each with what was paid for it."""
        with closing(self._ledger(origin)) as ledger:
            if self._host is None:
                with asyncio.Runner() as runner:
                    for item in items:
                        begun([item["doc_id"]])
                        yield Finished(item["doc_id"], runner.run(self._convert(item, origin, ledger)))
                return
            groups = (Group(item["doc_id"], (partial(self._convert, item, origin, ledger),)) for item in items)
            for key, [rows] in self._host.inflight.run(groups, begun):
                yield Finished(key, rows)

    def failed(self, item: Item, origin: Origin, failure_class: str, reason: str) -> Finished:
        """A row that says so, beside every reply of this run that was paid for: none may be lost with the document."""
        del reason
        paid = self._ledger(origin).earlier.get(item["doc_id"], [])
        return Finished(item["doc_id"], [*paid, self._ended(item, origin, failure_class)])

    def _ledger(self, origin: Origin) -> ReplyLedger:
        """The ledger of an attempt; what was written down before it is read once."""
        if self._ledgers is None or self._ledgers[0] != origin:
            self._ledgers = (origin, ReplyLedger(self._run, origin.shard, origin.attempt))
        return self._ledgers[1]

    async def _convert(self, item: Item, origin: Origin, ledger: ReplyLedger) -> list[Row]:
        recorded = Recorded(self._plan, item, ledger.earlier.get(item["doc_id"], ()))
        try:
            chain = self._chain(item)
            asks = next(chain)
            while True:
                replies = await asyncio.gather(*(self._reply(ask, item, origin, recorded, ledger) for ask in asks))
                asks = chain.send(replies)
        except StopIteration:
            pass
        except ITEM_ERRORS as error:
            recorded.end(self._ended(item, origin, failure_class_of(error)))
        return recorded.rows

    def _chain(self, item: Item) -> Chain:
        if item["audit"] is not None:
            return audit_chain(AuditItem.from_json(item["audit"]), self._recipe)
        return convert(document_of(item), self._recipe)

    async def _reply(self, ask: Ask, item: Item, origin: Origin, recorded: Recorded, ledger: ReplyLedger) -> Reply:
        name, revision = self._models[ask.stage]
        messages = ask.messages()
        call = call_of(ask, messages, f"{name}@{revision}", item["doc_id"] if item["audit"] is not None else "")
        row, draw = recorded.find(ask, call)
        if row is not None:
            return str(row["reply"])
        if self._host is None:
            recorded.end(self._ended(item, origin, "aborted"))
            return FAILED
        price = self._prices.get(name, FREE)
        most = price.nanos(sum(len(m["content"].encode("utf-8", "replace")) + _WRAPPING for m in messages), ask.max_tokens)
        if not await self._budget.reserve(most):
            recorded.end(self._ended(item, origin, "budget"))
            return UNASKED
        request = Request(request_of(call, draw), seed_from(call, draw), _sampling(ask), messages, salt="convert", model=name)
        # A place is free again when the reply is written down: what a death costs is what holds one.
        async with self._places:
            made = await self._host.engine.generate(request)
            paid = _paid(made, price, most)
            await self._budget.settle(most, paid)
            row = self._row(ask, item, origin, made, paid / NANOS)
            row |= {"request_hash": request.key, "call_hash": call, "draw": draw, "model": f"{name}@{revision}"}
            row |= {"stage": "audit" if item["audit"] is not None else ask.stage, "ordinal": ask.ordinal, "reask": ask.reask}
            await ledger.append(row)
        recorded.add(ask, row)
        return FAILED if made.text is None else made.text

    def _row(self, ask: Ask, item: Item, origin: Origin, made: Generation, price: float) -> Row:
        assert self._host is not None  # noqa: S101  # only a host draws
        identity = self._host.engine.identity
        return reply_row(
            self._plan, item, origin, self._clock,
            engine=identity.engine, engine_version=identity.engine_version, template=ask.template.label, reply=made.text,
            domain=ask.domain, persona=ask.persona,
            failure_class=made.failure_class, finish_reason=made.finish_reason, prompt_tokens=made.prompt_tokens or 0,
            completion_tokens=made.completion_tokens or 0, cached_tokens=made.cached_tokens, price=price, seconds=made.seconds,
        )  # fmt: skip

    def _ended(self, item: Item, origin: Origin, failure_class: str) -> Row:
        """A row for a document about which nothing further was asked; it is no reply, and is named by what ended it."""
        ident = content_id("ended", self._plan.run_id, item["doc_id"], failure_class)
        return reply_row(self._plan, item, origin, self._clock, request_hash=ident, failure_class=failure_class)


def _sampling(ask: Ask) -> Sampling:
    return Sampling(ask.temperature, max_tokens=ask.max_tokens, schema=dict(ask.schema), logprobs=False)


def _paid(made: Generation, price: Price, most: int) -> int:
    """What a call cost, 10^-9 of the currency. A server that tells no usage is believed to have used the most it may, a failure nothing."""
    if made.prompt_tokens is None or made.completion_tokens is None:
        return most if made.failure_class is None else 0
    return price.nanos(made.prompt_tokens, made.completion_tokens, made.cached_tokens or 0)
