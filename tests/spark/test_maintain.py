"""Maintenance compacts what is closed and frees what nothing needs: a pinned version stays readable, an unpinned old one goes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs import maintain
from jobs.care.remains import data_files
from jobs.care.superseded import UnreadablePinError
from jobs.lake.checksum import checksum_of
from jobs.lake.layout import Lake
from jobs.lake.types import spark_schema
from jobs.lake.write import SliceWrite, write_slice
from jobs.ledger import append_event, read_events
from schemas.bronze.rollouts import ROLLOUTS
from schemas.gold.sft import SFT
from schemas.handoff import RunPlan
from schemas.ops.rounds import ROUNDS
from schemas.publication import Pin, SourceTable
from schemas.silver.trajectories import TRAJECTORIES
from tests.lake_rows import filled
from udfs.store.run import to_bytes

pytestmark = pytest.mark.spark

CONF = ("maintain.keep_hours=0", "maintain.small_file_mb=1")


def write(spark, lake, table, slice_value, fingerprint, rows, files=1):
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=table.schema), spark_schema(table.schema)).repartition(files)
    return write_slice(spark, lake, SliceWrite(table, slice_value, fingerprint, "test", restate=True), lambda: frame)


def trajectories(round_no, n, raw):
    return [filled(TRAJECTORIES, trajectory_id=f"{round_no}-{k}", round=round_no, status="completed", raw=raw) for k in range(n)]


@pytest.fixture(scope="session")
def held(spark, empty_lake, tmp_path_factory):
    """Round 1 closed and written three times, at last in three files; round 2 open, in three files."""
    lake = Lake(shutil.copytree(empty_lake, tmp_path_factory.mktemp("maintained") / "lake"))
    for fingerprint in ("f1", "f2", "f3"):
        write(spark, lake, TRAJECTORIES, "1", fingerprint, trajectories(1, 9, fingerprint), files=3 if fingerprint == "f3" else 1)
    write(spark, lake, TRAJECTORIES, "2", "g1", trajectories(2, 9, "open"), files=3)
    for fingerprint in ("f1", "f2"):
        write(spark, lake, SFT, "1", fingerprint, [filled(SFT, round=1, sft_id="s", response=fingerprint)])
    write(spark, lake, ROLLOUTS, "1", "f1", [filled(ROLLOUTS, round=1, prompt_id="p")])
    for state, seq in (("planned", 1), ("closed", 4)):
        row = filled(ROUNDS, event_id=state, round=1, state=state, seq=seq, detail="{}", at=datetime(2026, 1, 1, tzinfo=UTC))
        append_event(lake, ROUNDS, row)
    return lake.root


@pytest.fixture
def ctx(held, make_context):
    made = make_context(*CONF)
    shutil.rmtree(made.workspace.lake_root)
    shutil.copytree(held, made.workspace.lake_root)
    for name, round_no in (("run=done", 1), ("run=open", 2)):
        run = made.workspace.handoff_root / "rollout" / name
        (run / "plan").mkdir(parents=True)
        plan = RunPlan(run_id=name, program="rollout", engine="reader", shards=("0",), rows={"0": 1}, settings={}, lease_seconds=1.0, max_attempts=1, round=round_no, fingerprint="f")  # fmt: skip
        (run / "plan" / "plan.json").write_bytes(to_bytes(plan))
        (run / "shards").mkdir()
        pq.write_table(pa.table({"prompt_id": ["p"]}), run / "shards" / "0.parquet")
    (run / ".attempts").mkdir()
    (run / ".attempts" / "x.parquet").write_bytes(b"left by a task that died")
    return replace(made, now=datetime.now(UTC) + timedelta(hours=1))


def version_of(lake, table, fingerprint):
    return next(c.version for c in lake.commits(table) if c.fingerprint == fingerprint)


def pin(ctx, **tables):
    made = Pin(
        campaign="c", round=1, attempt=1, tag="round-1", policy_id="p", sets={}, eval_digest="", collected_digest="", conf={}, code_hash="",
        filters={}, templates={}, verifiers=(), figures={},
        tables={name.replace("_", ".", 1): SourceTable(table_id="t", version=version, slices={}) for name, version in tables.items()},
    )  # fmt: skip
    (ctx.workspace.root / "pins").mkdir()
    (ctx.workspace.root / "pins" / "round-1.json").write_text(made.model_dump_json())


def raws(lake, version=None):
    delta = lake.delta(TRAJECTORIES)
    if version is not None:
        delta.load_as_version(version)
    return set(delta.to_pyarrow_table(columns=["raw"]).column(0).to_pylist())


def test_what_is_closed_is_compacted_what_is_pinned_is_readable_and_what_nothing_needs_is_gone(ctx, spark):
    lake = ctx.lake
    pinned, unpinned = version_of(lake, TRAJECTORIES, "f1"), version_of(lake, TRAJECTORIES, "f2")
    pin(ctx, silver_trajectories=pinned, gold_sft=lake.delta(SFT).version())
    gold, slices = data_files(lake, SFT), {v: (c.fingerprint, c.version, c.rows) for v, c in lake.slices(TRAJECTORIES).items()}
    before = checksum_of(ctx.read(TRAJECTORIES), TRAJECTORIES)
    planned = maintain.run(ctx, dry_run=True)
    assert raws(lake, unpinned) == {"f2"}, "looking removes nothing"

    done = maintain.run(ctx)

    compacted = {item.table: (item.slices, item.files, item.files_after) for item in done.compacted}
    assert compacted["silver.trajectories"] == (("1",), 3, 1), "round 2 is open"
    assert compacted["ops.rounds"] == (("all",), 2, 1)
    assert len(read_events(lake, ROUNDS)) == 2
    assert checksum_of(ctx.read(TRAJECTORIES), TRAJECTORIES) == before
    assert {v: (c.fingerprint, c.version, c.rows) for v, c in lake.slices(TRAJECTORIES).items()} == slices
    assert raws(lake, pinned) == {"f1"}
    with pytest.raises(Exception, match=r"(?i)no such file|not found"):
        raws(lake, unpinned)
    assert raws(lake) == {"f3", "open"}
    assert data_files(lake, SFT) == gold
    assert done.left_alone == ("gold.sft",)
    assert sorted(p.name for p in ctx.workspace.handoff_root.glob("*/run=*")) == ["run=open"]
    assert not (ctx.workspace.handoff_root / "rollout" / "run=open" / ".attempts").exists()
    assert done.bytes > 0
    assert {item.what for item in planned.freed} <= {item.what for item in done.freed}
    # Writing again what is there finds it, although files of the version that wrote it are gone.
    assert write(spark, lake, TRAJECTORIES, "1", "f3", trajectories(1, 9, "f3")).written is False

    again = maintain.run(ctx)
    assert (again.compacted, again.freed) == ((), ())


def test_nothing_younger_than_the_time_kept_is_removed(ctx):
    early = replace(ctx, now=ctx.now - timedelta(hours=2))
    assert [item.table for item in maintain.run(early).compacted] == ["silver.trajectories", "ops.rounds"]
    assert maintain.run(early).freed == ()
    assert raws(ctx.lake, version_of(ctx.lake, TRAJECTORIES, "f2")) == {"f2"}
    assert len(list(ctx.workspace.handoff_root.glob("*/run=*"))) == 2


def test_an_unreadable_pin_stops_it_before_anything_is_removed(ctx):
    (ctx.workspace.root / "pins").mkdir()
    (ctx.workspace.root / "pins" / "round-1.json").write_text("{}")
    before = data_files(ctx.lake, TRAJECTORIES)
    with pytest.raises(UnreadablePinError, match=r"round-1\.json"):
        maintain.run(ctx)
    assert data_files(ctx.lake, TRAJECTORIES) == before


def test_two_at_once_do_it_once(ctx):
    others = [replace(ctx, job_run_id=name) for name in ("one", "two")]
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(maintain.run, others))
    assert sorted(len(item.compacted) for item in done) == [0, 2]
    assert raws(ctx.lake) == {"f3", "open"}


SCRIPT = """
import sys
from datetime import datetime, timedelta, UTC
from jobs import maintain
from jobs.config import load_config
from jobs.context import JobContext
from jobs.workspace import Workspace
workspace = Workspace.open(sys.argv[1])
ctx = JobContext(workspace, load_config(workspace.root, overrides=sys.argv[2:]), now=datetime.now(UTC) + timedelta(hours=1))
maintain.run(ctx)
"""


@pytest.mark.faults
@pytest.mark.parametrize(
    "instant",
    [
        pytest.param("maintain/compacted/silver.trajectories", marks=pytest.mark.soak),
        "maintain/removed/silver.trajectories",
        pytest.param("maintain/run_unplanned", marks=pytest.mark.soak),
    ],
)
def test_maintenance_that_dies_is_completed_by_the_next(ctx, interpreted, instant):
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(ctx.workspace.root), *CONF, *interpreted], env=os.environ | {"VERILAKE_KILL_AT": instant},
        capture_output=True, check=False,
    )  # fmt: skip
    assert process.returncode == -signal.SIGKILL, process.stderr.decode()[-2000:]
    maintain.run(ctx)
    assert raws(ctx.lake) == {"f3", "open"}
    assert len(ctx.read(TRAJECTORIES, 1).inputFiles()) == 1
    assert sorted(p.name for p in ctx.workspace.handoff_root.glob("*/run=*")) == ["run=open"]
    assert maintain.run(ctx).freed == ()
