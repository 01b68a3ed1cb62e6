"""The parts of a takedown that need no JVM, on small tables that deltalake writes."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from jobs.care.closed import Closed
from jobs.care.files import purge_files, remotes
from jobs.care.offered import rows_of
from jobs.care.reach import Reach, Rows, ids_of_every_version, reach_of
from jobs.care.remains import cut_log, data_files, live_files
from jobs.care.selection import Document, Selector, UnknownSelectorError, marks, select_documents, tombstone
from jobs.care.superseded import kept_versions, remove_superseded
from jobs.care.told import lines_of
from jobs.lake.layout import Lake
from jobs.ledger import append_events
from jobs.takedown import Takedown
from jobs.workspace import Workspace
from schemas.bronze.documents import DOCUMENTS
from schemas.gold.alerts import ALERTS
from schemas.gold.prompts import PROMPTS
from schemas.gold.sft import SFT
from schemas.gold.tasks import TASKS
from schemas.ops.tombstones import TOMBSTONES
from schemas.silver.document_profiles import DOCUMENT_PROFILES
from schemas.silver.document_verdicts import DOCUMENT_VERDICTS
from tests.lake_rows import filled

NOW = datetime(2026, 1, 2, tzinfo=UTC)
NASTY = "https://x.example/' OR 1=1; --/%_\u202e"


def put(lake, table, rows, mode="append"):
    data = pa.Table.from_pylist(rows, schema=table.schema)
    write_deltalake(str(lake.path(table)), data, mode=mode, partition_by=[table.partition] if table.partition else None)


@pytest.fixture
def lake(tmp_path):
    """k is kept, d and e repeat it, o is another document whose address was made of its place in a file."""
    lake = Lake(tmp_path / "lake")
    uris = {"k": "https://a.example/k", "d": NASTY, "e": "https://a.example.org/e", "o": "f.jsonl#7"}
    put(lake, DOCUMENTS, [filled(DOCUMENTS, doc_id=i, ingest_id="i", uri=uri, source="s", licence="cc" if i == "o" else "own", path="f.jsonl", position=7) for i, uri in uris.items()])  # fmt: skip
    put(lake, DOCUMENT_VERDICTS, [filled(DOCUMENT_VERDICTS, doc_id=i, ingest_id="i", dup_of="k" if i in "de" else None) for i in uris])
    put(
        lake, DOCUMENT_PROFILES, [filled(DOCUMENT_PROFILES, doc_id=i, ingest_id="i", digest=b"\x01" if i == "o" else b"\xab") for i in uris]
    )
    put(lake, TOMBSTONES, [])
    return lake


def found(lake, **asked):
    return {d.doc_id: d.same_text_as for d in select_documents(lake, Selector(**asked))}


def test_a_document_that_is_asked_for_brings_its_whole_cluster_of_one_text(lake):
    assert found(lake, doc=("k",)) == {"k": None, "d": "k", "e": "k"}
    assert found(lake, uri=(NASTY,)) == {"d": None, "k": "d", "e": "d"}
    assert found(lake, licence=("own",)) == {"k": None, "d": None, "e": None}
    assert found(lake, uri=("https://a.example/*",), doc=("o",)) == {"k": None, "d": "k", "e": "k", "o": None}
    assert found(lake, source=("s",)) == dict.fromkeys("kdeo")


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"uri": ("https://a.example",)}, "--uri https://a.example"),
        ({"uri": ("%*", "https://a.example/k")}, r"--uri %\*"),
        ({"doc": ("x' OR '1'='1",)}, "--doc x' OR '1'='1"),
        ({"licence": ("cc", "CC")}, "--licence CC"),
    ],
)
def test_what_fits_no_document_is_named_and_refused_even_beside_what_fits(lake, asked, named):
    with pytest.raises(UnknownSelectorError, match=named) as refused:
        found(lake, **asked)
    assert refused.value.exit_code == 3


def test_nothing_asked_for_is_wrong_use(lake):
    with pytest.raises(UnknownSelectorError, match="--uri, --doc, --licence, --source") as refused:
        found(lake)
    assert refused.value.exit_code == 2


def test_the_takedown_id_does_not_depend_on_order_or_repetition():
    assert Selector(doc=("a", "b")).takedown_id == Selector(doc=("b", "a", "a")).takedown_id
    assert Selector(doc=("a",)).takedown_id != Selector(uri=("a",)).takedown_id


def test_a_tombstone_knows_its_document_again_when_the_bytes_are_gone(lake):
    asked = Selector(uri=(NASTY,))
    documents = select_documents(lake, asked)
    append_events(lake, TOMBSTONES, [tombstone(d, asked, "tombstoned", "r", NOW) for d in documents])
    append_events(lake, TOMBSTONES, [tombstone(d, Selector(doc=("o",)), "tombstoned", "r", NOW) for d in select_documents(lake, Selector(doc=("o",)))])  # fmt: skip
    for table in (DOCUMENTS, DOCUMENT_VERDICTS, DOCUMENT_PROFILES):
        DeltaTable(str(lake.path(table))).delete()
    assert found(lake, uri=(NASTY,)) == {"d": None, "k": "d", "e": "d"}
    assert [d.digest for d in select_documents(lake, asked)] == ["ab"] * 3
    known = {(kind, value) for kind, value, _ in marks(lake)}
    assert {("doc", "d"), ("text", "ab"), ("uri", NASTY), ("text", "01")} <= known
    assert not any(kind == "uri" and value != NASTY for kind, value in known), (
        "copies were not asked for, and f.jsonl#7 is a place, not an address"
    )


def test_rows_are_found_down_the_owners_and_ids_in_files_of_older_versions_too(lake):
    put(lake, TASKS, [filled(TASKS, task_id="old", version=1, origin="ingest=i", doc_id="k")])
    put(lake, TASKS, [filled(TASKS, task_id=f"t{d}", version=1, origin="ingest=i", doc_id=d) for d in "ko"], mode="overwrite")
    put(lake, PROMPTS, [filled(PROMPTS, prompt_id=f"p{n}", origin="ingest=i", task_id=t) for n, t in enumerate(("tk", "tk", "to"))])
    put(lake, SFT, [filled(SFT, round=r, sft_id=f"s{r}", prompt_id=p) for r, p in ((1, "p0"), (2, "p1"), (2, "p1"), (3, "p2"))])
    reached = reach_of(lake, ["k"])
    assert {name: rows.by_slice for name, rows in reached.rows.items() if name.startswith("gold")} == {
        "gold.tasks": {"ingest=i": 1}, "gold.prompts": {"ingest=i": 2}, "gold.sft": {"1": 1, "2": 2},
    }  # fmt: skip
    assert reached.rounds == [1, 2]
    assert ids_of_every_version(lake, ["k"], ["p9"])["task_id"] == {"old", "tk"}
    assert ids_of_every_version(lake, ["k"], ["p9"])["prompt_id"] == {"p0", "p1", "p9"}


def test_bounds_of_files_that_are_gone_leave_the_log_and_the_table_still_reads(lake):
    put(lake, ALERTS, [filled(ALERTS, round=1, message="zebra4711\u2028\x85")])
    lake.delta(ALERTS).create_checkpoint()
    put(lake, ALERTS, [filled(ALERTS, round=1, message="fine")], mode="overwrite")
    log = lake.path(ALERTS) / "_delta_log"
    (gone,) = set(data_files(lake, ALERTS)) - live_files(lake, ALERTS)
    said = [p for p in log.glob("*.json") if "zebra4711" in p.read_text()]
    assert len(said) == 1
    cut_log(lake, ALERTS)
    assert "zebra4711" in said[0].read_text(), "its file is still there"
    gone.unlink()
    cut_log(lake, ALERTS)
    assert "zebra4711" not in said[0].read_text()
    assert lake.delta(ALERTS).to_pyarrow_table().column("message").to_pylist() == ["fine"]
    held = [str(pq.read_table(p).to_pylist()) for p in log.glob("*.checkpoint.parquet")]
    assert len(held) == 1
    assert "zebra4711" not in held[0]
    assert '"fine"' in "".join(p.read_text() for p in log.glob("*.json")).replace("\\", "")


def test_files_that_hold_rows_or_names_go_and_others_keep_their_bytes(tmp_path):
    workspace = Workspace.init(tmp_path / "ws")
    bad, good = "a" * 32, "c" * 32
    root = workspace.root
    for name, ids in (("datasets/rl/0.parquet", [good, bad]), ("datasets/rl/1.parquet", [good]), ("reports/no.parquet", [good])):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"doc_id": ids}), root / name)
    pages = {"reports/round-1.html": f"<p>{bad}</p>", "reports/round-2.html": f"<p>{good}</p>", "mlartifacts/s.jsonl": f'{{"x":"{bad}"}}\n{{"x":"{good}"}}\n', "mlartifacts/t.json": f'["{bad}"]'}  # fmt: skip
    for name, text in pages.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / ".dvc").mkdir(exist_ok=True)
    (root / ".dvc" / "config").write_text("['remote \"far\"']\n    url = s3://bucket/x\n['remote \"near\"']\n    url = ../near\n")
    removed = purge_files(workspace, {"doc_id": frozenset({bad}), "task_id": frozenset()})
    assert removed == ["datasets/rl/0.parquet", "mlartifacts/s.jsonl", "mlartifacts/t.json", "reports/round-1.html"]
    assert (root / "mlartifacts/s.jsonl").read_text() == f'{{"x":"{good}"}}\n'
    assert remotes(root) == ["s3://bucket/x", str(tmp_path / "ws" / "near")]
    assert purge_files(workspace, {"doc_id": frozenset({bad})}) == []


def test_what_an_untaken_run_paid_for_other_documents_is_kept_when_it_goes(tmp_path):
    workspace = Workspace.init(tmp_path / "ws")
    bad, good = "a" * 32, "c" * 32
    run = workspace.handoff_root / "convert" / "run=one"
    for name in ("shards", "plan", "replies/s0"):
        (run / name).mkdir(parents=True)
    pq.write_table(pa.table({"doc_id": [good, bad]}), run / "shards" / "s0.parquet")
    (run / "plan" / "plan.json").write_text("{}")
    # The last line was cut by a death: it may be anybody's.
    (run / "replies" / "s0" / "1.jsonl").write_text(f'{{"doc_id":"{bad}"}}\n{{"doc_id":"{good}"}}\n{{"doc_id":"')
    kept = workspace.handoff_root / "convert" / "salvaged" / "run=one.jsonl"
    assert purge_files(workspace, {"doc_id": frozenset({bad})}) == ["handoff/convert/run=one"]
    assert not run.exists()
    assert kept.read_text() == f'{{"doc_id":"{good}"}}\n'
    assert purge_files(workspace, {"doc_id": frozenset({good})}) == ["handoff/convert/salvaged/run=one.jsonl"]
    assert not kept.exists()


def test_rows_of_a_parquet_file_by_any_of_the_columns(tmp_path):
    path = tmp_path / "x"
    pq.write_table(pa.table({"doc_id": ["a", "b", None], "prompt_id": ["p", "q", "q"], "n": [1, 2, 3]}), path)
    assert rows_of(path, {"doc_id": frozenset({"a"})}) == 1
    assert rows_of(path, {"doc_id": frozenset({"a"}), "prompt_id": frozenset({"q"}), "other": frozenset({"x"})}) == 3
    (tmp_path / "y").write_text("PAR")
    assert rows_of(tmp_path / "y", {"doc_id": frozenset({"a"})}) == 0


def test_what_is_closed_by_kind_of_slice():
    done = Closed(rounds=frozenset({"1"}), ingests=frozenset({"i"}), corpus=True)
    assert [done.holds(ALERTS, v) for v in ("1", "2")] == [True, False]
    assert [done.holds(DOCUMENTS, v) for v in ("i", "j")] == [True, False]
    assert [done.holds(TASKS, v) for v in ("ingest=i", "ingest=j", "plan=1", "feedback=2", "takedown=x")] == [
        True,
        False,
        True,
        False,
        True,
    ]


def test_versions_kept_are_the_newest_those_since_and_at_the_cutoff_and_the_pinned(lake):
    for message in "abcd":
        put(lake, ALERTS, [filled(ALERTS, round=1, message=message)], mode="overwrite")
    at = {entry["version"]: datetime.fromtimestamp(entry["timestamp"] / 1000, UTC) for entry in lake.delta(ALERTS).history()}
    assert kept_versions(lake, ALERTS, [], at[3] + timedelta(hours=1)) == [3]
    assert kept_versions(lake, ALERTS, [0, 99], at[3] + timedelta(hours=1)) == [0, 3]
    assert kept_versions(lake, ALERTS, [], at[0] - timedelta(hours=1)) == [0, 1, 2, 3]
    planned = remove_superseded(lake, ALERTS, [0], at[3] + timedelta(hours=1), dry_run=True)
    assert (planned.files, len(data_files(lake, ALERTS))) == (2, 4)
    assert remove_superseded(lake, ALERTS, [0], at[3] + timedelta(hours=1), dry_run=False) == planned
    assert lake.delta(ALERTS).to_pyarrow_table().column("message").to_pylist() == ["d"]
    assert DeltaTable(str(lake.path(ALERTS)), version=0).to_pyarrow_table().column("message").to_pylist() == ["a"]


def test_the_report_names_what_was_reached_and_no_address_steers_a_terminal():
    document = Document("k" * 32, "i", "s", NASTY, None, own_uri=True)
    told = Takedown("t" * 32, (document, replace(document, doc_id="d" * 32, same_text_as="k" * 32)), Reach({"gold.sft": Rows("gold.sft", frozenset(), {"3": 2})}), 4, (), ())  # fmt: skip
    text = "\n".join(lines_of(told, dry_run=True, purge=False))
    assert "2 documents, 1 of them for having the same text" in text
    assert "4 prompts of the fixed eval set" in text
    assert "rounds: 3" in text
    assert "\u202e" not in text
    assert json.loads(json.dumps(told.to_json()))["rows"] == {"gold.sft": {"3": 2}}
