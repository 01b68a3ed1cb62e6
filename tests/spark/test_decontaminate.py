"""Benchmark sets as versioned inputs; what holds their items is rejected at curation and admission, and found afterwards in all that was made of it."""

from __future__ import annotations

import json
import shutil

import pytest

from jobs import curate_corpus, decontaminate
from jobs.config import load_config
from jobs.context import JobContext
from jobs.decontamination import benchmarks
from jobs.decontamination.told import lines_of
from jobs.lake.layout import Lake
from jobs.lake.types import spark_schema
from jobs.plan.candidates import in_force, known_before
from jobs.workspace import Workspace
from schemas.bronze.benchmark_items import BENCHMARK_ITEMS
from schemas.bronze.documents import DOCUMENTS
from schemas.gold.tasks import TASKS
from schemas.silver.contamination import CONTAMINATION
from schemas.silver.document_verdicts import DOCUMENT_VERDICTS
from schemas.silver.qa import QA
from schemas.silver.qa_verdicts import QA_VERDICTS
from tests.conftest import NOW
from tests.lake_rows import filled
from udfs.decontamination.items import Item, version_of

pytestmark = pytest.mark.spark

QUESTION = "A farmer sells eleven baskets of quinces on Monday and twice as many on every later day of the week; how many baskets are sold?"
LEAK = "The worksheet begins here.\n" + QUESTION.replace(" ", "\n") + "\nPlease hand it in before noon, with your name on every page of it."
CLEAN = (
    "The farmer of this story grows quinces and sells them at the market on Monday, where baskets of every size stand in long rows all day."
)
ITEM = Item("q1", QUESTION, "143")
INGEST = "1" * 32


def ingest(ctx, texts, ingest_id=INGEST):
    rows = [filled(DOCUMENTS, doc_id=name, ingest_id=ingest_id, ingest_seq=1, source="s", uri=name, text=text, metadata="{}", fetched_at=NOW) for name, text in texts.items()]  # fmt: skip
    with ctx.open("ingest_corpus", f"ingest={ingest_id}", reads={}, writes={DOCUMENTS: ingest_id}) as job:
        job.write(DOCUMENTS, lambda: ctx.spark.createDataFrame(rows, spark_schema(DOCUMENTS.schema)))


def rows(ctx, table, key):
    return {row[key]: row for row in ctx.lake.delta(table).to_pyarrow_table().to_pylist()}


def test_a_set_is_added_once_and_other_content_is_its_next_version(make_context):
    ctx = make_context()
    assert benchmarks.add(ctx, "quiz", [ITEM]).did
    assert not benchmarks.add(ctx, "quiz", [ITEM]).did
    revised = [ITEM, Item("q2", "Another question that nobody has asked before?", "no", "", ("no", "yes"), "assert True")]
    assert benchmarks.add(ctx, "quiz", revised).did
    assert not benchmarks.add(ctx, "quiz", [ITEM]).did  # known: it does not come back into force
    assert benchmarks.add(ctx, "other", [ITEM]).did
    assert [(v.benchmark, v.items, v.in_force) for v in benchmarks.versions(ctx.lake)] == [
        (version_of("other", [ITEM]), 1, True), (version_of("quiz", [ITEM]), 1, False), (version_of("quiz", revised), 2, True),
    ]  # fmt: skip
    assert benchmarks.in_force(ctx.lake) == sorted([version_of("other", [ITEM]), version_of("quiz", revised)])
    assert benchmarks.in_force(ctx.lake, ["other"]) == [version_of("other", [ITEM])]
    assert benchmarks.load(ctx.lake, [version_of("quiz", revised)]) == [(version_of("quiz", revised), revised)]
    with pytest.raises(benchmarks.BenchmarkNameError, match="no such set"):
        benchmarks.in_force(ctx.lake, ["absent"])
    for name in ("../quiz", "", "eval_tasks"):
        with pytest.raises(benchmarks.BenchmarkNameError):
            benchmarks.add(ctx, name, [ITEM])
    assert ctx.lake.delta(BENCHMARK_ITEMS).to_pyarrow_table().num_rows == 4


def test_curation_rejects_what_holds_an_item_and_only_a_set_that_is_held_makes_it_stale(make_context):
    ctx = make_context()
    ingest(ctx, {"leak": LEAK, "clean": CLEAN, "short": "too short"})
    first = curate_corpus.run(ctx, INGEST)
    assert first.counts == {"input": 3, "kept": 2, "too_short": 1}
    assert ctx.lake.slices(CONTAMINATION) == {}  # no set: nothing is searched, nothing written
    benchmarks.add(ctx, "unheld", [Item("u", "Which of the seventeen provinces of the old kingdom had neither a harbour nor a mint?")])
    again = curate_corpus.run(ctx, INGEST)
    assert (again.did, again.fingerprint) == (False, first.fingerprint)
    assert ctx.lake.slices(CONTAMINATION)[f"documents={INGEST}"].rows == 0
    benchmarks.add(ctx, "quiz", [ITEM])
    report = curate_corpus.run(ctx, INGEST)
    assert report.counts == {"input": 3, "contaminated": 1, "kept": 1, "too_short": 1}
    verdict = rows(ctx, DOCUMENT_VERDICTS, "doc_id")["leak"]
    assert (verdict["state"], verdict["reason"]) == ("rejected", "contaminated")
    said = json.loads(verdict["evidence"])
    assert (said["benchmark"], said["item"], said["part"], said["coverage"]) == (version_of("quiz", [ITEM]), "q1", "question", 1.0)
    # The span is the question as it stands in the document, up to its last word.
    assert LEAK[said["start"] : said["end"]] == QUESTION.replace(" ", "\n").rstrip("?")
    held = rows(ctx, CONTAMINATION, "row_id")["leak"]
    assert (held["kind"], held["span_start"], held["span_end"], held["item_tokens"]) == ("document", said["start"], said["end"], 25)
    assert not curate_corpus.run(ctx, INGEST).did


