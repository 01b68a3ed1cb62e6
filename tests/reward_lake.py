"""A lake that holds one or two rounds of rewards, laid by deltalake: no JVM."""

from __future__ import annotations

import json

import pyarrow as pa
from deltalake import write_deltalake

from jobs.workspace import Workspace
from schemas.bronze.judgements import JUDGEMENTS
from schemas.bronze.rescored import RESCORED
from schemas.catalog import ALL_TABLES
from schemas.ids import content_id
from schemas.silver.calls import CALLS
from schemas.silver.rewards import REWARDS
from schemas.silver.tokens import TOKENS
from schemas.silver.trajectories import TRAJECTORIES
from schemas.table import LAKE_SCHEMA_VERSION
from tests.lake_rows import filled


def empty(root):
    """A workspace whose lake has every table and no row."""
    workspace = Workspace.init(root)
    for table in ALL_TABLES:
        schema, by = table.schema.empty_table(), [table.partition] if table.partition else None
        write_deltalake(str(workspace.lake_root / table.path), schema, partition_by=by)
    (workspace.lake_root / "verilake.json").write_text(json.dumps({"schema_version": LAKE_SCHEMA_VERSION}))
    return workspace


def put(workspace, table, rows):
    """Append rows; what they do not name is empty or null."""
    held = pa.Table.from_pylist([filled(table, **row) for row in rows], schema=table.schema)
    write_deltalake(str(workspace.lake_root / table.path), held, mode="append", partition_by=[table.partition] if table.partition else None)


def name(group, sample):
    """Id of a sample's trajectory."""
    return content_id("trajectory", group, sample)


def samples(group, values, *, round_no=1, task_type="math", role="train", verdicts=None, **facts):
    """Trajectories and their outcome rows of one group; None = the verifier failed."""
    trajectories, rewards = [], []
    for at, value in enumerate(values):
        verdict = (
            verdicts[at] if verdicts else "error" if value is None else "correct" if value == 1.0 else "partial" if value else "incorrect"
        )
        known = {key: found[at] if isinstance(found, list) else found for key, found in facts.items()}
        trajectories.append(
            {
                "trajectory_id": name(group, at), "round": round_no, "group_id": content_id("group", group), "prompt_id": content_id("prompt", group),
                "task_id": content_id("task", group), "sample_index": at, "role": role, "task_type": task_type, "policy_id": "policy-1",
                "status": "completed", "response_length": 3, "prompt_length": 2, "outcome_reward": value, **known,
            }
        )  # fmt: skip
        rewards.append(reward(group, at, "correct", value, round_no=round_no, verdict=verdict, weight=1.0, is_outcome=True))
    return trajectories, rewards


def reward(group, sample, reward_name, value, *, round_no=1, **more):
    """One row of silver.rewards."""
    row = {"kind": "rule", "low": 0.0, "high": 1.0, "verdict": "correct", "verifier_name": "grader", "verifier_version": "1", "flags": []}
    return {
        "trajectory_id": name(group, sample), "reward_name": reward_name, "verifier_run_id": f"run {reward_name}", "round": round_no, "value": value,
        **row, **more,
    }  # fmt: skip


def tokens(group, sample, then, *, round_no=1, version=1, turn=1, prompt=2):
    """Token rows of one sampled turn, and of the prompt before it; ``then`` None = no log-probabilities."""
    n = 3 if then is None else len(then)
    ident = name(group, sample)
    return [
        {
            "trajectory_id": ident, "turn_index": turn - 1, "round": round_no, "token_ids": [7] * prompt, "response_mask": [0] * prompt,
            "policy_version": [-1] * prompt,
        },
        {
            "trajectory_id": ident, "turn_index": turn, "round": round_no, "token_ids": list(range(n)), "response_mask": [1] * n,
            "rollout_log_probs": then, "policy_version": [version] * n,
        },
    ]  # fmt: skip


def rescored(group, sample, now, *, round_no=1, policy="policy-3", version=3, turn=1, **more):
    """One re-scored turn."""
    return {
        "run_id": "run", "round": round_no, "item_id": content_id(group, sample, turn, policy), "trajectory_id": name(group, sample), "turn_index": turn,
        "policy_id": policy, "policy_version": version, "log_probs": now, "temperature": 1.0, "logprobs_mode": "processed", "raw": "{}", **more,
    }  # fmt: skip


def call(group, sample, *, round_no=1, temperature=1.0, mode="processed", turn=1):
    """The engine call that sampled a turn."""
    ident = name(group, sample)
    return {
        "call_id": content_id(ident, turn), "trajectory_id": ident, "turn_index": turn, "round": round_no, "temperature": temperature,
        "logprobs_mode": mode,
    }  # fmt: skip


def judgement(group, sample, score, *, round_no=1, **more):
    """One pointwise judgement; None = the judge's reply could not be read."""
    ident = name(group, sample)
    return {
        "run_id": "judge", "round": round_no, "judgement_id": content_id("pointwise", ident, more.get("draw", 0)), "kind": "pointwise", "trajectory_a": ident,
        "verdict": "invalid" if score is None else "score", "score": score, "raw": "{}", **more,
    }  # fmt: skip


__all__ = [
    "CALLS", "JUDGEMENTS", "RESCORED", "REWARDS", "TOKENS", "TRAJECTORIES", "call", "empty", "judgement", "name", "put", "rescored", "reward",
    "samples", "tokens",
]  # fmt: skip
