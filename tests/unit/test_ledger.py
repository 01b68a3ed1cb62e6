"""The ledger: events are appended once each, and a long life does not make it slow."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from jobs.lake.layout import Lake
from jobs.ledger import append_event, append_events, read_events
from schemas.ops.rounds import ROUNDS


@pytest.fixture
def lake(tmp_path):
    lake = Lake(tmp_path / "lake")
    write_deltalake(str(lake.path(ROUNDS)), ROUNDS.schema.empty_table(), mode="ignore")
    return lake


def event(number):
    return {
        "event_id": f"e{number}", "round": number, "state": "closed", "seq": 4, "policy_id": "p", "fingerprint": "f", "detail": "{}",
        "at": datetime(2026, 1, 2, tzinfo=UTC),
    }  # fmt: skip


def test_an_event_is_written_once(lake):
    assert append_event(lake, ROUNDS, event(1)) is True
    assert append_event(lake, ROUNDS, event(1)) is False
    assert [row["event_id"] for row in read_events(lake, ROUNDS)] == ["e1"]


def test_a_table_with_the_comments_of_an_earlier_version_takes_events_and_keeps_them(tmp_path):
    lake = Lake(tmp_path / "lake")
    older = pa.schema([field.with_metadata({"comment": "as it was"}) for field in ROUNDS.schema])
    write_deltalake(str(lake.path(ROUNDS)), older.empty_table(), mode="ignore")
    assert append_event(lake, ROUNDS, event(1)) is True
    assert [row["event_id"] for row in read_events(lake, ROUNDS)] == ["e1"]
    assert {field.metadata["comment"] for field in lake.delta(ROUNDS).schema().fields} == {"as it was"}


def test_events_of_one_call_are_one_commit_and_known_ones_are_left_out(lake):
    append_event(lake, ROUNDS, event(1))
    before = lake.delta(ROUNDS).version()
    assert append_events(lake, ROUNDS, [event(1), event(2), event(3), event(3)]) == 2
    assert lake.delta(ROUNDS).version() == before + 1
    assert sorted(row["event_id"] for row in read_events(lake, ROUNDS)) == ["e1", "e2", "e3"]


def test_a_long_ledger_stays_in_few_files_and_loses_nothing(lake, monkeypatch):
    monkeypatch.setattr("jobs.ledger._MOST_FILES", 4)
    for number in range(12):
        append_event(lake, ROUNDS, event(number))
    assert len(lake.delta(ROUNDS).file_uris()) <= 5
    assert sorted(row["round"] for row in read_events(lake, ROUNDS)) == list(range(12))