def test_what_is_only_flagged_keeps_its_verdict(make_context):
    ctx = make_context('decontaminate.action="flag"')
    ingest(ctx, {"leak": LEAK, "clean": CLEAN})
    benchmarks.add(ctx, "quiz", [ITEM])
    assert curate_corpus.run(ctx, INGEST).counts == {"input": 2, "kept": 2}
    assert set(rows(ctx, CONTAMINATION, "row_id")) == {"leak"}


def test_matches_do_not_depend_on_partitions(make_context):
    ctx = make_context("decontaminate.template_documents=3")
    phrase = " ".join(QUESTION.split()[:14])
    ingest(ctx, {"leak": LEAK, **{f"d{i}": f"{CLEAN} number {i} says: {phrase} and then goes on in its own way" for i in range(12)}})
    benchmarks.add(ctx, "quiz", [ITEM])
    from udfs.decontamination.index import build_index

    index = build_index(benchmarks.load(ctx.lake, benchmarks.in_force(ctx.lake)), decontaminate.rule_of(ctx.config.decontaminate))
    texts, found = decontaminate._documents(ctx, INGEST), []
    for parts in (1, 5):
        with decontaminate.matches(texts.repartition(parts), index, "documents=x", "document") as frame:
            found.append(sorted(map(tuple, frame.collect())))
    assert found[0] == found[1]
    # Half of the item's words are a common phrase here: what counts are the others, and the leak holds them all.
    assert [(row[2], row[8] < 25) for row in found[0]] == [("leak", True)]


@pytest.fixture
def campaign(prepared, tmp_path, spark):
    """A copy of two finished rounds."""
    root = shutil.copytree(prepared.root, tmp_path / "ws", symlinks=True)
    workspace = Workspace.open(root)
    return JobContext(workspace, load_config(workspace.root, overrides=prepared.overrides), now=NOW, job_run_id="test", session=spark)


def test_a_set_added_later_finds_documents_tasks_rounds_sets_and_checkpoints_and_retires_the_tasks(campaign):
    from schemas.gold.round_plan import ROUND_PLAN

    ctx = campaign
    closed = {table.name: ctx.lake.slices(table) for table in (ROUND_PLAN, QA_VERDICTS)}
    tasks = [t for t in ctx.lake.delta(TASKS).to_pyarrow_table().to_pylist() if t["split"] == "train" and t["parent_task_id"] is None]
    planned = {row["task_id"] for row in ctx.lake.delta(ROUND_PLAN).to_pyarrow_table(columns=["task_id"]).to_pylist()}
    leaked = next(t for t in sorted(tasks, key=lambda t: t["task_id"]) if t["task_id"] in planned and len(t["question"].split()) >= 12)
    benchmarks.add(ctx, "quiz", [Item("q", leaked["question"], leaked["answer"])])
    reports, found = decontaminate.run(ctx, retroactive=True)
    assert leaked["task_id"] in found.own_text
    assert leaked["qa_id"] in found.questions
    assert found.rounds
    assert all(number in (1, 2) for number in found.rounds)
    assert {s.dataset for s in found.sets} >= {"rl"}
    assert found.checkpoints
    assert any("--retire" in line for line in lines_of(found, action="reject", retire=False))
    assert not any(report.did for report in decontaminate.run(ctx, retroactive=True)[0])
    assert all(report.counts["input"] == report.counts["clean"] + report.counts["contaminated"] for report in reports)

    reports, after = decontaminate.run(ctx, retire=True)
    assert after.tasks == found.tasks
    assert reports[-1].counts["retired"] == len(found.tasks)
    newest = {row["task_id"]: row for row in in_force(ctx.read(TASKS)).where("status = 'retired'").collect()}
    assert newest[leaked["task_id"]]["status_reason"] == "contaminated"
    assert set(newest) >= found.tasks
    assert all(newest[ident]["split"] == "train" for ident in found.tasks)
    (origin,) = [value for value in ctx.lake.slices(TASKS) if value.startswith("decontaminate=")]
    assert known_before(origin, 3)
    assert {table.name: ctx.lake.slices(table) for table in (ROUND_PLAN, QA_VERDICTS)} == closed  # nothing closed was written again
    assert not any(report.did for report in decontaminate.run(ctx, retire=True)[0])


def test_admission_rejects_a_question_that_an_item_asks(campaign):
    from jobs import admit_tasks

    ctx = campaign
    verdicts = rows(ctx, QA_VERDICTS, "qa_id")
    admitted = [q for q in ctx.lake.delta(QA).to_pyarrow_table().to_pylist() if verdicts[q["qa_id"]]["state"] == "admitted"]
    asked = next(q for q in sorted(admitted, key=lambda q: q["qa_id"]) if len(q["question"].split()) >= 12)
    benchmarks.add(ctx, "quiz", [Item("q", asked["question"], asked["answer"])])
    report = admit_tasks.run(ctx, asked["ingest_id"])
    assert report.did
    assert report.counts["rejected"]["contaminated"] >= 1
    verdict = rows(ctx, QA_VERDICTS, "qa_id")[asked["qa_id"]]
    assert (verdict["state"], verdict["reason"]) == ("rejected", "contaminated")
    assert json.loads(verdict["evidence"])["item"] == "q"
    assert asked["qa_id"] not in {
        t["task_id"]
        for t in Lake(ctx.workspace.lake_root).delta(TASKS).to_pyarrow_table(columns=["task_id", "origin"]).to_pylist()
        if t["origin"].startswith("ingest=")
    }
