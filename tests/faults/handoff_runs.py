"""Small hand-off runs for the tests of workers, and worker processes that may be killed at a named instant."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gpu_workers.log import Log
from gpu_workers.programs.registry import build_program
from gpu_workers.worker import Worker
from schemas.handoff import CONVERT_SHARD, EARLIER, ROLLOUT_SHARD, RunPlan
from schemas.ids import content_id
from udfs import extract
from udfs.reader.checkpoint import base_checkpoint
from udfs.reader.passages import passages_of
from udfs.reader.trie import VOCAB
from udfs.replies.request import extract_request
from udfs.store.parts import judge_commit, read_part
from udfs.store.run import HandoffRun, to_bytes

ROOT = Path(__file__).resolve().parents[2]
#: Columns of a part that differ between runs of equal work.
VOLATILE = {"worker_id", "attempt", "started_at", "finished_at", "seconds", "turn_seconds"}


def lay_rollout(folder, shards=2, prompts=8, samples=3, **plan):
    """A planned rollout run over a few passages."""
    run = HandoffRun(folder)
    documents = pa.RecordBatch.from_pydict({
        "doc_id": [f"d{k}" for k in range(6)],
        "title": [f"River {k}" for k in range(6)],
        "text": [f"River {k} is {100 + k} km long. It flows past Town{k} into Lake{k}." for k in range(6)],
    })  # fmt: skip
    (run.store.path("plan/policy")).mkdir(parents=True)
    pq.write_table(pa.Table.from_batches([passages_of(documents)]), run.store.path("plan/policy/passages.parquet"))
    checkpoint = base_checkpoint()
    run.store.put("plan/policy/weights.json", checkpoint.to_bytes())
    rows = {}
    for s in range(shards):
        items = [_prompt(s * prompts + k, samples) for k in range(prompts)]
        _write_shard(run, f"s{s}", items, ROLLOUT_SHARD)
        rows[f"s{s}"] = prompts * samples
    settings = {"temperature": 1.0, "max_response_tokens": 128, "passages_per_question": 3, "vocab": VOCAB}
    _plan(run, "rollout", "reader", rows, settings, round=1, policy_id=checkpoint.policy_id, **plan)
    return run


def lay_convert(folder, documents, **plan):
    """A planned convert run of one shard: (text, earlier reply or None) a document."""
    run = HandoffRun(folder)
    settings = {"engine_version": extract.VERSION, "template": f"extractive@{extract.VERSION}", "max_items": 4}
    items = [convert_item(k, text) for k, (text, _) in enumerate(documents)]
    for item, (_, reply) in zip(items, documents, strict=True):
        if reply is not None:
            request = extract_request("extractive", extract.VERSION, settings["template"], item, 0)
            item["earlier"] = [earlier_reply(request_hash=request, reply=reply)]
    _write_shard(run, "s0", items, CONVERT_SHARD)
    _plan(run, "convert", "extractive", {"s0": len(items)}, settings, **plan)
    return run


def convert_item(k, text, **given):
    """A document of a shard of conversion."""
    return {
        "ingest_id": "i", "doc_id": f"d{k}", "source": "s", "uri": f"u{k}", "title": f"pkg.f{k}", "text": text,
        "metadata": '{"kind":"function"}', "audit": None, "earlier": [], **given,
    }  # fmt: skip


def earlier_reply(**given):
    """A reply of an earlier run, as a shard carries it."""
    zeros = {pa.string(): "", pa.int32(): 0, pa.int64(): 0, pa.float64(): 0.0}
    fields = [EARLIER.field(i) for i in range(EARLIER.num_fields)]
    empty = {field.name: None if field.nullable else zeros.get(field.type, datetime(2026, 1, 1, tzinfo=UTC)) for field in fields}
    return {**empty, "finish_reason": "stop", **given}


def _prompt(k, samples):
    question = f"How long is River {k % 6}?"
    return {
        "prompt_id": content_id("prompt", k), "round": 1, "system": "", "text": question, "question": question, "subject": f"River {k % 6}",
        "context": None, "options": "[]", "form": "answer_only", "n_samples": samples, "seed": k,
    }  # fmt: skip


def _write_shard(run, sid, items, schema):
    path = run.store.path(f"shards/{sid}.parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(items, schema=schema), path)


def _plan(run, program, engine, rows, settings, **plan):
    given = {"lease_seconds": 30.0, "max_attempts": 3, "fingerprint": "f"} | plan
    made = RunPlan(run_id="r1", program=program, engine=engine, shards=tuple(rows), rows=rows, settings=settings, **given)
    run.store.put("plan/plan.json", to_bytes(made))


def start(run, *arguments, kill_at=None, worker_id="w"):
    """A worker process; ``kill_at`` is the instant at which it kills itself."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)} | ({"VERILAKE_KILL_AT": kill_at} if kill_at else {})
    command = [
        sys.executable,
        "-m",
        "gpu_workers",
        "--run",
        run.store.uri,
        "--worker-id",
        worker_id,
        "--poll-seconds",
        "0.05",
        *arguments,
    ]
    return subprocess.Popen(command, cwd="/", env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def work(run, *arguments, **further):
    """Run a worker to its end: exit code, events on stdout, events on stderr."""
    process = start(run, *arguments, **further)
    out, err = process.communicate(timeout=120)
    return process.returncode, [json.loads(line) for line in out.splitlines()], [json.loads(line) for line in err.splitlines()]


def committed_rows(run):
    """All rows of all commits, without what records time and machine, in order; every commit is sound."""
    rows = []
    for sid in sorted(run.committed()):
        commit = run.commit(sid)
        assert judge_commit(run, commit) is None
        for part in commit.files:
            rows += read_part(run.store, run.plan, part).to_pylist()
    kept = [{name: value for name, value in row.items() if name not in VOLATILE} for row in rows]
    return sorted(kept, key=lambda row: json.dumps(row, sort_keys=True))


def start_forked(run, *arguments, environment=None):
    """Workers as forks of one process (tests.faults.forked_workers)."""
    command = [sys.executable, "-m", "tests.faults.forked_workers", run.store.uri, *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def work_forked(run, *arguments, environment=None, timeout=240):
    """The same, to their end: exit code, what the last line says, events on stderr."""
    process = start_forked(run, *arguments, environment=environment)
    out, err = process.communicate(timeout=timeout)
    return process.returncode, json.loads(out.splitlines()[-1]), [json.loads(line) for line in err.splitlines()]


def ingest(run):
    """What the jobs' side does with commits, without a lake: unsound ones are refused, the others' rows returned. Reasons by shard, too."""
    reasons = {}
    for sid in sorted(run.committed()):
        commit = run.commit(sid)
        reason = judge_commit(run, commit)
        if reason is not None:
            reasons[sid] = reason
            run.quarantine(commit, reason)
    return reasons


def drain_here(run, worker_id="w"):
    """A real worker in this process, for faults of files and not of processes: its exit code."""
    return Worker(run, build_program(run, {}), worker_id, Log(run.plan.run_id, worker_id), lambda: False, 0.05).drain()
