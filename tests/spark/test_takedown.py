"""A source leaves: nothing of it is planned again; after a purge no byte of it is found in the workspace; killed or not, it comes to the same end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs import takedown
from jobs.care.selection import Selector, UnknownSelectorError, marks, tombstoned
from jobs.curate.takedowns import refuse_taken_down
from jobs.lake.layout import Lake
from jobs.lake.types import spark_schema
from jobs.lake.write import SliceWrite, write_slice
from jobs.ledger import read_events
from jobs.plan.candidates import in_force
from schemas.bronze.documents import DOCUMENTS
from schemas.bronze.rejects import REJECTS
from schemas.bronze.replies import REPLIES
from schemas.gold.prompts import PROMPTS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.sft import SFT
from schemas.gold.tasks import TASKS
from schemas.ops.tombstones import TOMBSTONES
from schemas.silver.document_profiles import DOCUMENT_PROFILES
from schemas.silver.document_verdicts import DOCUMENT_VERDICTS
from schemas.silver.interactions import INTERACTIONS
from schemas.silver.qa import QA
from schemas.silver.trajectories import TRAJECTORIES
from tests.lake_rows import filled

pytestmark = pytest.mark.spark

CANARY = "zyxcanary4711"
#: Three documents: one that says the canary, a copy of it under another address, and one that has nothing to do with them.
BAD, COPY, GOOD = "a" * 32, "b" * 32, "c" * 32
TEXTS = {BAD: f"{CANARY} begins this text", COPY: f"{CANARY} begins this text", GOOD: "an innocent text"}
URIS = {BAD: "https://x.example/it's/1", COPY: "https://mirror.example/1", GOOD: "https://x.example.org/2"}
INGEST = "1" * 32


def rows_of_lake():
    """(table, slice) -> rows."""
    docs = [filled(DOCUMENTS, doc_id=d, ingest_id=INGEST, ingest_seq=1, source="s", uri=URIS[d], text=TEXTS[d], licence="cc" if d == GOOD else "all rights") for d in TEXTS]  # fmt: skip
    verdicts = [filled(DOCUMENT_VERDICTS, doc_id=d, ingest_id=INGEST, state="duplicate" if d == COPY else "kept", dup_of=BAD if d == COPY else None) for d in TEXTS]  # fmt: skip
    profiles = [filled(DOCUMENT_PROFILES, doc_id=d, ingest_id=INGEST, digest=TEXTS[d].encode()) for d in TEXTS]
    kept = (BAD, GOOD)
    said = {BAD: f"what is {CANARY}?", GOOD: "what is it?"}
    qa = [filled(QA, qa_id=f"{d}q", ingest_id=INGEST, doc_id=d, question=said[d], answer=said[d], split="train") for d in kept]
    tasks = [filled(TASKS, task_id=f"{d}q", version=1, origin=f"ingest={INGEST}", split="train", status="active", doc_id=d, question=said[d], answer=said[d]) for d in kept]  # fmt: skip
    prompts = [filled(PROMPTS, prompt_id=f"{d}p", origin=f"ingest={INGEST}", task_id=f"{d}q", task_version=1, text=said[d]) for d in kept]
    plan = [filled(ROUND_PLAN, round=1, prompt_id=f"{d}p", task_id=f"{d}q", role="eval", why="eval_fixed") for d in kept]
    sampled = [filled(TRAJECTORIES, trajectory_id=f"{d}t", round=1, prompt_id=f"{d}p", task_id=f"{d}q", status="completed") for d in kept]
    turns = [
        filled(INTERACTIONS, trajectory_id=f"{d}t", round=1, content=f"{said[d]} {CANARY}") for d in kept
    ]  # a policy quotes what it read elsewhere
    sft = [filled(SFT, round=1, sft_id=f"{d}s", prompt_id=f"{d}p", task_id=f"{d}q", trajectory_id=f"{d}t", response=said[d]) for d in kept]
    replies = [filled(REPLIES, request_hash=f"{d}r", run_id="run", ingest_id=INGEST, doc_id=d, reply=said[d]) for d in kept]
    rejects = [filled(REJECTS, ingest_id=INGEST, path="f", position=1, reason="duplicate_record", first_bytes=TEXTS[BAD].encode()),
               filled(REJECTS, ingest_id=INGEST, path="f", position=2, reason="not_json", first_bytes=b"{")]  # fmt: skip
    return {
        (DOCUMENTS, INGEST): docs, (DOCUMENT_VERDICTS, INGEST): verdicts, (DOCUMENT_PROFILES, INGEST): profiles, (QA, INGEST): qa,
        (TASKS, f"ingest={INGEST}"): tasks, (PROMPTS, f"ingest={INGEST}"): prompts, (ROUND_PLAN, "1"): plan, (TRAJECTORIES, "1"): sampled,
        (INTERACTIONS, "1"): turns, (SFT, "1"): sft, (REPLIES, "run"): replies, (REJECTS, INGEST): rejects,
    }  # fmt: skip


@pytest.fixture(scope="session")
def held(spark, empty_lake, tmp_path_factory):
    """A lake with these rows, each slice written twice, so that an older version of it lies about."""
    lake = Lake(shutil.copytree(empty_lake, tmp_path_factory.mktemp("held") / "lake"))
    for (table, value), rows in rows_of_lake().items():
        frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=table.schema), spark_schema(table.schema))
        for fingerprint in ("f1",) if table.append_only else ("f0", "f1"):
            write_slice(spark, lake, SliceWrite(table, value, fingerprint, "test", restate=True), lambda frame=frame: frame)
        lake.delta(table).create_checkpoint()
    return lake.root


@pytest.fixture
def ctx(held, make_context):
    made = make_context()
    shutil.rmtree(made.workspace.lake_root)
    shutil.copytree(held, made.workspace.lake_root)
    root = made.workspace.root
    for name, column, values in (
        ("handoff/convert/run=1/shards/0.parquet", "doc_id", [BAD, GOOD]), ("handoff/convert/run=2/shards/0.parquet", "doc_id", [GOOD]),
        ("handoff/rollout/run=3/out/0/1/part.parquet", "prompt_id", [f"{BAD}p"]), ("datasets/sft/part-0.parquet", "doc_id", [BAD, GOOD]),
        ("datasets/sft/part-1.parquet", "doc_id", [GOOD]), (".dvc/cache/files/md5/ab/" + "0" * 30, "doc_id", [BAD]),
        (".dvc/cache/files/md5/ab/" + "1" * 30, "doc_id", [GOOD]),
    ):  # fmt: skip
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({column: values, "text": [CANARY if v.startswith(BAD) else "fine" for v in values]}), root / name, compression="none")  # fmt: skip
        run = (root / name).parents[1] if "shards" in name else (root / name).parents[3]
        if name.startswith("handoff"):
            (run / "plan").mkdir()
            (run / "plan" / "plan.json").write_text("{}")
    samples = root / "mlartifacts" / "1" / "samples"
    samples.mkdir(parents=True)
    (samples / "sft.jsonl").write_text(f'{{"doc_id": "{BAD}", "text": "{CANARY}"}}\n{{"doc_id": "{GOOD}", "text": "fine"}}\n')
    return made


def grep(root, what=CANARY):
    """Files that hold the text, plainly or in a Parquet column."""
    found = []
    for path in sorted(root.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            if content[:4] == b"PAR1":
                content += str(pq.ParquetFile(path).read().to_pylist()).encode()
            if what.encode() in content:
                found.append(str(path.relative_to(root)))
    return found


def slices(ctx):
    return {t.name: {v: (c.fingerprint, c.version) for v, c in ctx.lake.slices(t).items()} for t, _ in rows_of_lake() if t is not TASKS}


def test_an_unknown_selector_is_refused_and_nothing_is_written(ctx):
    with pytest.raises(UnknownSelectorError, match=r"--uri nowhere\*, --licence none") as refused:
        takedown.run(ctx, Selector(uri=("nowhere*", URIS[BAD]), licence=("none",)), reason="r")
    assert refused.value.exit_code == 3
    assert read_events(ctx.lake, TOMBSTONES) == []


def test_a_takedown_buries_the_document_and_its_copy_and_retires_their_tasks_once(ctx, spark):
    asked = Selector(uri=("https://x.example/*",))
    told = takedown.survey(ctx.workspace, asked)
    assert [(d.doc_id, d.same_text_as) for d in told.documents] == [(BAD, None), (COPY, BAD)]
    assert told.reach.rows["bronze.documents"].count == 2
    assert {name: told.reach.rows[name].count for name in ("silver.qa", "gold.prompts", "silver.interactions", "bronze.replies")} == dict.fromkeys(("silver.qa", "gold.prompts", "silver.interactions", "bronze.replies"), 1)  # fmt: skip
    assert (told.reach.rounds, told.eval_prompts) == ([1], 1)
    assert [(s.tag, s.dataset, s.rows) for s in told.sets] == [("datasets/", "sft", 1)]
    assert read_events(ctx.lake, TOMBSTONES) == [], "a survey writes nothing"

    first, second = (takedown.run(ctx, asked, reason="asked by its author") for _ in range(2))

    assert (first.new, first.retired, second.new, second.retired) == (2, 1, 0, 0)
    assert tombstoned(ctx.lake) == {BAD, COPY}
    newest = {row["doc_id"]: row for row in in_force(ctx.read(TASKS)).collect()}
    assert [newest[BAD][name] for name in ("version", "status", "status_reason", "origin")] == [
        2,
        "retired",
        "takedown",
        f"takedown={asked.takedown_id}",
    ]
    assert newest[GOOD]["status"] == "active"


def test_a_later_delivery_of_the_same_text_or_address_is_rejected_by_curation(ctx, spark):
    takedown.run(ctx, Selector(doc=(BAD,)), reason="r")
    columns = "doc_id string, uri string, digest binary, rejected_for string, rejected_by string"
    rows = [
        ("d1", "https://elsewhere.example", bytearray(TEXTS[BAD].encode()), None, None),
        ("d2", URIS[BAD], bytearray(b"another text"), "too_short", "{}"),
        ("d3", "https://elsewhere.example/3", bytearray(b"a third"), None, None),
    ]
    refused = refuse_taken_down(spark.createDataFrame(rows, columns), marks(ctx.lake)).orderBy("doc_id").collect()
    assert [row["rejected_for"] for row in refused] == ["takedown", "takedown", None]
    assert ['"known_by":"text"' in refused[0]["rejected_by"], '"known_by":"uri"' in refused[1]["rejected_by"]] == [True, True]


def check_purged(ctx, before):
    ctx.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    assert {ctx.read(table).count() for table, _ in rows_of_lake() if table is not REJECTS} == {1}, "Spark reads the log that was cut"
    assert grep(ctx.workspace.root) == []
    assert slices(ctx) == before, "fingerprints and versions are those of the jobs that wrote the slices"
    assert {t.name: c.rows for t, v in rows_of_lake() if t in (DOCUMENTS, SFT, REPLIES) and (c := ctx.lake.slices(t)[v])} == {"bronze.documents": 1, "gold.sft": 1, "bronze.replies": 1}  # fmt: skip
    for table, _ in rows_of_lake():
        left = ctx.lake.delta(table).to_pyarrow_table().to_pylist()
        assert len(left) == (2 if table is REJECTS else 1), table.name
        assert all(GOOD in str(row) for row in left if table is not REJECTS)
        assert ctx.lake.delta(table).metadata().configuration.get("delta.appendOnly") == ("true" if table.append_only else None)
    root = ctx.workspace.root
    assert sorted(p.name for p in root.glob("handoff/*/run=*")) == ["run=2"]
    assert [p.name for p in (root / "datasets" / "sft").iterdir()] == ["part-1.parquet"]
    assert [p.name for p in (root / ".dvc/cache/files/md5/ab").iterdir()] == ["1" * 30]
    assert GOOD in (root / "mlartifacts/1/samples/sft.jsonl").read_text()
    assert {(e["doc_id"], e["state"]) for e in read_events(ctx.lake, TOMBSTONES)} == {
        (d, s) for d in (BAD, COPY) for s in ("tombstoned", "purged")
    }


def test_after_a_purge_no_byte_is_found_and_no_slice_looks_stale(ctx):
    before = slices(ctx)
    assert len(grep(ctx.workspace.root)) > 20
    done = takedown.run(ctx, Selector(licence=("all rights",)), reason="r", purge=True)
    assert (done.purged["gold.sft"], done.purged["bronze.documents"]) == (1, 2)
    assert done.blanked == {"silver.interactions": 2, "bronze.rejects": 1}
    check_purged(ctx, before)
    again = takedown.run(ctx, Selector(licence=("all rights",)), reason="r", purge=True)
    assert (again.purged, again.removed, again.new) == ({}, (), 0), "a source that is gone is still known by its tombstone"


SCRIPT = """
import sys
from jobs import takedown
from jobs.care.selection import Selector
from jobs.config import load_config
from jobs.context import JobContext
from jobs.workspace import Workspace
workspace = Workspace.open(sys.argv[1])
ctx = JobContext(workspace, load_config(workspace.root, overrides=sys.argv[2:]))
takedown.run(ctx, Selector(licence=("all rights",)), reason="r", purge=True)
"""


@pytest.mark.faults
@pytest.mark.parametrize(
    "instant",
    [
        "takedown/erased/bronze.replies",
        # a minute each: these three with `make soak`
        pytest.param("takedown/removed/gold.prompts", marks=pytest.mark.soak),
        pytest.param("takedown/run_unplanned", marks=pytest.mark.soak),
        pytest.param("takedown/purged", marks=pytest.mark.soak),
    ],
)
def test_a_purge_that_dies_comes_to_the_same_end_when_it_is_run_again(ctx, interpreted, instant):
    before = slices(ctx)
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(ctx.workspace.root), *interpreted], env=os.environ | {"VERILAKE_KILL_AT": instant},
        capture_output=True, check=False,
    )  # fmt: skip
    assert process.returncode == -signal.SIGKILL, process.stderr.decode()[-2000:]
    takedown.run(ctx, Selector(licence=("all rights",)), reason="r", purge=True)
    check_purged(ctx, before)
