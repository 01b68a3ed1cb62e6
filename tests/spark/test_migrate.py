"""An older lake is brought forward: refused by jobs until then, whole after a death at any instant, and nothing of it goes stale."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys

import pyarrow as pa
import pytest

from jobs.config import load_config
from jobs.context import JobContext
from jobs.lake.errors import LakeVersionError
from jobs.lake.layout import VERSION_FILE, Lake
from jobs.lake.migrate import STEPS, create_tables, migrate, plan_migration, table_version
from jobs.lake.types import spark_schema
from jobs.lake.write import SliceWrite, write_slice
from jobs.ledger import append_event
from jobs.views.status import read_status
from jobs.workspace import Workspace
from schemas.bronze.documents import DOCUMENTS
from schemas.bronze.judgements import JUDGEMENTS
from schemas.bronze.rescored import RESCORED
from schemas.bronze.rollouts import ROLLOUTS
from schemas.gold.alerts import ALERTS
from schemas.gold.prompts import PROMPTS
from schemas.gold.rl import RL
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.tasks import TASKS
from schemas.ops.bindings import BINDINGS
from schemas.ops.rounds import ROUNDS
from schemas.ops.tombstones import TOMBSTONES
from schemas.silver.document_profiles import DOCUMENT_PROFILES
from schemas.silver.documents import DOCUMENTS as KEPT
from schemas.silver.eval_samples import EVAL_SAMPLES
from schemas.silver.rewards import REWARDS
from schemas.silver.task_stats import TASK_STATS
from schemas.silver.trajectories import TRAJECTORIES
from schemas.table import LAKE_SCHEMA_VERSION
from tests.lake_rows import filled

pytestmark = pytest.mark.spark

#: What version 2 brought; version 1 was everything else.
ADDED = (RL, EVAL_SAMPLES, BINDINGS, TOMBSTONES)
#: What version 3 brought to tables that were there ...
LATER = {KEPT: ("language", "language_score", "masked"), DOCUMENT_PROFILES: ("n_lines", "language", "pii_spans")}
#: ... and version 4, null in the rows that are there.
WIDER = {ROLLOUTS: ("turns", "dtype", "weight_versions"), TRAJECTORIES: ("environment",), REWARDS: ("tests_total", "detail")}


#: What version 4 laid by round, and version 5 lays anew by run.
ANEW = (JUDGEMENTS, RESCORED)


def otherwise(lake, table, *, without=(), partition=None):
    """Change a table's first commit, as if it had been laid without these columns, or by another partition."""
    log = lake.path(table) / "_delta_log"
    first = log / f"{0:020}.json"
    actions = [json.loads(line) for line in first.read_text("utf-8").splitlines()]
    for action in actions:
        if "metaData" in action:
            schema = json.loads(action["metaData"]["schemaString"])
            schema["fields"] = [field for field in schema["fields"] if field["name"] not in without]
            action["metaData"]["schemaString"] = json.dumps(schema)
            action["metaData"]["partitionColumns"] = [partition or table.partition]
    first.write_text("".join(json.dumps(action) + "\n" for action in actions), "utf-8")
    for extra in list(log.glob("*.crc")):
        extra.unlink()  # they tell of the bytes that were there


def make_older(root, empty_lake):
    """A workspace whose lake is as version 1 laid it."""
    workspace = Workspace.init(root)
    shutil.copytree(empty_lake, workspace.lake_root, dirs_exist_ok=True)
    for table in ADDED:
        shutil.rmtree(Lake(workspace.lake_root).path(table))
    for table, names in (LATER | WIDER).items():
        otherwise(Lake(workspace.lake_root), table, without=names)
    for table in ANEW:
        otherwise(Lake(workspace.lake_root), table, partition="round")
    (workspace.lake_root / VERSION_FILE).write_text(json.dumps({"schema_version": 1}))
    return workspace


@pytest.fixture
def older(tmp_path, empty_lake):
    return make_older(tmp_path / "ws", empty_lake)


def test_a_job_refuses_an_older_lake_with_both_versions_and_the_command_and_reading_goes_on(older, make_context, spark):
    with pytest.raises(LakeVersionError, match=rf"schema version 1.*need version {LAKE_SCHEMA_VERSION}.*verilake migrate") as refused:
        JobContext(older, make_context(name="other").config)
    assert refused.value.exit_code == 3
    with pytest.raises(LakeVersionError, match="verilake migrate"):
        create_tables(spark, Lake(older.lake_root))
    status = read_status(older)
    assert (status.schema_version, status.next_command) == (1, "verilake migrate")


