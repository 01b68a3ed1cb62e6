"""Arrow in, Arrow out: delivered rollouts beside their plan and contract become graded ones.

The token lists pass through untouched; only their lengths and bounds are read, by numpy over the flat buffers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.ids import content_id
from schemas.silver.rewards import REWARDS
from schemas.table import STRINGS
from udfs.trajectories.delivery import Delivery, failure_of, losses, status_of
from udfs.trajectories.rewards import Reward, grade_response, outcome_of
from udfs.trajectories.tensors import LOGPROB_SLACK, all_hold, is_logprob, is_token
from udfs.trajectories.turns import calls_of, read_turns

__all__ = ["GRADED_FIELDS", "LOGPROB_SLACK", "grade_batches", "graded_schema", "trajectory_id"]

#: Distinct (contract, response) pairs kept per stream: samples of one prompt repeat each other.
MEMO = 4096

_REWARD_FIELDS = [field for field in REWARDS.schema if field.name not in ("trajectory_id", "round")]

#: One entry for each engine call: position of its turn among those after the prompt, id and seed.
_CALLS = pa.list_(
    pa.field(
        "element",
        pa.struct([pa.field("place", pa.int32()), pa.field("call_id", pa.string(), nullable=False), pa.field("seed", pa.int64())]),
    )
)

#: Columns that :func:`grade_batches` appends to those it is given.
GRADED_FIELDS: tuple[pa.Field, ...] = (
    pa.field("trajectory_id", pa.string(), nullable=False),
    pa.field("group_id", pa.string(), nullable=False),
    pa.field("call_id", pa.string(), nullable=False),
    pa.field("engine_calls", _CALLS, nullable=False),
    pa.field("user_turn", pa.int32(), nullable=False),
    pa.field("failure", pa.string()),
    pa.field("status", pa.string(), nullable=False),
    pa.field("lossy", STRINGS, nullable=False),
    pa.field("prompt_length", pa.int32()),
    pa.field("response_length", pa.int32()),
    pa.field("usable_logprobs", pa.bool_(), nullable=False),
    pa.field("outcome_reward", pa.float64()),
    pa.field("rewards", pa.list_(pa.field("element", pa.struct(_REWARD_FIELDS))), nullable=False),
)


def trajectory_id(run_id: str, prompt_id: str, sample_index: int, repeat: int) -> str:
    """content_id(run_id, prompt_id, sample_index); further rows with the same three count up, so that none is lost."""
    return content_id(run_id, prompt_id, sample_index, *((repeat,) if repeat else ()))


def grade_batches(batches: Iterable[pa.RecordBatch], *, allow_weak_sandbox: bool = False) -> Iterator[pa.RecordBatch]:
    """Append GRADED_FIELDS to each batch.

    Args:
        batches: columns of bronze.rollouts (without ``turns``, each is a delivery of one response), and: repeat (int, 0 for the first row
            of its key), planned_samples (int, null where not planned), contract and system (string, null where the prompt is unknown).
            Further columns pass through.
        allow_weak_sandbox: programs run where only rlimits bound them (tier D), rather than raise.

    Raises:
        SandboxUnavailableError: a contract of code, and no sandbox that is allowed.
    """
    memo: dict[tuple[str | None, str | None, str | None], tuple[list[dict[str, Any]], float | None]] = {}
    for batch in batches:
        rows = [_row(facts, memo, allow_weak_sandbox) for facts in _facts(batch)]
        columns = [pa.array([row[f.name] for row in rows], f.type) for f in GRADED_FIELDS]
        yield pa.RecordBatch.from_arrays([*batch.columns, *columns], schema=graded_schema(batch.schema))


def graded_schema(given: pa.Schema) -> pa.Schema:
    """Schema of the batches that come out for batches of ``given``."""
    return pa.schema([*given, *GRADED_FIELDS])


def _row(facts: dict[str, Any], memo: dict[Any, Any], allow_weak_sandbox: bool) -> dict[str, Any]:
    logprobs, turns = facts["logprobs"], facts["turns"]
    # What was handed in goes before what was said last; a delivery of one response has nothing but that.
    response = facts["response_text"] if turns is None or facts["response_text"] is not None else turns.last_text
    delivery = Delivery(
        known_prompt=facts["contract"] is not None, planned_samples=facts["planned_samples"], sample_index=facts["sample_index"],
        repeat=facts["repeat"], failure_class=facts["failure_class"], has_response=response is not None,
        tokens=facts["response_length"], logprobs=logprobs, tokens_valid=facts["tokens_valid"], logprobs_valid=facts["logprobs_valid"],
        matched=facts["matched"],
    )  # fmt: skip
    failure = failure_of(delivery)
    ident = trajectory_id(facts["run_id"], facts["prompt_id"], facts["sample_index"], facts["repeat"])
    user_turn = 1 if facts["system"] else 0
    key = (facts["contract"], response if failure is None else None, failure)
    if key not in memo:
        if len(memo) >= MEMO:
            memo.clear()
        graded = grade_response(*key, allow_weak_sandbox=allow_weak_sandbox)
        memo[key] = ([_plain(r) for r in graded], outcome_of(graded))
    rewards, outcome = memo[key]
    lossy = losses(
        prompt_tokens=facts["prompt_length"] is not None, response_tokens=facts["response_length"] is not None,
        logprobs=logprobs is not None, raw_logprobs=facts["logprobs_mode"] != "processed",
        gap=turns is not None and turns.gap,
    )  # fmt: skip
    return {
        "trajectory_id": ident,
        "group_id": content_id(facts["run_id"], facts["prompt_id"]),
        "call_id": content_id(ident, user_turn + 1),
        "engine_calls": calls_of(turns, ident, user_turn + 1, facts.get("seed"), facts.get("program")),
        "user_turn": user_turn,
        "failure": failure,
        "status": status_of(failure, facts["finish_reason"]),
        "lossy": lossy,
        "prompt_length": facts["prompt_length"],
        "response_length": facts["response_length"],
        "usable_logprobs": logprobs is not None and logprobs == facts["response_length"] and facts["logprobs_valid"] and facts["matched"],
        "outcome_reward": outcome,
        "rewards": rewards,
    }


def _plain(reward: Reward) -> dict[str, Any]:
    return {**asdict(reward), "flags": list(reward.flags)}


def _facts(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """One dictionary a row: the scalar columns that count, and what the token lists say of themselves."""
    names = (
        "run_id", "prompt_id", "sample_index", "repeat", "planned_samples", "contract", "system", "response_text",
        "failure_class", "finish_reason", "logprobs_mode",
    )  # fmt: skip
    columns: dict[str, list[Any]] = {name: batch.column(name).to_pylist() for name in names}
    prompt, response, logprobs = (batch.column(n) for n in ("prompt_token_ids", "response_token_ids", "response_logprobs"))
    columns["prompt_length"] = pc.list_value_length(prompt).to_pylist()
    columns["response_length"] = pc.list_value_length(response).to_pylist()
    columns["logprobs"] = pc.list_value_length(logprobs).to_pylist()
    columns["tokens_valid"] = list(all_hold(prompt, is_token) & all_hold(response, is_token))
    columns["logprobs_valid"] = list(all_hold(logprobs, is_logprob))
    there = batch.schema.names
    columns |= {name: batch.column(name).to_pylist() for name in ("seed", "program") if name in there}
    columns["turns"] = read_turns(batch.column("turns")) if "turns" in there else [None] * batch.num_rows
    for values in zip(*columns.values(), strict=True):
        yield _of_turns(dict(zip(columns, values, strict=True)))


def _of_turns(facts: dict[str, Any]) -> dict[str, Any]:
    """Where there are several turns, their tokens count, and not what the row says of the response."""
    turns = facts["turns"]
    if turns is None:
        return {**facts, "matched": True}
    return {
        **facts, "response_length": turns.tokens, "logprobs": turns.logprobs, "matched": turns.matched,
        "tokens_valid": facts["tokens_valid"] and turns.tokens_valid, "logprobs_valid": turns.logprobs_valid,
    }  # fmt: skip
