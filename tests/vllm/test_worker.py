"""A worker process with the vLLM engine: it drains a small run, takes newer weights between groups, and leaves no process behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpu_workers.engines.reaper import descendants
from schemas.handoff import ROLLOUT_SHARD
from schemas.ids import content_id
from tests.engine_runs import lay_run
from udfs.store.parts import judge_commit, read_part

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = ("in_flight=16", "max_model_len=512", "kv_cache_gib=0.25", "enforce_eager=true", "dtype=float32")


def start(run, worker_id="w"):
    options = [word for option in OPTIONS for word in ("--engine-option", option)]
    command = [sys.executable, "-m", "gpu_workers", "--run", run.store.uri, "--worker-id", worker_id, "--poll-seconds", "0.1", *options]
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def prompts(count, samples):
    return [
        {
            "prompt_id": content_id("prompt", k), "round": 1, "system": "Be brief.", "text": f"How long is river {k}?", "question": "", "subject": "",
            "context": None, "options": "[]", "form": "answer_only", "n_samples": samples, "seed": k,
        }
        for k in range(count)
    ]  # fmt: skip


def wait_for(condition, process, seconds=240):
    deadline = time.monotonic() + seconds
    while not condition():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            pytest.fail(f"the worker ended or never got there:\n{process.communicate()[1][-4000:]}")
        time.sleep(0.1)


def test_a_worker_that_was_killed_leaves_no_process_and_the_next_one_drains_the_run(tmp_path, tiny):
    settings = {"temperature": 0.7, "max_response_tokens": 200, "follow_policy": True}
    run = lay_run(tmp_path, "rollout", "vllm", {"s0": prompts(12, 4), "s1": prompts(24, 4)[12:]}, ROLLOUT_SHARD, settings, tiny[0])
    killed = start(run, "first")
    wait_for(lambda: run.attempts("s0") or run.attempts("s1"), killed)
    family = descendants(killed.pid)
    assert len(family) >= 2  # the core, and the one that watches over it
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in family) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert [pid for pid in family if Path(f"/proc/{pid}").exists()] == []

    process = start(run, "second")
    wait_for(run.committed, process)
    lay_newer(run, tiny[1], 1)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err[-4000:]
    assert all(json.loads(line)["event"] == "committed" for line in out.splitlines())  # stdout is the worker's own
    rows = rows_of(run)
    assert len(rows) == 24 * 4
    assert {row["failure_class"] for row in rows} == {None}
    for row in rows:
        assert len(row["response_token_ids"]) == len(row["response_logprobs"])
        assert row["prompt_text"].startswith("<s><|start|>system")
        assert (row["dtype"], row["logprobs_mode"], len(row["chat_template_sha256"])) == ("float32", "processed", 64)
        assert set(row["weight_versions"]) == {row["policy_version"]}  # no sample was drawn by two
        assert row["policy_id"] == {0: "policy-0", 1: "policy-1"}[row["policy_version"]]
    assert {row["policy_version"] for row in rows} == {0, 1}
    siblings = {}
    for row in rows:
        siblings.setdefault(row["prompt_id"], set()).add(tuple(row["response_token_ids"]))
    assert {len(texts) for texts in siblings.values()} == {4}


def lay_newer(run, folder, version):
    for file in folder.iterdir():
        run.store.put(f"policy/{version}/{file.name}", file.read_bytes())
    run.store.put(f"policy/{version}/READY", json.dumps({"policy_id": f"policy-{version}"}).encode())


def rows_of(run):
    rows = []
    for sid in run.plan.shards:
        commit = run.commit(sid)
        assert judge_commit(run, commit) is None
        for part in commit.files:
            rows += read_part(run.store, run.plan, part).to_pylist()
    return rows
