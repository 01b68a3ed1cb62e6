"""Program ``logprobs``: sampled tokens in, their log-probabilities under another checkpoint out, for staleness ratios (R§6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from gpu_workers.engines.engine import Generation
from gpu_workers.inflight import Group
from gpu_workers.programs.host import Host
from gpu_workers.programs.program import Begun, Clock, Finished, Item, Origin, Row
from gpu_workers.programs.sampling import raw_of
from schemas.handoff import RunPlan


class LogprobsProgram:
    """Scores one turn of one trajectory an item, at the temperature it was sampled at."""

    def __init__(self, plan: RunPlan, host: Host, clock: Clock) -> None:
        self._plan, self._host, self._clock = plan, host, clock

    def generate(self, items: Sequence[Item], origin: Origin, begun: Begun) -> Iterator[Finished]:
        """Items as they end."""
        pending: dict[str, Item] = {}

        def groups() -> Iterator[Group[Generation]]:
            for item in items:
                pending[item["item_id"]] = item
                yield Group(item["item_id"], (partial(self._score, item),))

        for key, [made] in self._host.inflight.run(groups(), begun):
            yield Finished(key, [self._row(pending.pop(key), origin, made)])

    def failed(self, item: Item, origin: Origin, failure_class: str, reason: str) -> Finished:
        """A row without log-probabilities."""
        return Finished(item["item_id"], [self._row(item, origin, Generation.failed(failure_class, reason))])

    async def _score(self, item: Item) -> Generation:
        ids = tuple(item["prompt_token_ids"]), tuple(item["token_ids"])
        if any(i is None or i < 0 for part in ids for i in part):
            return Generation.failed("prompt_invalid", "a token id is null or negative")
        return await self._host.engine.score(*ids, item["temperature"])

    def _row(self, item: Item, origin: Origin, made: Generation) -> Row:
        identity = self._host.engine.identity
        return {
            "run_id": self._plan.run_id,
            **{name: item[name] for name in ("round", "item_id", "trajectory_id", "turn_index", "temperature")},
            "policy_id": self._plan.policy_id or "",
            "policy_version": self._plan.policy_version,
            "log_probs": made.logprobs,
            "logprobs_mode": identity.logprobs_mode,
            "engine": identity.engine,
            "engine_version": identity.engine_version,
            "dtype": identity.dtype,
            "failure_class": made.failure_class,
            "worker_id": origin.worker_id,
            "attempt": origin.attempt,
            "finished_at": self._clock(),
            "raw": raw_of(made, model=identity.model),
        }
