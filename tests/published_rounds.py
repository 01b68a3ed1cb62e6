"""A small workspace with published rounds, made by hand: tables by deltalake, sets by pyarrow, pins and tags as a publication lays them. No JVM."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, write_deltalake

from jobs.config import load_config
from jobs.publish.history import TRAILER, History
from jobs.tracking.client import connected
from jobs.tracking.destination import destination
from jobs.views.figures import round_figures
from jobs.views.reader import LakeReader
from jobs.workspace import Workspace
from schemas.catalog import ALL_TABLES, TABLES
from schemas.datasets.catalog import ALL_SETS, SETS
from schemas.ids import canonical_json, content_id
from schemas.publication import MANIFEST_FILE, Manifest, Pin, PinnedSet, Segment, ShardFile, SourceTable
from schemas.table import LAKE_SCHEMA_VERSION

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
#: Text as a corpus may hold it: nothing of it may act anywhere.
HOSTILE = '<script>alert(1)</script> \'; DROP TABLE runs; -- $(touch pwned) `id` \u202e\x07 "x"\n# heading ![](http://127.0.0.1/x)'
_EMPTY = {pa.string(): "", pa.int32(): 0, pa.int64(): 0, pa.float64(): 0.0, pa.bool_(): False, pa.binary(): b""}
INGEST = content_id("ingest")


def filled(schema, values):
    """A row with the values that matter; the others are empty, or null where they may be."""
    unknown = sorted(set(values) - set(schema.names))
    assert not unknown, unknown
    out = {}
    for field in schema:
        if field.name in values:
            out[field.name] = values[field.name]
        elif field.nullable:
            out[field.name] = None
        else:
            out[field.name] = AT if pa.types.is_timestamp(field.type) else [] if pa.types.is_list(field.type) else _EMPTY[field.type]
    return out


def put(workspace, name, slice_value, *rows, fingerprint="f"):
    """Rows of one slice, committed as verilake's writer does."""
    table = TABLES[name]
    meta = canonical_json({"job": "test", "table": name, "slice": str(slice_value), "fingerprint": fingerprint, "batch": 1})
    write_deltalake(
        str(workspace.lake_root / table.path), pa.Table.from_pylist([filled(table.schema, row) for row in rows], schema=table.schema), mode="append",
        partition_by=[table.partition] if table.partition else None, commit_properties=CommitProperties(custom_metadata={"userMetadata": meta}),
    )  # fmt: skip


def lay(root):
    """A workspace with every table, an ingest of two documents and two tasks."""
    workspace = Workspace.init(root)
    for table in ALL_TABLES:
        write_deltalake(
            str(workspace.lake_root / table.path), table.schema.empty_table(), partition_by=[table.partition] if table.partition else None
        )
    (workspace.lake_root / "verilake.json").write_text(json.dumps({"schema_version": LAKE_SCHEMA_VERSION}))
    put(
        workspace,
        "bronze.documents",
        INGEST,
        *({"doc_id": f"d{n}", "ingest_id": INGEST, "text": HOSTILE, "uri": HOSTILE} for n in range(2)),
    )
    put(workspace, "silver.documents", INGEST, {"doc_id": "d0", "ingest_id": INGEST, "text": HOSTILE})
    put(workspace, "silver.qa", INGEST, *({"qa_id": f"q{n}", "ingest_id": INGEST} for n in range(3)))
    origin = f"ingest={INGEST}"
    put(workspace, "gold.tasks", origin, *({"task_id": f"t{n}", "version": 1, "origin": origin} for n in range(2)))
    put(workspace, "gold.prompts", origin, *({"prompt_id": f"p{n}", "origin": origin} for n in range(4)))
    return workspace


#: prompt, role, why, task type, samples, valid, correct: worked out by hand in the tests.
STATS = [
    ("e1", "eval", "eval_fixed", "cloze_year", 4, 4, 1),
    ("e2", "eval", "eval_fixed", "cloze_year", 4, 3, 3),
    ("e3", "eval", "eval_fixed", "cloze_name", 4, 0, 0),
    ("c1", "eval", "eval_collected", "cloze_name", 4, 4, 2),
    ("f1", "eval", "eval_fresh", "cloze_name", 4, 4, 4),
    ("p1", "train", "in_band", "cloze_year", 8, 8, 2),
    ("p2", "train", "format_share", HOSTILE, 8, 8, 6),
    ("p3", "probe", "probe_open_book", "cloze_year", 8, 8, 8),
]


