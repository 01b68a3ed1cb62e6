"""A small lake made by hand, with closed rounds that can be published: consistent over plan, tasks, prompts, documents and gold. No JVM."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pyarrow as pa
from deltalake import CommitProperties, write_deltalake

from jobs.workspace import Workspace
from schemas.catalog import ALL_TABLES, TABLES
from schemas.ids import canonical_json, content_id
from schemas.table import LAKE_SCHEMA_VERSION

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
#: Text as a corpus may hold it: nothing of it may act anywhere.
HOSTILE = "\"; $(touch pwned) `touch pwned` '; DROP TABLE gold.rl; --\n--help\n- x: {y}\n<script>\u202e"
INGEST = content_id("first ingest")
POLICY = "reader-000000000000"
_EMPTY = {"string": "", "int32": 0, "int64": 0, "double": 0.0, "bool": False}


def filled(schema, values):
    """A row with the values that matter; the others are empty, or null where they may be."""
    unknown = sorted(set(values) - set(schema.names))
    assert not unknown, unknown
    rest = {
        f.name: None
        if f.nullable
        else AT
        if pa.types.is_timestamp(f.type)
        else []
        if pa.types.is_list(f.type)
        else _EMPTY.get(str(f.type), b"")
        for f in schema
    }
    return {**rest, **values}


def put(workspace, name, slice_value, rows, fingerprint="1"):
    """Replace one slice, committed as verilake's writer does."""
    table = TABLES[name]
    meta = canonical_json({"job": "test", "table": name, "slice": str(slice_value), "fingerprint": fingerprint, "batch": 1})
    where = f"{table.partition} = {slice_value!r}" if table.partition else None
    write_deltalake(
        str(workspace.lake_root / table.path), pa.Table.from_pylist([filled(table.schema, row) for row in rows], schema=table.schema),
        mode="overwrite" if where else "append", predicate=where, commit_properties=CommitProperties(custom_metadata={"userMetadata": meta}),
    )  # fmt: skip


def doc_of(number):
    return content_id("doc", number)


def lay(root, tasks=40, origins=1):
    """Tables, an ingest with a document and a task each, a prompt a task; tasks spread over ``origins`` ingests."""
    workspace = Workspace.init(root)
    for table in ALL_TABLES:
        write_deltalake(
            str(workspace.lake_root / table.path), table.schema.empty_table(), partition_by=[table.partition] if table.partition else None
        )
    (workspace.lake_root / "verilake.json").write_text(json.dumps({"schema_version": LAKE_SCHEMA_VERSION}))
    for origin in range(origins):
        add_ingest(workspace, origin, range(origin, tasks, origins))
    return workspace


def ingest_of(origin):
    return INGEST if origin == 0 else content_id("ingest", origin)


def add_ingest(workspace, origin, numbers, fingerprint="1"):
    ingest, name = ingest_of(origin), f"ingest={ingest_of(origin)}"
    put(workspace, "silver.documents", ingest, [
        {"doc_id": doc_of(n), "ingest_id": ingest, "source": ("wiki", HOSTILE)[n % 2], "uri": f"{HOSTILE}/{n}", "cluster_id": doc_of(n),
         "licence": (None, "CC-BY", HOSTILE)[n % 3], "text": f"text {n}"}
        for n in numbers
    ], fingerprint)  # fmt: skip
    put(workspace, "gold.tasks", name, [
        {"task_id": f"t{n}", "version": 1, "origin": name, "kind": "cloze", "split": "eval" if n < 4 else "train", "status": "active", "question": f"q{n}",
         "answer": f"a{n}", "verifier": "text@1", "cluster_id": doc_of(n), "doc_id": doc_of(n), "licence": (None, "CC-BY", HOSTILE)[n % 3]}
        for n in numbers
    ], fingerprint)  # fmt: skip
    put(workspace, "gold.prompts", name, [
        {"prompt_id": f"p{n}", "origin": name, "task_id": f"t{n}", "task_version": 1, "form": "answer_only", "template": "answer_only@1",
         "context_mode": "closed_book", "text": f"{HOSTILE} {n}", "options": "[]", "contract": "{}"}
        for n in numbers
    ], fingerprint)  # fmt: skip


