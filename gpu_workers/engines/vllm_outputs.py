"""What the outputs of vLLM amount to; nothing here imports vLLM."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gpu_workers.engines.engine import Generation

#: Log-probabilities above 0 by no more than float32's rounding are 0.
ROUNDING = 1e-4


def generation_of(outputs: Sequence[Any], prompt_ids: tuple[int, ...], prompt_text: str | None, seconds: float) -> Generation:
    """What the steps of one draw amount to."""
    steps = [output.outputs[0] for output in outputs]
    last = steps[-1]
    ids = tuple(i for step in steps for i in step.token_ids)
    raw = {"stop_reason": last.stop_reason} if last.stop_reason is not None else {}
    if last.finish_reason == "abort":
        return Generation.failed("aborted", f"aborted after {len(ids)} tokens", seconds=seconds, retryable=True)
    if last.finish_reason not in ("stop", "length"):
        return Generation.failed(
            "engine_error", f"finish reason {last.finish_reason}", seconds=seconds, retryable=last.finish_reason == "error"
        )
    logprobs: tuple[float, ...] | None = None
    if steps[0].logprobs is not None:
        rows = [row for step in steps for row in step.logprobs or ()]
        values = [float(row[token].logprob) for row, token in zip(rows, ids, strict=True)]
        if not all(math.isfinite(value) and value <= ROUNDING for value in values):
            return Generation.failed("malformed", "a log-probability is NaN, infinite or above 0", seconds=seconds)
        logprobs = tuple(min(0.0, value) for value in values)
    return Generation(
        "".join(step.text for step in steps), last.finish_reason, prompt_text=prompt_text, prompt_token_ids=prompt_ids, token_ids=ids,
        logprobs=logprobs, weight_versions=versions_of(last.weight_versions, len(ids)), prompt_tokens=len(prompt_ids),
        cached_tokens=outputs[0].num_cached_tokens, completion_tokens=len(ids), seconds=seconds, raw=raw,
    )  # fmt: skip


def versions_of(spans: Sequence[Any] | None, count: int) -> tuple[int, ...] | None:
    """The ordinal of the weights of each token; None where vLLM does not tell, or not of every token."""
    versions = [int(span.version) for span in spans or () for _ in range(span.start, span.end)]
    return tuple(versions) if len(versions) == count else None


def tempered(logprobs: Mapping[int, float], token: int, temperature: float) -> float:
    """Natural log of the probability of ``token`` at a temperature, from those of the whole vocabulary at temperature 1."""
    scaled = [value / temperature for value in logprobs.values()]
    top = max(scaled)
    return logprobs[token] / temperature - top - math.log(math.fsum(math.exp(value - top) for value in scaled))
