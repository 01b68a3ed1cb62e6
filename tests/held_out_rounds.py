"""Closed rounds with held-out prompts only, laid by hand: counts are worked out in the tests. No JVM."""

from __future__ import annotations

from schemas.ids import canonical_json, content_id
from tests.published_rounds import lay, put

#: prompt -> (why, kind, cluster, correct, known, samples).
ROWS = {
    "e1": ("eval_fixed", "cloze_year", "c1", 1, 4, 4),
    "e2": ("eval_fixed", "cloze_year", "c1", 3, 3, 4),
    "e3": ("eval_fixed", "cloze_name", "c2", 0, 0, 4),
    "e4": ("eval_fixed", "cloze_name", "c3", 2, 4, 4),
    "x1": ("eval_collected", "cloze_name", "c4", 1, 4, 4),
    "x2": ("eval_collected", "cloze_name", "c5", 0, 4, 4),
    "f1": ("eval_fresh", "cloze_name", "c6", 4, 4, 4),
}
ORIGIN = f"ingest={content_id('ingest')}"


def laid(root, prompts=ROWS):
    """A workspace whose pool holds these prompts, one task each."""
    workspace = lay(root)
    put(workspace, "gold.prompts", "held", *(
        {"prompt_id": p, "origin": "held", "task_id": f"t-{p}", "task_version": 1, "contract": contract(p), "template": "answer_only@1"} for p in prompts
    ))  # fmt: skip
    put(workspace, "gold.tasks", "held", *(
        {"task_id": f"t-{p}", "version": 1, "origin": "held", "cluster_id": row[2]} for p, row in prompts.items()
    ))  # fmt: skip
    return workspace


def contract(prompt_id):
    return canonical_json({"gold": prompt_id})


def add_round(
    workspace, number, rows=ROWS, *, policy="reader-1", sampling="s" * 32, verifier=("contract", "1"), seeds=None, train=(), conf_hash="h", reads=None
):  # fmt: skip
    """A round that rolled out ``rows`` and trained on prompts ``train``."""
    put(workspace, "gold.round_plan", number, *(
        {
            "round": number, "prompt_id": p, "task_id": f"t-{p}", "task_version": 1, "role": "eval", "why": why, "task_type": kind, "n_samples": n,
            "seed": (seeds or {}).get(p, 7), "policy_id": policy, "context_mode": "closed_book",
        }
        for p, (why, kind, _, _, _, n) in rows.items()
    ), *(
        {"round": number, "prompt_id": p, "task_id": f"t-{p}", "task_version": 1, "role": "train", "why": "in_band", "n_samples": 8, "policy_id": policy}
        for p in train
    ))  # fmt: skip
    put(workspace, "silver.task_stats", number, *(
        {"round": number, "prompt_id": p, "role": "eval", "policy_id": policy, "sampling_hash": sampling, "n": n, "n_valid": valid, "k": k}
        for p, (_, _, _, k, valid, n) in rows.items()
    ))  # fmt: skip
    put(workspace, "silver.trajectories", number, *(
        {"round": number, "trajectory_id": f"{number}-{p}", "prompt_id": p, "role": "eval"} for p in rows
    ))  # fmt: skip
    name, version = verifier
    put(workspace, "silver.rewards", number, *(
        {
            "round": number, "trajectory_id": f"{number}-{p}", "reward_name": "correct", "is_outcome": True, "verifier_name": name,
            "verifier_version": version,
        }
        for p in rows
    ))  # fmt: skip
    put(workspace, "gold.regression", number)
    put(workspace, "ops.job_runs", "", *(
        {
            "event_id": content_id(number, job), "job": job, "scope": f"round={number}", "fingerprint": f"{job} {number}", "state": "finished",
            "reads": canonical_json(reads or {"gold.tasks": {ORIGIN: "admit 1"}}), "writes": "{}", "counts": "{}", "conf_hash": conf_hash, "code_hash": "code",
        }
        for job in ("plan_round", "feed_back")
    ))  # fmt: skip
