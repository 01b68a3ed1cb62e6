"""Rounds that leave the house: equal bytes on other machines, old rounds unchanged, nothing lost, nothing acted upon, and the way back."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs import publish_round
from jobs.config import load_config
from jobs.context import JobContext
from jobs.lake.errors import MissingInputError
from jobs.lake.layout import Lake
from jobs.ledger import read_events
from jobs.publish.bindings import bind, described, find_binding
from jobs.publish.checkout import checkout
from jobs.publish.errors import ExportError, MissingBytesError, NotPublishedError, TargetError, UnknownPublicationError
from jobs.publish.history import History
from jobs.publish.objects import Snapshot
from jobs.publish.verify import verify
from jobs.workspace import Workspace
from schemas.datasets.catalog import SETS
from schemas.gold.rl import RL
from schemas.ops.rounds import ROUNDS
from schemas.publication import Manifest, Pin
from tests.publish_lake import AT, HOSTILE, INGEST, add_ingest, add_round, doc_of, lay, put

pytestmark = pytest.mark.spark

TRAIN = {1: range(4, 30), 2: range(8, 36), 3: range(4, 20)}


def context(root, spark, *overrides):
    return JobContext(Workspace.open(root), load_config(root, overrides=overrides), now=AT, job_run_id="test", session=spark)


def bytes_of(folder, *, without=()):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in without
    }


def manifest_of(folder, dataset):
    return Manifest.model_validate_json((folder / dataset / "MANIFEST.json").read_bytes())


def rows_of(folder, columns=None):
    return pa.concat_tables([pq.read_table(path, columns=columns) for path in sorted(folder.glob("*.parquet"))])


def objects_of(root):
    return {path for path in (root / ".dvc" / "cache" / "files").rglob("*") if path.is_file()}


@dataclass(frozen=True)
class Published:
    root: Path
    then: dict[int, dict[str, bytes]]


@pytest.fixture(scope="module")
def published(spark, tmp_path_factory):
    """Three rounds, published one after another; a new ingest came before the third."""
    root = tmp_path_factory.mktemp("published") / "ws"
    workspace, then = lay(root), {}
    for number, train in TRAIN.items():
        if number == 3:
            add_ingest(workspace, 7, range(40, 44))
        add_round(workspace, number, train=train, known=2 if number == 3 else 1)
        assert publish_round.run(context(root, spark), number).did
        then[number] = bytes_of(root / "datasets")
    return Published(root, then)


def test_every_set_holds_the_rows_that_it_says(published):
    wanted = {"rl": 16, "sft": 26 + 28 + 16, "preferences": 6, "eval": 3, "regression": 2}
    for name, rows in wanted.items():
        folder, manifest = published.root / "datasets" / name, manifest_of(published.root / "datasets", name)
        table = rows_of(folder)
        assert (manifest.rows, table.num_rows) == (rows, rows), name
        assert table.schema.names == SETS[name].schema.names
        assert sum(manifest.licences.values()) == sum(manifest.sources.values()) == rows
        assert table.column("source").null_count == 0
        assert len({tuple(row.values()) for row in table.select(SETS[name].key).to_pylist()}) == rows
    assert manifest_of(published.root / "datasets", "rl").licences.keys() == {"unknown", "CC-BY", HOSTILE}
    assert verify(published.root).problems == ()


def test_the_eval_set_is_the_fixed_prompts_with_their_task_and_document(published):
    rows = rows_of(published.root / "datasets" / "eval").to_pylist()
    assert [(r["prompt_id"], r["question"], r["answer"], r["doc_id"], r["seed"]) for r in rows] == [(f"p{n}", f"q{n}", f"a{n}", doc_of(n), n) for n in range(3)]  # fmt: skip


def test_older_rounds_are_byte_equal_after_a_later_one(published, tmp_path):
    for number in TRAIN:
        report = checkout(Workspace.open(published.root), f"round-{number}", tmp_path / str(number))
        assert bytes_of(report.target, without={"CHECKOUT.json"}) == published.then[number]
        assert verify(report.target).problems == ()


def test_plain_git_and_dvc_give_the_same_bytes(published, tmp_path):
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--branch", "round-1", published.root, clone], check=True, capture_output=True)
    dvc = [sys.executable, "-m", "dvc"]
    subprocess.run([*dvc, "cache", "dir", "--local", published.root / ".dvc" / "cache"], cwd=clone, check=True, capture_output=True)
    subprocess.run([*dvc, "checkout", "-q"], cwd=clone, check=True, capture_output=True)
    assert bytes_of(clone / "datasets") == published.then[1]
    assert verify(clone).problems == ()


def test_unchanged_segments_are_the_same_file_on_the_disk(published, tmp_path):
    linked = [checkout(Workspace.open(published.root), f"round-{n}", tmp_path / str(n), sets=["sft"], link=True).target for n in (1, 3)]
    first, third = ((folder / "sft" / "round-00001-00000.parquet").stat() for folder in linked)
    assert first.st_ino == third.st_ino
    assert not first.st_mode & 0o222
    assert (published.root / "datasets" / "sft" / "round-00001-00000.parquet").stat().st_ino == first.st_ino
    segments = [{s.name: s.fingerprint for s in manifest_of(folder, "sft").segments} for folder in linked]
    # an ingest that came later is no reason to write round 1 again
    assert segments[0]["round=1"] == segments[1]["round=1"]


def test_manifest_pin_lock_and_ledger_name_the_same_thing(published):
    history = History(published.root)
    for held in history.publications():
        pin = Pin.model_validate_json(history.show(held.commit, f"pins/round-{held.round_no}.json"))
        assert (pin.tag, pin.attempt, pin.policy_id) == (held.tag, 1, "reader-000000000000")
        assert f"rl: '{pin.sets['rl'].manifest_sha256}'" in history.show(held.commit, "params.yaml").decode()
        assert pin.sets["rl"].manifest_sha256 in history.show(held.commit, "dvc.lock").decode()
        assert "remote" not in pin.conf["publish"]
        assert not {"spark", "work", "track", "maintain"} & set(pin.conf)
    states = [e for e in read_events(Lake(published.root / "lake"), ROUNDS) if e["state"] == "published"]
    assert sorted(e["round"] for e in states) == [1, 2, 3]


def test_again_is_nothing_to_do_and_needs_no_jvm(published, monkeypatch):
    monkeypatch.setattr("jobs.context.build_session", lambda _config: pytest.fail("a session was asked for"))
    before = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=published.root)
    for number in TRAIN:
        assert not publish_round.run(context(published.root, None), number).did
    assert subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=published.root) == before
    assert subprocess.check_output(["git", "status", "--porcelain"], cwd=published.root) == b""


def test_polars_and_duckdb_read_what_is_published(published):
    files = str(published.root / "datasets" / "sft" / "*.parquet")
    wanted = sorted(rows_of(published.root / "datasets" / "sft").column("response").to_pylist())
    assert sorted(pl.read_parquet(files)["response"].to_list()) == wanted
    assert sorted(row[0] for row in duckdb.connect().execute("SELECT response FROM read_parquet(?)", [files]).fetchall()) == wanted
    assert HOSTILE in wanted[0]
    regression = published.root / "datasets" / "regression"
    assert pl.read_parquet(str(regression / "*.parquet")).height == 2


def test_nothing_hostile_was_run(published):
    assert list(published.root.rglob("pwned")) == []
    assert not Path("pwned").exists()
    names = [path.name for path in (published.root / "datasets").rglob("*.parquet")]
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.") and not name.startswith("-") for name in names)


@pytest.mark.timeout(900)
def test_another_process_with_other_cores_partitions_and_batches_writes_the_same_files(spark, tmp_path):
    workspace = lay(tmp_path / "a")
    add_round(workspace, 1, train=range(4, 40), bulk=200)
    shutil.copytree(workspace.root, tmp_path / "b", symlinks=True)
    fine = ["publish.row_group_rows=5"]
    publish_round.run(context(tmp_path / "a", spark, *fine), 1)
    code = (
        "import sys; from pathlib import Path; from tests.publish_lake import AT; from jobs import publish_round; from jobs.config import load_config\n"
        "from jobs.context import JobContext; from jobs.workspace import Workspace; root = Path(sys.argv[1])\n"
        "publish_round.run(JobContext(Workspace.open(root), load_config(root, overrides=sys.argv[2:]), now=AT), 1)"
    )
    other = [
        *fine,
        "spark.master=local[1]",
        "spark.shuffle_partitions=7",
        'spark.conf={ "spark.sql.execution.arrow.maxRecordsPerBatch" = "3" }',
    ]
    environment = os.environ | {"PYTHONHASHSEED": "5", "TZ": "Asia/Tokyo"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "b"), *other], check=True, env=environment, capture_output=True, timeout=600)
    # the two lakes are copies, so that even the ids of their tables agree; the code may be edited while this runs
    first, second = ({k: re.sub(rb'"code_hash":"\w+"', b"", v) for k, v in bytes_of(tmp_path / name / "datasets").items()} for name in "ab")
    assert first == second
    assert sum(name.endswith(".parquet") for name in first) == 5


def test_one_changed_segment_of_twenty_stores_its_share_of_new_bytes(spark, tmp_path):
    workspace = lay(tmp_path / "ws", tasks=124, origins=20)
    add_round(workspace, 1, train=range(4, 124), origins=20, bulk=400)
    publish_round.run(context(workspace.root, spark), 1)
    before, size = objects_of(workspace.root), manifest_of(workspace.root / "datasets", "rl").bytes
    rows = Lake(workspace.lake_root).delta(RL).to_pyarrow_table().to_pylist()
    changed = rows[0]["origin"]
    put(workspace, "gold.rl", 1, [row | ({"prompt": row["prompt"][::-1]} if row["origin"] == changed else {}) for row in rows], "2")
    report = publish_round.run(context(workspace.root, spark), 1)
    assert report.counts["tag"] == "round-1.2"
    new = [path for path in objects_of(workspace.root) - before if path.read_bytes()[:4] == b"PAR1"]
    assert len(new) == 1
    assert sum(path.stat().st_size for path in new) < 0.08 * size
    tags = [(p.tag, p.attempt) for p in History(workspace.root).publications()]
    assert tags == [("round-1", 1), ("round-1.2", 2)]


def test_a_taken_down_document_never_goes_out_again_and_old_tags_stay(spark, tmp_path):
    workspace = lay(tmp_path / "ws")
    add_round(workspace, 1, train=range(4, 20))
    publish_round.run(context(workspace.root, spark), 1)
    gone, old = doc_of(5), History(workspace.root).newest(1).commit
    put(
        workspace,
        "ops.tombstones",
        "",
        [{"event_id": "e", "takedown_id": "t", "doc_id": gone, "state": "tombstoned", "selector": "{}", "at": AT}],
    )
    assert not publish_round.run(context(workspace.root, None), 1, again=False).did
    assert publish_round.run(context(workspace.root, spark), 1).counts["tag"] == "round-1.2"
    assert History(workspace.root).resolve("refs/tags/round-1") == old
    for name in ("rl", "sft", "preferences"):
        held = rows_of(workspace.root / "datasets" / name, ["doc_id"]).column("doc_id").to_pylist()
        assert held
        assert gone not in held
    assert not publish_round.run(context(workspace.root, None), 1).did
    # another document of no published row changes nothing
    put(
        workspace,
        "ops.tombstones",
        "",
        [{"event_id": "f", "takedown_id": "u", "doc_id": "x", "state": "tombstoned", "selector": "{}", "at": AT}],
    )
    assert not publish_round.run(context(workspace.root, None), 1).did


def test_what_cannot_be_published_is_refused_with_the_verb_to_run(published, spark, tmp_path):
    with pytest.raises(NotPublishedError, match="verilake feedback --round 9"):
        publish_round.run(context(published.root, None), 9)
    workspace = lay(tmp_path / "ws")
    add_round(workspace, 2, train=range(4, 9))
    with pytest.raises(NotPublishedError, match="verilake publish --round 1"):
        publish_round.run(context(workspace.root, None), 2)
    add_round(workspace, 1, train=range(4, 9))
    put(workspace, "gold.sft", 1, [{"round": 1, "sft_id": "s", "prompt_id": "p-that-nobody-planned", "task_id": "t4"}], "3")
    with pytest.raises(ExportError, match="set sft: 1 rows name a task, prompt or document that the lake does not hold"):
        publish_round.run(context(workspace.root, spark), 1)
    assert not (workspace.root / "datasets").exists() or list((workspace.root / "datasets").iterdir()) == []
    assert not (workspace.root / ".publish").exists()
    assert History(workspace.root).resolve("HEAD") is None


def test_a_round_without_gold_rl_is_named(tmp_path):
    workspace = lay(tmp_path / "ws")
    put(workspace, "ops.rounds", "", [{"event_id": "c", "round": 1, "state": "closed", "seq": 4, "detail": "{}", "at": AT}])
    with pytest.raises(MissingInputError, match=r"gold\.\w+ holds nothing for 1"):
        publish_round.run(context(workspace.root, None), 1)


def test_a_bound_checkpoint_is_found_by_id_and_by_path_and_gives_what_it_was_offered(published, tmp_path):
    ctx = context(published.root, None)
    weights = tmp_path / "ck'; $(touch pwned)"
    weights.mkdir()
    (weights / "w.bin").write_bytes(b"weights")
    ident, uri, sha256 = described(str(weights))
    row = bind(ctx, ident, 2, uri=uri, sha256=sha256, parent="reader-0", mlflow_run_id="m1", sets=["rl", "eval"], detail={"seed": 1})
    assert bind(ctx, ident, 2, uri=uri, sha256=sha256, parent="reader-0", mlflow_run_id="m1", sets=["rl", "eval"]) | {"detail": ""} == row | {"detail": ""}  # fmt: skip
    assert find_binding(ctx.lake, ident)["parent_checkpoint_id"] == "reader-0"
    wanted = {name: data for name, data in published.then[2].items() if name.startswith(("rl/", "eval/"))}
    for number, what in enumerate((ident, str(weights))):
        report = checkout(ctx.workspace, what, tmp_path / f"copy{number}")
        assert (report.checkpoint_id, report.tag, set(report.sets)) == (ident, "round-2", {"rl", "eval"})
        assert bytes_of(report.target, without={"CHECKOUT.json"}) == wanted
    said = json.loads((tmp_path / "copy0" / "CHECKOUT.json").read_text())
    assert said["checkpoint_id"] == ident
    with pytest.raises(UnknownPublicationError, match="round-2 has no set nope"):
        bind(ctx, "other", 2, sets=["nope"])
    with pytest.raises(NotPublishedError, match="round 8 is not published"):
        bind(ctx, "other", 8)


@pytest.mark.parametrize("what", ["round-99", "nobody", "--help", "$(touch pwned)", "round-1'; --", "../..", "", "x\0y", "r" * 5000])
def test_an_unknown_name_is_refused_and_does_nothing(published, tmp_path, what):
    with pytest.raises(UnknownPublicationError):
        checkout(Workspace.open(published.root), what, tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []


def test_a_target_in_use_or_missing_bytes_leave_nothing_behind(published, tmp_path):
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "mine").write_text("x")
    with pytest.raises(TargetError, match="not an empty directory"):
        checkout(Workspace.open(published.root), "round-1", tmp_path / "used")
    copy = shutil.copytree(published.root, tmp_path / "ws", symlinks=True)
    history = History(copy)
    victim = Snapshot(history, "round-3", history.newest(3).commit).files("rl")["ingest-" + INGEST[:12] + "-00000.parquet"]
    data = bytearray(victim.read_bytes())
    victim.unlink()
    with pytest.raises(MissingBytesError, match="are not in the cache"):
        checkout(Workspace.open(copy), "round-3", tmp_path / "gone")
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)
    with pytest.raises(MissingBytesError, match="not what was published"):
        checkout(Workspace.open(copy), "round-3", tmp_path / "flipped")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["used", "ws"]


def test_bytes_come_back_from_a_remote_and_a_failed_push_is_repeated(published, tmp_path, caplog):
    copy = shutil.copytree(published.root, tmp_path / "ws", symlinks=True)
    blocker = tmp_path / "remote"
    blocker.write_text("a file where the remote's folder should be")
    setting = f"publish.remote={blocker}"
    assert not publish_round.run(context(copy, None, setting), 3).did
    assert "could not be sent to the DVC remote" in caplog.text
    blocker.unlink()
    publish_round.run(context(copy, None, setting), 3)
    assert len(list((blocker / "files").rglob("*.dir"))) >= 3 * 3
    for path in objects_of(copy):
        path.unlink()
    report = checkout(Workspace.open(copy), "round-1", tmp_path / "back")
    assert bytes_of(report.target, without={"CHECKOUT.json"}) == published.then[1]
