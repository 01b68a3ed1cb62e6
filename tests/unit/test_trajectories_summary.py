"""The fold of one prompt's samples into silver.task_stats."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from schemas.silver.task_stats import TASK_STATS
from udfs.trajectories.summary import Belief, fold_samples, hash_batches, sampling_hash, summarise_batches


def sample(index, reward, answer, *, agrees=None, run="r"):
    solved = reward == 1.0
    return {
        "run_id": run, "sample_index": index, "trajectory_id": f"{run}{index}", "reward": reward, "solved": solved,
        "agrees": solved if agrees is None else agrees, "answer": answer,
    }  # fmt: skip


def test_fold():
    samples = [sample(0, 1.0, "Rome"), sample(1, 0.0, "Bern"), sample(2, 0.0, "BERN "), sample(3, None, "Rome"), sample(4, 0.0, None)]
    got = fold_samples(samples)
    assert (got["n"], got["n_valid"], got["k"], got["reward_mean"]) == (5, 4, 1, 0.25)
    # [1, 0, 0, 0]: sum of squares 9/16 + 3/16 = 3/4 -> unbiased sqrt(1/4), population sqrt(3/16)
    assert (got["reward_std_unbiased"], got["reward_std_population"]) == (0.5, pytest.approx(0.1875**0.5, rel=1e-15))
    assert (got["majority_answer"], got["majority_count"], got["majority_is_gold"]) == ("bern", 2, False)
    assert all(fold_samples(order) == got for order in itertools.permutations(samples))


def test_a_right_answer_in_a_wrong_form_does_not_doubt_the_gold():
    got = fold_samples([sample(i, 0.0, "Rome", agrees=True) for i in range(8)])
    assert (got["k"], got["majority_is_gold"], got["zero_variance"]) == (0, True, True)


def test_all_unknown_and_single():
    gone = fold_samples([sample(i, None, None) for i in range(3)])
    assert (gone["n"], gone["n_valid"], gone["reward_mean"], gone["zero_variance"], gone["majority_is_gold"]) == (3, 0, None, False, None)
    one = fold_samples([sample(0, 1.0, "x")])
    assert (one["reward_mean"], one["reward_std_unbiased"], one["zero_variance"]) == (1.0, 0.0, True)


def test_rows_have_the_schema_of_the_table_and_pool_what_they_are_told():
    row = {
        "prompt_id": "p", "policy_id": "pol", "sampling_hash": "s", "context_mode": "choice", "round": 2, "task_id": "t", "task_type": "k", "role": "train",
        "options": 4, "pooled_n": 16, "pooled_k": 10, "samples": [sample(i, float(i < 5), "Rome") for i in range(8)],
    }  # fmt: skip
    [batch] = summarise_batches([pa.RecordBatch.from_pylist([row])], Belief(prior=(0.5, 0.5), band=(0.1, 0.9)))
    assert batch.schema.equals(TASK_STATS.schema)
    [got] = batch.to_pylist()
    # 10 of 16 among four: 10 - 4 = 6 of 12 effective samples
    assert (got["posterior_alpha"], got["posterior_beta"], got["posterior_mean"], got["guess_rate"]) == (6.5, 6.5, 0.5, 0.25)
    assert (got["n"], got["k"], got["pooled_n"], got["pooled_k"]) == (8, 5, 16, 10)


def test_sampling_hash_tells_distributions_apart():
    base = (1.0, 1.0, "processed", "reader")
    others = [
        (0.5, 1.0, "processed", "reader"),
        (1.0, 0.9, "processed", "reader"),
        (1.0, 1.0, "raw", "reader"),
        (1.0, 1.0, "processed", "vllm"),
    ]
    assert len({sampling_hash(*parts) for parts in [base, *others]}) == 5
    names = ["temperature", "top_p", "logprobs_mode", "engine"]
    [batch] = hash_batches([pa.RecordBatch.from_pylist([dict(zip(names, base, strict=True))])])
    assert batch.column("sampling_hash").to_pylist() == [sampling_hash(*base)]
