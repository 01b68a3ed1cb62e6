"""Small planned runs for workers with an engine."""

from __future__ import annotations

import shutil

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.handoff import SAMPLED, RunPlan
from udfs.store.run import HandoffRun, to_bytes


def lay_run(folder, program, engine, shards, schema, settings, policy=None, **plan):
    """A planned run of the given items {shard: rows}, with a checkpoint in ``plan/policy`` where one is given."""
    run = HandoffRun(folder)
    if policy is not None:
        shutil.copytree(policy, run.policy_folder())
    rows = {}
    for sid, items in shards.items():
        path = run.files.path(f"shards/{sid}.parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(items, schema=schema), path)
        rows[sid] = sum(item["n_samples"] for item in items) if program in SAMPLED else len(items)
    given = {"lease_seconds": 30.0, "max_attempts": 3, "round": 1, "policy_id": "policy-0", "policy_version": 0} | plan
    made = RunPlan(run_id="r1", program=program, engine=engine, shards=tuple(rows), rows=rows, settings=settings, fingerprint="f", **given)
    run.store.put("plan/plan.json", to_bytes(made))
    return run
