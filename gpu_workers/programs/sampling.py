"""Program ``rollout`` over an engine: a prompt in, a group of samples out, with what was drawn by which weights."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator, Sequence
from datetime import datetime
from typing import Any

from gpu_workers.engines.engine import Generation, Request, Sampling
from gpu_workers.inflight import Group
from gpu_workers.programs.host import Host
from gpu_workers.programs.policies import Policies, Policy, first_policy
from gpu_workers.programs.program import Begun, Clock, Finished, Item, Origin, Row
from schemas.handoff import RunPlan
from schemas.ids import canonical_json, seed_from
from udfs.reader.question import Prompt


def sampling_of(settings: dict[str, Any]) -> Sampling:
    """The sampling of a plan's settings."""
    return Sampling(
        temperature=float(settings["temperature"]),
        top_p=float(settings.get("top_p", 1.0)),
        top_k=int(settings.get("top_k", -1)),
        min_p=float(settings.get("min_p", 0.0)),
        max_tokens=int(settings["max_response_tokens"]),
        stop=tuple(settings.get("stop", ())),
    )


class RolloutProgram:
    """Samples with whatever engine; each sample of a group fails or succeeds for itself."""

    def __init__(self, plan: RunPlan, host: Host, policies: Policies, clock: Clock) -> None:
        self._plan, self._host, self._policies, self._clock = plan, host, policies, clock
        self._sampling = sampling_of(plan.settings)
        self._policy = first_policy(plan)

    def generate(self, items: Sequence[Item], origin: Origin, begun: Begun) -> Iterator[Finished]:
        """Groups as they end; newer weights are taken between groups, when nothing is in flight."""
        pending: dict[str, tuple[Item, datetime, Policy]] = {}

        def groups() -> Iterator[Group[Generation]]:
            for item in items:
                key = item["prompt_id"]
                pending[key] = (item, self._clock(), self._policy)
                yield Group(key, tuple(self._draw(item, index) for index in range(item["n_samples"])))

        for key, made in self._host.inflight.run(groups(), begun, self._between):
            item, started, policy = pending.pop(key)
            yield Finished(key, [self._row(item, origin, i, started, policy, sample) for i, sample in enumerate(made)])

    def failed(self, item: Item, origin: Origin, failure_class: str, reason: str) -> Finished:
        """A row for every sample that was asked for, so that each is accounted for."""
        lost = Generation.failed(failure_class, reason)
        now = self._clock()
        return Finished(item["prompt_id"], [self._row(item, origin, index, now, self._policy, lost) for index in range(item["n_samples"])])

    def _between(self) -> Coroutine[Any, Any, None] | None:
        newer = self._policies.newer(self._policy)
        return None if newer is None else self._take(newer)

    async def _take(self, policy: Policy) -> None:
        await self._host.engine.load_policy(str(policy.folder), policy.version)
        self._policy = policy

    def _draw(self, item: Item, index: int) -> Any:
        request = Request(
            key=f"{item['prompt_id']}.{index}",
            seed=self._seed(item, index, self._policy),
            sampling=self._sampling,
            messages=messages_of(item),
            salt=str(self._policy.version),
        )
        return lambda: self._host.engine.generate(request)

    def _seed(self, item: Item, index: int, policy: Policy) -> int:
        return seed_from(item["seed"], item["prompt_id"], index, policy.policy_id)

    def _row(self, item: Item, origin: Origin, index: int, started: datetime, policy: Policy, made: Generation) -> Row:
        identity = self._host.engine.identity
        return {
            "run_id": self._plan.run_id,
            "round": item["round"],
            "prompt_id": item["prompt_id"],
            "sample_index": index,
            "dialect": "verilake",
            "engine": identity.engine,
            "engine_version": identity.engine_version,
            "policy_id": policy.policy_id,
            "policy_version": policy.version,
            "seed": self._seed(item, index, policy),
            "temperature": self._sampling.temperature,
            "top_p": self._sampling.top_p,
            "logprobs_mode": identity.logprobs_mode,
            "prompt_text": made.prompt_text or Prompt(item["prompt_id"], item["system"], item["text"], "", "").rendered,
            "response_text": made.text,
            "prompt_token_ids": made.prompt_token_ids,
            "response_token_ids": made.token_ids,
            "response_logprobs": made.logprobs,
            "finish_reason": made.finish_reason,
            "failure_class": made.failure_class,
            "worker_id": origin.worker_id,
            "attempt": origin.attempt,
            "started_at": started,
            "finished_at": self._clock(),
            "raw": raw_of(made, model=identity.model),
            "program": self._plan.program,
            "dtype": identity.dtype,
            "sampling": self._sampling.canonical(),
            "chat_template_sha256": identity.chat_template_sha256,
            "weight_versions": made.weight_versions,
            "prompt_tokens": made.prompt_tokens,
            "cached_tokens": made.cached_tokens,
            "completion_tokens": made.completion_tokens,
        }


def messages_of(item: Item) -> tuple[dict[str, Any], ...]:
    """The chat of an item: its system message, where it has one, and its text."""
    system = ({"role": "system", "content": item["system"]},) if item["system"] else ()
    return (*system, {"role": "user", "content": item["text"]})


def raw_of(made: Generation, **further: Any) -> str:
    """What has no column: what the engine said beside it, and why a draw failed."""
    held = {**further, **made.raw} | ({"reason": made.reason} if made.reason is not None else {})
    try:
        text = canonical_json(held)
    except (ValueError, TypeError):  # NaN in what a server sent
        text = canonical_json({"unreadable": repr(held)[:2000]})
    return text.encode("utf-8", "replace").decode("utf-8")