def test_migrate_creates_what_is_missing_and_leaves_the_rest_and_a_second_run_has_nothing_to_do(older, spark, empty_lake):
    lake = Lake(older.lake_root)
    row = spark.createDataFrame([(1, "x", "all", "all", "warn", 1.0, 2.0, "m")], "round int, name string, slice_kind string, slice string, severity string, value double, bound double, message string")  # fmt: skip
    write_slice(spark, lake, SliceWrite(ALERTS, "1", "f1", "test"), lambda: row)
    old = pa.schema([field for field in KEPT.schema if field.name not in LATER[KEPT]])
    kept = pa.Table.from_pylist([{name: value for name, value in filled(KEPT, doc_id="d").items() if name in old.names}], schema=old)
    with_rows = spark.createDataFrame(kept, spark_schema(old)).write.format("delta").mode("append")
    with_rows.save(str(lake.path(KEPT)))
    planned = plan_migration(lake)
    assert [step.version for step in planned.steps] == [2, 3, 4, 5]
    assert not lake.path(RL).exists(), "looking changes nothing"

    done = migrate(lake, load_config(), lambda: spark)

    assert (done.found, done.steps) == (1, STEPS)
    assert lake.schema_version() == LAKE_SCHEMA_VERSION
    for table in ADDED:
        made, fresh = lake.delta(table), Lake(empty_lake).delta(table)
        assert made.schema() == fresh.schema()
        assert made.metadata().configuration == fresh.metadata().configuration
    for table in LATER | WIDER:
        assert set(lake.delta(table).schema().to_arrow().names) == set(table.schema.names)
    (row,) = lake.delta(KEPT).to_pyarrow_table().to_pylist()
    assert (row["doc_id"], [row[name] for name in LATER[KEPT]]) == ("d", [None, None, None])
    assert lake.delta(DOCUMENT_PROFILES).version() == 0, "laid anew"
    assert [lake.delta(table).metadata().partition_columns for table in ANEW] == [["run_id"], ["run_id"]]
    assert lake.slices(ALERTS)["1"].fingerprint == "f1"
    assert migrate(lake, load_config(), lambda: pytest.fail("a current lake needs no session")).steps == ()


def test_gold_rl_of_rounds_that_closed_before_it_was_is_made_from_the_tables(older, spark):
    lake = Lake(older.lake_root)
    rows = {
        (TASKS, "ingest=i"): filled(
            TASKS, task_id="t", version=1, origin="ingest=i", split="train", status="active", doc_id="d", answer="4"
        ),
        (PROMPTS, "ingest=i"): filled(PROMPTS, prompt_id="p", origin="ingest=i", task_id="t", task_version=1, text="what?"),
        (ROUND_PLAN, "2"): filled(ROUND_PLAN, round=2, prompt_id="p", task_id="t", task_version=1, role="train", n_samples=4),
        (TASK_STATS, "2"): filled(TASK_STATS, round=2, prompt_id="p", task_id="t", role="train", n=4, n_valid=4, k=1),
    }
    for (table, value), row in rows.items():
        frame = spark.createDataFrame(pa.Table.from_pylist([row], schema=table.schema), spark_schema(table.schema))
        write_slice(spark, lake, SliceWrite(table, value, "f1", "test"), lambda frame=frame: frame)
    assert plan_migration(lake).notes == (), "its feedback may have died half-way"
    append_event(lake, ROUNDS, filled(ROUNDS, event_id="e", round=2, state="closed", seq=4))
    assert "round 2" in migrate(lake, load_config(), lambda: spark).notes[0]
    (made,) = lake.delta(RL).to_pyarrow_table().to_pylist()
    assert [made[name] for name in ("round", "prompt_id", "prompt", "answer", "n_valid", "k", "doc_id")] == [
        2,
        "p",
        "what?",
        "4",
        4,
        1,
        "d",
    ]
    assert lake.slices(RL)["2"].fingerprint == "f1", "that of the feedback which closed the round"


def test_a_fingerprint_carries_the_version_of_the_table_not_of_the_lake():
    assert (table_version(DOCUMENTS), table_version(ALERTS)) == (1, 1)
    assert {table_version(table) for table in ADDED} == {2}
    assert {table_version(table) for table in LATER} == {3}
    assert {table_version(table) for table in WIDER} == {1}, "older rows may lack the columns: no round becomes stale"
    assert max(step.version for step in STEPS) == LAKE_SCHEMA_VERSION


@pytest.mark.faults
@pytest.mark.parametrize("instant", ["migrate/created/gold.rl", "migrate/2", "migrate/removed/silver.document_profiles"])
def test_a_migration_that_dies_leaves_the_old_version_and_the_next_one_completes_it(older, spark, instant):
    script = (
        "import sys; from pathlib import Path; from jobs.lake.migrate import migrate; from jobs.lake.layout import Lake;"
        "from jobs.session import build_session; from jobs.config import load_config;"
        "migrate(Lake(Path(sys.argv[1])), load_config(), lambda: build_session(load_config()))"
    )
    process = subprocess.run(
        [sys.executable, "-c", script, str(older.lake_root)],
        env=os.environ | {"VERILAKE_KILL_AT": instant},
        capture_output=True,
        check=False,
    )
    assert process.returncode == -signal.SIGKILL, process.stderr.decode()[-2000:]
    lake = Lake(older.lake_root)
    assert lake.schema_version() == (2 if "profiles" in instant else 1)
    migrate(lake, load_config(), lambda: spark)
    assert lake.schema_version() == LAKE_SCHEMA_VERSION
    assert all(lake.delta(table).schema() for table in ADDED)
