"""Program ``judge``: a pair of responses, or one, in; a judgement with its explanation out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from gpu_workers.engines.engine import Generation, Request, Sampling
from gpu_workers.inflight import Group
from gpu_workers.programs.host import Host
from gpu_workers.programs.program import Begun, Clock, Finished, Item, Origin, Row, describe
from gpu_workers.programs.sampling import raw_of, sampling_of
from schemas.errors import VerilakeError
from schemas.handoff import RunPlan
from udfs.judging.prompts import SCHEMAS, TEMPLATES, judge_messages, shortened, template_of
from udfs.judging.verdict import INVALID, read_verdict
from udfs.replies.prices import FREE, NANOS, Price


class JudgeProgram:
    """One draw an item. That a pair is judged in both orders is the planner's doing: the swapped twin is an item of its own."""

    def __init__(self, plan: RunPlan, host: Host, clock: Clock) -> None:
        self._plan, self._host, self._clock = plan, host, clock
        self._sampling = replace(sampling_of(plan.settings), logprobs=False)
        prices = plan.settings.get("prices")
        self._price = FREE if not prices else Price.model_validate(prices)

    def generate(self, items: Sequence[Item], origin: Origin, begun: Begun) -> Iterator[Finished]:
        """Items as they end."""
        pending: dict[str, Item] = {}

        def groups() -> Iterator[Group[Generation]]:
            for item in items:
                pending[item["judgement_id"]] = item
                yield Group(item["judgement_id"], (partial(self._ask, item),))

        for key, [made] in self._host.inflight.run(groups(), begun):
            yield Finished(key, [self._row(pending.pop(key), origin, made)])

    def failed(self, item: Item, origin: Origin, failure_class: str, reason: str) -> Finished:
        """A row without reply."""
        return Finished(item["judgement_id"], [self._row(item, origin, Generation.failed(failure_class, reason))])

    async def _ask(self, item: Item) -> Generation:
        try:
            messages = judge_messages(item)
        except (ValueError, VerilakeError) as error:
            return Generation.failed("prompt_invalid", describe(error))
        sampling: Sampling = replace(self._sampling, schema=SCHEMAS[item["kind"]])
        return await self._host.engine.generate(Request(item["judgement_id"], item["seed"], sampling, messages, salt="judge"))

    def _row(self, item: Item, origin: Origin, made: Generation) -> Row:
        identity = self._host.engine.identity
        found = INVALID if made.text is None else read_verdict(item["kind"], made.text, swapped=item["swapped"])
        cut = shortened(item)
        return {
            "run_id": self._plan.run_id,
            **{name: item[name] for name in ("round", "judgement_id", "kind", "trajectory_a", "trajectory_b", "swapped", "draw", "seed")},
            "verdict": found.verdict,
            "score": found.score,
            "explanation": found.explanation,
            "reply": made.text,
            "template": template_of(item["kind"]).label if item["kind"] in TEMPLATES else "",
            "engine": identity.engine,
            "engine_version": identity.engine_version,
            "judge": str(made.raw.get("model", identity.model)),
            "prompt_tokens": made.prompt_tokens,
            "completion_tokens": made.completion_tokens,
            "price": self._price.nanos(made.prompt_tokens or 0, made.completion_tokens or 0, made.cached_tokens or 0) / NANOS,
            "failure_class": made.failure_class,
            "worker_id": origin.worker_id,
            "attempt": origin.attempt,
            "finished_at": self._clock(),
            "raw": raw_of(made, finish_reason=made.finish_reason, **({"shown_in_part": cut} if cut else {})),
        }