def add_round(workspace, round_no, *, policy="reader-000000000000", stats=None, price=0.0):
    """One closed round."""
    plan_mark = f"plan {round_no}"
    rows = STATS if stats is None else stats
    put(workspace, "gold.round_plan", round_no, *(
        {"round": round_no, "prompt_id": p, "role": role, "why": why, "task_type": kind, "n_samples": n, "policy_id": policy}
        for p, role, why, kind, n, _, _ in rows
    ), fingerprint=plan_mark)  # fmt: skip
    put(workspace, "silver.task_stats", round_no, *(
        {"round": round_no, "prompt_id": p, "role": role, "task_type": kind, "n": n, "n_valid": valid, "k": k, "policy_id": policy}
        for p, role, _, kind, n, valid, k in rows
    ))  # fmt: skip
    metrics = [
        ("accepted_share", "all", "all", 30, 40), ("null_reward_share", "all", "all", 5, 40), ("null_reward_share", "task_type", "cloze_name", 4, 12),
        ("zero_variance_share", "role", "train", 1, 4), ("all_right_share", "role", "train", 0, 0), ("trainable_share", "all", "all", 16, 40),
        ("mean_length", "all", "all", 300, 40),
    ]  # fmt: skip
    put(workspace, "gold.round_metrics", round_no, *(
        {"round": round_no, "name": name, "slice_kind": kind, "slice": value, "numerator": over, "denominator": under}
        for name, kind, value, over, under in metrics
    ))  # fmt: skip
    put(workspace, "gold.worker_metrics", round_no, *(
        {"round": round_no, "name": "worker_z", "slice_kind": "worker", "slice": worker, "value": z} for worker, z in (("a", -2.5), (HOSTILE, 1.5))
    ))  # fmt: skip
    put(workspace, "bronze.rollouts", round_no, *(
        {"round": round_no, "prompt_id": "p1", "sample_index": n, "failure_class": "engine_error" if n == 3 else None} for n in range(4)
    ))  # fmt: skip
    put(workspace, "silver.calls", round_no, *(
        {"round": round_no, "call_id": f"{round_no}-{n}", "prompt_tokens": 10, "completion_tokens": 5, "price": price, "latency_ms": 0.1} for n in range(10)
    ))  # fmt: skip
    for name in ("gold.alerts", "gold.regression", "gold.repair_queue"):
        put(workspace, name, round_no)
    put(workspace, "gold.sft", round_no, {"round": round_no, "sft_id": f"s{round_no}"})
    put(workspace, "gold.preferences", round_no, {"round": round_no, "pair_id": f"y{round_no}"})
    put(workspace, "gold.rl", round_no, *({"round": round_no, "prompt_id": p} for p in ("p1", "p2")))
    reads = {"gold.tasks": {f"ingest={INGEST}": "f"}, "gold.prompts": {f"ingest={INGEST}": "f"}}
    jobs = [
        ("plan_round", plan_mark, "finished", 1.5, canonical_json(reads)),
        ("feed_back", "x", "failed", 0.25, "{}"),
        ("feed_back", "y", "finished", 2.25, "{}"),
    ]
    put(workspace, "ops.job_runs", "", *(
        {
            "event_id": content_id(round_no, job, mark), "job": job, "scope": f"round={round_no}", "fingerprint": mark, "state": state,
            "seconds": seconds, "reads": read, "writes": "{}", "counts": "{}",
        }
        for job, mark, state, seconds, read in jobs
    ))  # fmt: skip
    put(workspace, "ops.rounds", "", *(
        {"event_id": content_id(round_no, state), "round": round_no, "state": state, "seq": n, "policy_id": policy}
        for n, state in enumerate(("planned", "rolled_out", "checked", "closed"), 1)
    ))  # fmt: skip


