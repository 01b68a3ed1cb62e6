"""The tables as the migration creates them: columns, comments, protocol, properties, checks; read without a JVM."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from deltalake import DeltaTable

from jobs.lake.errors import LakeVersionError
from jobs.lake.layout import VERSION_FILE, Lake
from jobs.lake.migrate import create_tables
from schemas.catalog import ALL_TABLES
from schemas.table import LAKE_SCHEMA_VERSION

pytestmark = [pytest.mark.spark, pytest.mark.interop]


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory):
    lake = Lake(tmp_path_factory.mktemp("created"))
    create_tables(spark, lake)
    return lake


@pytest.mark.parametrize("table", ALL_TABLES, ids=lambda t: t.name)
def test_created_as_described(lake, table):
    held = DeltaTable(str(lake.path(table)))
    fields = held.schema().fields
    assert [f.name for f in fields] == table.schema.names
    if table.writer == "spark":
        assert {f.name: f.metadata.get("comment") for f in fields} == {f.name: f.metadata[b"comment"].decode() for f in table.schema}
        assert [f.nullable for f in fields] == [f.nullable for f in table.schema]
    assert held.metadata().partition_columns == ([table.partition] if table.partition else [])
    properties = held.metadata().configuration
    for key, value in table.properties.items():
        if key.startswith("delta."):
            assert properties[key] == value
    assert {key.removeprefix("delta.constraints.") for key in properties if key.startswith("delta.constraints.")} == set(table.checks)


@pytest.mark.parametrize("table", ALL_TABLES, ids=lambda t: t.name)
def test_protocol_is_one_that_other_readers_know(lake, table):
    # L§1.8: reader 1, writer features of this list only: no deletion vectors, no column mapping, no identity columns
    protocol = DeltaTable(str(lake.path(table))).protocol()
    assert protocol.min_reader_version == 1
    assert set(protocol.writer_features or []) <= {"appendOnly", "invariants", "checkConstraints", "inCommitTimestamp"}


def test_migration_twice_changes_nothing(spark, lake):
    before = {t.name: DeltaTable(str(lake.path(t))).version() for t in ALL_TABLES}
    create_tables(spark, lake)
    assert {t.name: DeltaTable(str(lake.path(t))).version() for t in ALL_TABLES} == before


def test_a_newer_lake_is_refused_with_both_versions(spark, tmp_path):
    lake = Lake(tmp_path)
    (tmp_path / VERSION_FILE).write_text(json.dumps({"schema_version": LAKE_SCHEMA_VERSION + 1}))
    with pytest.raises(LakeVersionError, match=rf"schema version {LAKE_SCHEMA_VERSION + 1}.*version {LAKE_SCHEMA_VERSION}\b"):
        create_tables(spark, lake)
    workspace = tmp_path / "ws"
    subprocess.run([sys.executable, "-m", "jobs.cli", "init", str(workspace)], check=True, capture_output=True)
    (workspace / "lake" / VERSION_FILE).write_text(json.dumps({"schema_version": LAKE_SCHEMA_VERSION + 1}))
    done = subprocess.run(
        [sys.executable, "-m", "jobs.cli", "curate", "--workspace", str(workspace)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert f"schema version {LAKE_SCHEMA_VERSION + 1}" in done.stderr