def add_round(workspace, round_no, *, train, fingerprint="1", mark="", origins=1, bulk=1, known=1):
    """A closed round that trained tasks ``train``; tasks 0 to 2 are its fixed eval rows, task 3 was held out and failed.

    ``known`` is how many ingests there were when it was planned.
    """
    plan_mark = f"plan {round_no} {fingerprint}"
    planned = [(n, "eval", "eval_fixed") for n in range(3)] + [(3, "eval", "eval_fresh")] + [(n, "train", "in_band") for n in train]
    put(workspace, "gold.round_plan", round_no, [
        {"round": round_no, "prompt_id": f"p{n}", "task_id": f"t{n}", "task_version": 1, "role": role, "why": why, "task_type": "cloze", "n_samples": 4,
         "seed": n if role == "eval" else round_no * 1000 + n, "policy_id": POLICY}
        for n, role, why in planned
    ], plan_mark)  # fmt: skip
    put(workspace, "silver.task_stats", round_no, [
        {"round": round_no, "prompt_id": f"p{n}", "role": role, "task_type": "cloze", "n": 4, "n_valid": 4, "k": n % 5, "policy_id": POLICY, "sampling_hash": "s"}
        for n, role, _ in planned
    ])  # fmt: skip
    put(workspace, "silver.trajectories", round_no, [
        {"round": round_no, "trajectory_id": f"{round_no}-{n}", "prompt_id": f"p{n}", "role": role, "policy_id": POLICY} for n, role, _ in planned
    ])  # fmt: skip
    put(workspace, "silver.rewards", round_no, [
        {"round": round_no, "trajectory_id": f"{round_no}-{n}", "verifier_name": "text", "verifier_version": "1", "is_outcome": True, "verdict": "correct"}
        for n, _, _ in planned
    ])  # fmt: skip
    row = {"round": round_no, "task_type": "cloze"}
    text = lambda n: f"{HOSTILE} {mark} {round_no} {content_id(n, round_no) * bulk}"  # noqa: E731
    put(workspace, "gold.rl", round_no, [
        {**row, "prompt_id": f"p{n}", "task_id": f"t{n}", "task_version": 1, "prompt": text(n), "weight": -0.0 if n % 2 else 0.0, "doc_id": doc_of(n),
         "cluster_id": doc_of(n), "origin": f"ingest={ingest_of(n % origins)}", "licence": (None, "CC-BY", HOSTILE)[n % 3], "policy_id": POLICY}
        for n in train
    ], fingerprint)  # fmt: skip
    put(workspace, "gold.sft", round_no, [
        {**row, "sft_id": f"s{round_no}-{n}", "prompt_id": f"p{n}", "task_id": f"t{n}", "response": text(n), "reward": 1.0} for n in train
    ], fingerprint)  # fmt: skip
    put(workspace, "gold.preferences", round_no, [
        {**row, "pair_id": f"y{round_no}-{n}", "prompt_id": f"p{n}", "task_id": f"t{n}", "chosen": text(n), "score_gap": 1.0} for n in train[:2]
    ], fingerprint)  # fmt: skip
    failed = [{**row, "prompt_id": "p3", "task_id": "t3", "policy_id": POLICY, "n_valid": 4, "why": "all_wrong"}] if round_no > 1 else []
    put(workspace, "gold.regression", round_no, failed, fingerprint)
    reads = {"gold.tasks": {f"ingest={ingest_of(origin)}": "1" for origin in range(known)}}
    put(workspace, "ops.job_runs", "", [
        {"event_id": content_id(plan_mark), "job": "plan_round", "scope": f"round={round_no}", "fingerprint": plan_mark, "state": "finished",
         "reads": canonical_json(reads), "writes": "{}", "counts": "{}", "at": AT}
    ])  # fmt: skip
    put(workspace, "ops.rounds", "", [
        {"event_id": content_id(round_no, state, fingerprint), "round": round_no, "state": state, "seq": seq, "policy_id": POLICY, "detail": "{}", "at": AT}
        for seq, state in enumerate(("planned", "rolled_out", "checked", "closed"), 1)
    ])  # fmt: skip
