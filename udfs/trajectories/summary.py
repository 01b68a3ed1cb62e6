"""What a policy can do on a prompt: the fold of one prompt's samples into a row of silver.task_stats.

**What is pooled.** The posterior pools the valid samples of the same prompt, sampling and context mode over the recent rounds,
*across checkpoints*: from one round to the next the policy moves a little, the window (plan.pool_rounds) bounds how
far, and 8 samples of one checkpoint alone say too little (E§3). Another temperature or another engine is another
distribution and is never pooled; neither is another form of the task, which is another prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from schemas.ids import content_id
from schemas.silver.task_stats import TASK_STATS
from udfs.stats.group import group_statistics
from udfs.stats.majority import majority_answer
from udfs.stats.posterior import guess_rate, solve_rate_posterior


@dataclass(frozen=True, slots=True)
class Belief:
    """Prior and band of the solve rate (conf: plan.prior_alpha, plan.prior_beta, plan.band)."""

    prior: tuple[float, float]
    band: tuple[float, float]


def sampling_hash(temperature: float, top_p: float, logprobs_mode: str, engine: str) -> str:
    """content_id of what shapes the distribution beside the weights."""
    return content_id(temperature, top_p, logprobs_mode, engine)


def hash_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Append ``sampling_hash`` to batches of temperature, top_p, logprobs_mode and engine (a handful of distinct ones)."""
    for batch in batches:
        hashes = [sampling_hash(r["temperature"], r["top_p"], r["logprobs_mode"], r["engine"]) for r in batch.to_pylist()]
        schema = pa.schema([*batch.schema, pa.field("sampling_hash", pa.string(), nullable=False)])
        yield pa.RecordBatch.from_arrays([*batch.columns, pa.array(hashes, pa.string())], schema=schema)


def fold_samples(samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Counts, group statistics and majority of the samples of one prompt.

    Args:
        samples: structs, in any order: run_id, sample_index, trajectory_id; reward (null = unknown); solved (the outcome's verdict is
            correct); agrees (the answer is right, whatever its form: only this speaks of the gold); answer.

    Returns:
        The columns of silver.task_stats that follow from these samples alone.
    """
    ordered = sorted(samples, key=lambda s: (s["run_id"], s["sample_index"], s["trajectory_id"]))
    stats = group_statistics([s["reward"] for s in ordered])
    valid = [s for s in ordered if s["reward"] is not None]
    majority = majority_answer((s["answer"], s["agrees"]) for s in valid)
    return {
        "n": stats.n,
        "n_valid": len(valid),
        "k": sum(s["solved"] for s in valid),
        "reward_mean": stats.mean,
        "reward_std_unbiased": stats.std_unbiased,
        "reward_std_population": stats.std_population,
        "zero_variance": stats.zero_variance,
        "majority_answer": majority.answer,
        "majority_count": majority.count,
        "majority_is_gold": majority.is_gold,
    }


def summarise_batches(batches: Iterable[pa.RecordBatch], belief: Belief) -> Iterator[pa.RecordBatch]:
    """One row of silver.task_stats for each row.

    Args:
        batches: one row per prompt, policy, sampling and mode: prompt_id, policy_id, sampling_hash, context_mode, round, task_id,
            task_type, role; options (int, 0 where not a choice); pooled_n and pooled_k (this round included); samples.
        belief: prior and band.
    """
    for batch in batches:
        rows = [_summary(row, belief) for row in batch.to_pylist()]
        yield pa.RecordBatch.from_pylist(rows, schema=TASK_STATS.schema)


def _summary(row: dict[str, Any], belief: Belief) -> dict[str, Any]:
    posterior = solve_rate_posterior(row["pooled_k"], row["pooled_n"], prior=belief.prior, band=belief.band, options=row["options"])
    keys = ("prompt_id", "policy_id", "sampling_hash", "context_mode", "round", "task_id", "task_type", "role", "pooled_n", "pooled_k")
    return {
        **{name: row[name] for name in keys},
        **fold_samples(row["samples"]),
        "guess_rate": guess_rate(row["options"]),
        "posterior_alpha": posterior.alpha,
        "posterior_beta": posterior.beta,
        "posterior_mean": posterior.mean,
        "p_in_band": posterior.p_in_band,
    }
