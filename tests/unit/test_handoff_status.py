"""What `verilake handoff` shows, asks of workers, and removes: on runs of real workers, without a JVM."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from jobs.cli.main import run as verilake
from jobs.handoff.gc import clear, garbage
from jobs.handoff.pressure import Pressure, is_stale
from jobs.handoff.status import read_run
from jobs.workspace import Workspace
from schemas.conf import Handoff
from schemas.handoff import Claim
from tests.faults.handoff_runs import committed_rows, drain_here, ingest, lay_rollout, work
from udfs.store.run import claim_name, to_bytes


@pytest.fixture
def workspace(tmp_path):
    return Workspace.init(tmp_path / "ws")


@pytest.fixture
def laid(workspace):
    return lay_rollout(workspace.handoff_root / "rollout" / "run=r1", shards=3)


def said(capsys, *arguments):
    """The JSON object of a verb that ends well."""
    assert verilake([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def age(run, seconds):
    """Everything in the run was written so long ago."""
    for path in run.store.root.rglob("*"):
        if path.is_file():
            os.utime(path, (time.time() - seconds, time.time() - seconds))


def test_status_tells_shards_leases_rates_failures_and_control(laid, workspace, capsys):
    assert work(laid, kill_at="part_flushed:2", worker_id="gone")[0] == -signal.SIGKILL
    laid.store.create_if_absent(claim_name("s2", 1), to_bytes(Claim(shard="s2", attempt=1, worker_id="far", host="elsewhere", pid=1)))
    begun = next(sid for sid in laid.plan.shards if laid.store.list(f"out/{sid}"))
    stalled = {begun: ("gone", 4)} if begun != "s2" else {}
    laid.store.put("control/min_policy_version", b"0\n")
    found = said(capsys, "handoff", "status", "-w", workspace.root)
    (run,) = found["runs"]
    assert found["pressure"] is None
    assert run["shards"] == {"committed": 0, "dead": 0, "leased": 1, "stalled": len(stalled), "open": 2 - len(stalled)}
    by_shard = {lease["shard"]: lease for lease in run["leases"]}
    assert by_shard["s2"]["live"]
    assert 0 <= by_shard["s2"]["age_seconds"] < 30
    for sid, (worker, done) in stalled.items():
        assert (by_shard[sid]["worker_id"], by_shard[sid]["live"], by_shard[sid]["done"]) == (worker, False, done)
    assert run["control"] == {"min_policy_version": "0"}


def test_status_after_the_end_tells_what_failed_and_who_was_how_fast(laid, workspace, capsys):
    poison = laid.shard_items("s1").column("prompt_id").to_pylist()[5]
    assert work(laid, "--workers", "1", kill_at=f"item={poison}")[0] == 0
    spoiled = laid.commit("s0")
    laid.store.path(spoiled.files[0].path).write_bytes(b"")
    assert ingest(laid) != {}
    (run,) = said(capsys, "handoff", "status", "-w", workspace.root, "--run", "r")["runs"]
    assert run["failures"] == {"poison": 3}
    assert run["rows"] == 2 * 8 * 3
    assert (run["quarantined"], run["dead"]) == (1, 0)
    assert run["refused"][0][:2] == ["s0", spoiled.attempt]
    assert sum(rate["rows"] for rate in run["workers"]) == run["rows"]
    assert all(rate["per_second"] > 0 for rate in run["workers"])
    assert verilake(["handoff", "status", "-w", str(workspace.root)]) == 0
    shown = capsys.readouterr().out
    assert "poison 3" in shown
    assert "refused: rollout r1 shard s0" in shown
    assert not read_run(laid).taken_in


def test_letters_are_named(laid, workspace, capsys):
    laid.store.path("shards/s0.parquet").write_bytes(b"PAR1 cut off")
    assert drain_here(laid) == 5
    (run,) = said(capsys, "handoff", "status", "-w", workspace.root)["runs"]
    assert (run["dead"], run["letters"][0][:2]) == (1, ["s0", "engine_error"])
    assert "shards/s0.parquet" in run["letters"][0][2]


def test_pause_resume_stop_and_min_policy_write_what_workers_read(laid, workspace, capsys):
    where = ("-w", workspace.root)
    assert said(capsys, "handoff", "pause", *where) == {"runs": ["r1"]}
    said(capsys, "handoff", "min-policy", 3, *where)
    assert (laid.store.list("control"), laid.min_policy_version()) == (["min_policy_version", "pause"], 3)
    said(capsys, "handoff", "stop", "--run", "r", *where)
    assert work(laid)[0] == 4
    said(capsys, "handoff", "min-policy", 0, *where)
    said(capsys, "handoff", "resume", *where)
    assert laid.store.list("control") == []
    assert said(capsys, "work", *where, "--workers", 1) == {"drained": ["r1"]}
    assert said(capsys, "handoff", "pause", *where) == {"runs": []}, "nothing is open"
    assert said(capsys, "work", "convert", *where) == {"drained": []}
    assert verilake(["handoff", "stop", "--run", "x", *map(str, where)]) == 3
    assert "no hand-off runs begin so" in capsys.readouterr().err


def test_a_workers_interpreter_that_is_not_there_is_named(laid, workspace, capsys):
    assert verilake(["work", "-w", str(workspace.root), "--set", "work.python=/nowhere/python"]) == 1
    assert "/nowhere/python: cannot be started" in capsys.readouterr().err


def test_gc_removes_what_no_commit_names_and_nothing_else(laid, workspace, capsys):
    assert work(laid, kill_at="part_flushed:2")[0] == -signal.SIGKILL
    (first,) = laid.store.list("out")
    stray = f"out/{first}/1/part-00009-{'0' * 64}.parquet"
    laid.store.put(stray, b"of a writer that died")
    laid.store.put(f"superseded/{first}/7/part-00000-x.parquet", b"came second")
    laid.store.put(".tmp/abc", b"private")
    age(laid, 10_000)
    assert [entry.name for entry in garbage(laid)] == [".tmp/abc"], "a shard without commit may still adopt all that lies there"
    clear(laid, garbage(laid))
    assert drain_here(laid) == 0
    rows = committed_rows(laid)
    assert garbage(laid) == [], "the commit is younger than two leases"
    spoiled = laid.commit("s0" if first != "s0" else "s1")
    laid.store.path(spoiled.files[0].path).write_bytes(b"")
    ingest(laid)
    drain_here(laid, "second")
    age(laid, 10_000)
    found = garbage(laid)
    assert sorted(entry.name for entry in found) == sorted([stray, f"superseded/{first}/7/part-00000-x.parquet"])
    assert said(capsys, "handoff", "gc", "-w", workspace.root, "--dry-run")["files"] == 2
    assert said(capsys, "handoff", "gc", "-w", workspace.root) == {"files": 2, "bytes": sum(e.size for e in found), "dry_run": False}
    clear(laid, found)  # a second collector at the same time
    assert garbage(laid) == []
    assert committed_rows(laid) == rows
    assert {part.path for part in spoiled.files} <= {f"out/{spoiled.shard}/1/{name}" for name in laid.store.list(f"out/{spoiled.shard}/1")}


@pytest.mark.parametrize(
    ("staleness", "version", "batch", "ingested", "leased", "open_", "room"),
    [
        (0, 0, 100, 0, 0, 0, 100),  # strictly on-policy: one batch at a time
        (0, 0, 100, 100, 0, 0, 0),
        (0, 1, 100, 100, 0, 0, 100),  # the trainer took it
        (2, 0, 100, 0, 0, 0, 300),
        (2, 5, 100, 500, 120, 80, 100),  # (2 + 5 + 1) * 100 - (500 + 120) - 80
        (1, 0, 100, 150, 60, 30, -40),
    ],
)
def test_room_is_the_formula_of_the_bound(staleness, version, batch, ingested, leased, open_, room):
    pressure = Pressure(version, staleness, batch, ingested, leased, open_)
    assert pressure.room == room
    assert (pressure.open <= pressure.capacity - (pressure.ingested + pressure.leased)) is (room >= 0)


@pytest.mark.parametrize(("batch", "of", "newest", "stale"), [(0, 0, 9, False), (8, 3, 4, False), (8, 2, 4, True), (8, 4, 4, False)])
def test_staleness_counts_where_a_trainer_pulls(batch, of, newest, stale):
    assert is_stale(of, newest, Handoff(max_staleness=1, batch=batch, max_uncommitted_mb=0)) is stale


def test_status_of_many_shards_is_quick_enough_to_watch(workspace):
    run = lay_rollout(workspace.handoff_root / "rollout" / "run=r1", shards=1)
    assert drain_here(run) == 0
    shards = tuple(f"s{k}" for k in range(2000))
    plan = run.plan.model_copy(update={"shards": shards, "rows": dict.fromkeys(shards, 24)})
    run.store.put("plan/plan.json", to_bytes(plan))
    commit = run.commit("s0")
    for sid in shards[1:]:
        for name, held in (
            (f"commit/{sid}.json", commit.model_copy(update={"shard": sid})),
            (claim_name(sid, 1), Claim(shard=sid, attempt=1, worker_id="w", host="h", pid=1)),
        ):
            run.store.put(name, to_bytes(held), durable=False)
    begin = time.process_time()
    found = read_run(type(run)(run.store.root))
    assert (found.shards["committed"], found.rows) == (2000, 48_000)
    assert time.process_time() - begin < 2.0
