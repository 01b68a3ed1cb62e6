"""What became of a delivered rollout: its status, and the failure of the infrastructure or of the delivery, if any.

A failure takes the reward away (null, law 6) but never the row: every delivered rollout becomes one trajectory.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Failures of a delivery that only show beside its plan and its own columns; those of engines are in schemas.handoff.FAILURE_CLASSES.
DELIVERY_FAILURES = (
    "unknown_prompt",
    "not_planned",
    "duplicate_sample",
    "sample_out_of_range",
    "no_response",
    "bad_tokens",
    "bad_lengths",
    "bad_logprobs",
)

_STATUS_OF_FAILURE = {
    "truncated": "truncated",
    "aborted": "aborted",
    "engine_hang": "timeout",
    "engine_error": "failed",
    "engine_dead": "failed",
    "oom": "failed",
    "env_error": "failed",
}
_STATUS_OF_FINISH = {"stop": "completed", "tool_calls": "completed", "length": "truncated", "abort": "aborted", "error": "failed"}


@dataclass(frozen=True, slots=True)
class Delivery:
    """What must be known of one delivered rollout to say whether it can be used.

    Attributes:
        known_prompt: gold.prompts holds its prompt.
        planned_samples: samples that the plan of the round asks for; None where the prompt is not planned.
        sample_index: ordinal of the sample.
        repeat: 0 for the first row with this (run, prompt, sample), 1 and up for others.
        failure_class: failure that the worker declared.
        has_response: there is a text.
        tokens: length of the response's token list; None where there is none.
        logprobs: length of its log-probabilities; None where there are none.
        tokens_valid: no token id is null or negative (prompt and response).
        logprobs_valid: every log-probability is finite and at most 0, up to rounding.
        matched: of several turns, the lists of each are of one length.
    """

    known_prompt: bool
    planned_samples: int | None
    sample_index: int
    repeat: int
    failure_class: str | None
    has_response: bool
    tokens: int | None
    logprobs: int | None
    tokens_valid: bool
    logprobs_valid: bool
    matched: bool = True


def failure_of(delivery: Delivery) -> str | None:
    """The failure class of a delivery: the worker's own word first, then what the delivery lacks; None where it is sound."""
    if delivery.failure_class is not None:
        return delivery.failure_class
    if delivery.planned_samples is None:
        return "not_planned"
    if not delivery.known_prompt:
        return "unknown_prompt"
    if delivery.repeat > 0:
        return "duplicate_sample"
    if not 0 <= delivery.sample_index < delivery.planned_samples:
        return "sample_out_of_range"
    if not delivery.has_response:
        return "no_response"
    if not delivery.tokens_valid:
        return "bad_tokens"
    if not delivery.matched or (delivery.logprobs is not None and delivery.logprobs != delivery.tokens):
        return "bad_lengths"
    return None if delivery.logprobs_valid else "bad_logprobs"


def status_of(failure: str | None, finish_reason: str) -> str:
    """The status of silver.trajectories: that of its failure, else that of its finish reason; error where neither says more.

    A response cut by its own length (finish reason ``length``, no failure) is ``truncated`` and graded as it stands: the
    candidate used its tokens up (law 6).
    """
    if failure is not None:
        return _STATUS_OF_FAILURE.get(failure, "error")
    return _STATUS_OF_FINISH.get(finish_reason, "error")


def losses(*, prompt_tokens: bool, response_tokens: bool, logprobs: bool, raw_logprobs: bool, gap: bool = False) -> list[str]:
    """What a delivery does not bring, for ``lossy``, sorted.

    Args:
        prompt_tokens: token ids of the prompt are there.
        response_tokens: token ids of the response are there.
        logprobs: its log-probabilities are there.
        raw_logprobs: they are of the raw distribution, not of the one sampled from (R§6).
        gap: of several turns, one that was not sampled lacks its tokens although the policy spoke after it.
    """
    found = {
        "no_prompt_token_ids": not prompt_tokens,
        "no_token_ids": not response_tokens,
        "no_logprobs": not logprobs,
        "raw_logprobs": logprobs and raw_logprobs,
        "no_tool_token_ids": gap,
    }
    return sorted(name for name, lost in found.items() if lost)