def publish(workspace, round_no, *, attempt=1, campaign="verilake", conf=None, policy="reader-000000000000", figures=None, cached=False):
    """Sets and pin of a closed round, in the files that a publication lays."""
    sets = {}
    for dataset in ALL_SETS:
        folder = workspace.root / "datasets" / dataset.name
        folder.mkdir(parents=True, exist_ok=True)
        rows = [
            filled(dataset.schema, {dataset.key[-1]: f"{dataset.name}-{round_no}-{n}", "source": HOSTILE, "uri": HOSTILE}) for n in range(3)
        ]
        if dataset.name == "regression":
            rows = []
        table = pa.Table.from_pylist(rows, schema=dataset.schema)
        name = "all-00000.parquet"
        pq.write_table(table, folder / name)
        raw = (folder / name).read_bytes()
        shard = ShardFile(
            path=name,
            segment="all",
            bucket=0,
            rows=len(rows),
            bytes=len(raw),
            sha256=hashlib.sha256(raw).hexdigest(),
            checksum=f"{len(rows)}-0-0",
        )
        manifest = Manifest(
            dataset=dataset.name, campaign=campaign, round=round_no, columns=tuple((f.name, str(f.type), f.nullable) for f in dataset.schema),
            key=dataset.key, schema_hash="s", rows=len(rows), bytes=len(raw), files=(shard,),
            segments=(Segment(name="all", buckets=1, fingerprint="f", rows=len(rows)),),
            # Version 0 is a version.
            tables={"gold.rl": SourceTable(table_id="0b0e", version=0 if round_no == 1 else round_no, slices={str(round_no): "f"})},
            conf={}, code_hash="c", filters={}, templates={}, verifiers=(), writer={}, licences={"unknown": len(rows)}, sources={HOSTILE: len(rows)},
        )  # fmt: skip
        text = canonical_json(manifest.model_dump(mode="json")) + "\n"
        (folder / MANIFEST_FILE).write_text(text, "utf-8")
        sets[dataset.name] = PinnedSet(manifest_sha256=hashlib.sha256(text.encode()).hexdigest(), rows=len(rows), bytes=len(raw), files=1)
    assert set(sets) == set(SETS)
    pin = Pin(
        campaign=campaign, round=round_no, attempt=attempt, tag=f"round-{round_no}" + (f".{attempt}" if attempt > 1 else ""), policy_id=policy,
        sets=sets, tables={}, eval_digest="e" * 32, collected_digest="", conf=conf or {"plan": {"band": [0.1, 0.9], "eval_prompts": 96}},
        code_hash="c", filters={"curate": "1"}, templates={"answer_only": "2"}, verifiers=("number@1",),
        figures=round_figures(LakeReader.open(workspace), round_no) if figures is None else figures,
    )  # fmt: skip
    (workspace.root / "pins").mkdir(exist_ok=True)
    path = f"pins/round-{round_no}.json"
    (workspace.root / path).write_text(canonical_json(pin.model_dump(mode="json")) + "\n", "utf-8")
    paths = [path, *([_into_cache(workspace)] if cached else [])]
    history, mark = History(workspace.root), hashlib.sha256((workspace.root / path).read_bytes()).hexdigest()[:32]
    history.tag(pin.tag, history.commit(paths, f"Publish {pin.tag}\n\n{TRAILER} {pin.tag} {mark}\n", AT))
    return pin


def _into_cache(workspace):
    """The sets into DVC's cache as `dvc commit` lays them, and dvc.lock; returns the lock's path."""
    outs = []
    for dataset in ALL_SETS:
        paths = sorted((workspace.root / "datasets" / dataset.name).iterdir())
        entries = [{"md5": _object(workspace, path.read_bytes()), "relpath": path.name} for path in paths]
        outs.append({"path": f"datasets/{dataset.name}", "md5": _object(workspace, json.dumps(entries).encode(), ".dir")})
    (workspace.root / "dvc.lock").write_text(json.dumps({"schema": "2.0", "stages": {"publish": {"outs": outs}}}))
    return "dvc.lock"


def _object(workspace, content, suffix=""):
    md5 = hashlib.md5(content, usedforsecurity=False).hexdigest() + suffix
    path = workspace.root / ".dvc" / "cache" / "files" / "md5" / md5[:2] / md5[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return md5


_STORES = []


def migrated_store(tmp_path_factory):
    """An empty MLflow store, made once a process: its migrations cost eight seconds, a copy nothing."""
    if not _STORES:
        root = tmp_path_factory.mktemp("store")
        with connected(destination(load_config().track, Workspace(root)), 10) as client:
            client.search_experiments()
        _STORES.append(root / "mlflow.db")
    return _STORES[0]
