"""Added sources: every item ends as a task or as a named reject, held-out ones are a benchmark at once, and explain, funnel and takedown know them."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from jobs import add_tasks, takedown
from jobs.care.selection import Selector
from jobs.curate.ingests import earlier_ingests
from jobs.decontamination import benchmarks
from jobs.handoff.rollouts import planned_ingests
from jobs.ingest.manifest import NothingReadableError
from jobs.loop import corpus_stations, ingests
from jobs.plan.candidates import in_force
from jobs.views.explain import explain
from jobs.views.funnel import read_funnel
from schemas.bronze.documents import DOCUMENTS
from schemas.bronze.rejects import REJECTS
from schemas.gold.prompts import PROMPTS
from schemas.gold.tasks import TASKS
from schemas.silver.qa_verdicts import QA_VERDICTS
from tests.coding_tasks import sandbox_or_skip

pytestmark = pytest.mark.spark

WORD_PROBLEMS = [
    {"question": "A gardener plants 3 rows of 24 leeks. How many leeks are that?", "answer": "3 * 24 = <<3*24=72>>72\n#### 72"},
    {
        "question": "A tram makes 30 trips of 40 km. How many km are that?",
        "answer": "30 * 40 = 1,200\n#### 1,200",
        "licence": "CC-BY-4.0",
        "id": "tram",
    },
    {"question": "A gardener plants 3 rows of 24 leeks. How many leeks are that?", "answer": "Again.\n#### 72"},
    {"question": "How heavy is the fourth stone?", "answer": "Nobody knows.\n#### several"},
    {"question": "How many days has the march of seven weeks?", "answer": "49 days, without the mark"},
    {
        "question": "In class: write a function to double a number that somebody has written on a card and laid upon the table. For 8?",
        "answer": "#### 16",
    },
]
PROGRAMS = [
    {"task_id": 1, "text": "Write a function to double a number that somebody has written on a card and laid upon the table.", "code": "def twice(n):\r\n    return 2 * n", "test_list": ["assert twice(4) == 8", "assert twice(-1) == -2"]},
    {"task_id": 2, "text": "Write a function to halve a number.", "code": "def half(n):\n    return n // 2", "test_list": ["assert half(4) == 2", "assert half(5) == 2.5"]},
    {"task_id": 3, "text": "Write a function to read a tree.", "code": "def leaf(t):\n    return t.value", "test_setup_code": "root = Node(1)", "test_list": ["assert leaf(root) == 1"]},
]  # fmt: skip


def written(folder, name, records, *lines):
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records) + "".join(f"{line}\n" for line in lines), "utf-8")
    return path


def held(ctx, table):
    return ctx.lake.delta(table).to_pyarrow_table().to_pylist()


def states(ctx, ingest_id):
    return Counter(row["reason"] for row in held(ctx, QA_VERDICTS) if row["ingest_id"] == ingest_id)


def of_ingest(ctx, ingest_id):
    return {row["question"]: row for row in held(ctx, TASKS) if row["origin"] == f"ingest={ingest_id}"}


def test_every_item_is_a_task_or_a_named_reject_and_what_it_led_to_is_found(make_context, tmp_path):
    sandbox_or_skip()
    ctx = make_context()
    held_out = add_tasks.run(ctx, "programs", written(tmp_path, "test.jsonl", PROGRAMS), "mbpp", split="test", licence="CC0")
    assert states(ctx, held_out.ingest_id) == {"admitted": 1, "contract_rejects_gold": 2}
    (task,) = of_ingest(ctx, held_out.ingest_id).values()
    assert (task["split"], task["allowed_roles"], task["answer_type"], task["verifier"].split("@")[0], task["stage"]) == (
        "eval", ["eval", "regression"], "code", "code", 3,
    )  # fmt: skip

    path = written(tmp_path, "train.jsonl", [*WORD_PROBLEMS, WORD_PROBLEMS[1]], '{"question": "cut off', "[1, 2]")
    added = add_tasks.run(ctx, "leeks", path, "gsm8k", licence="MIT")
    assert added.waits_for == ()
    addition, admission = added.reports
    rejects = {"duplicate_record": 1, "not_json": 1, "not_object": 1}
    assert addition.counts == {"input": 9, "documents": 6, "rejects": rejects, "taken_down": 0, "candidates": 6}
    assert admission.counts["admitted"] == 2
    # The last one asks what the held-out set asks.
    assert states(ctx, added.ingest_id) == {
        "admitted": 2, "duplicate_question": 1, "engine:unreadable_gold": 1, "engine:no_final_answer": 1, "contaminated": 1,
    }  # fmt: skip
    assert {(row["reason"], row["position"]) for row in held(ctx, REJECTS)} == {("duplicate_record", 7), ("not_json", 8), ("not_object", 9)}
    tasks = of_ingest(ctx, added.ingest_id)
    assert {(t["answer"], t["licence"], t["split"], t["source_kind"], t["stage"], *t["allowed_roles"]) for t in tasks.values()} == {
        ("72", "MIT", "train", "benchmark", 2, "train", "probe"), ("1,200", "CC-BY-4.0", "train", "benchmark", 2, "train", "probe"),
    }  # fmt: skip
    assert not any(report.did for report in add_tasks.run(ctx, "leeks", path, "gsm8k", licence="MIT").reports)

    # No policy reads golds, and no curation waits for them.
    assert planned_ingests(ctx.lake, 1) == []
    assert earlier_ingests(ctx.lake, added.ingest_id) == []
    assert [station.name for ingest_id in ingests(ctx) for station in corpus_stations(ctx, ingest_id)] == ["admit"] * 2
    assert read_funnel(ctx.workspace).failing == []

    prompt = next(row for row in held(ctx, PROMPTS) if row["task_id"] == task["task_id"])
    assert (prompt["form"], "assert twice(4) == 8" in prompt["text"], "-2" in prompt["text"]) == ("code", True, False)
    chain = explain(ctx.workspace, prompt["prompt_id"])
    assert {"bronze.documents", "silver.documents", "silver.qa", "silver.qa_verdicts", "gold.tasks"} <= {s.table for s in chain.sections}

    uri = next(row["uri"] for row in held(ctx, DOCUMENTS) if row["doc_id"] == tasks[WORD_PROBLEMS[0]["question"]]["doc_id"])
    gone = takedown.run(ctx, Selector(uri=(uri,), licence=("CC0",)), reason="asked")
    assert (gone.new, gone.retired) == (4, 2)
    active = {row["task_id"] for row in in_force(ctx.read(TASKS)).where("status = 'active'").collect()}
    assert active == {tasks[WORD_PROBLEMS[1]["question"]]["task_id"]}

    # What was taken down stays out when it is delivered under another name; what is trained on already is not held out as well.
    renamed = add_tasks.run(ctx, "leeks2", path, "gsm8k", split="test")
    assert (renamed.reports[1].counts["documents"], renamed.reports[1].counts["taken_down"]) == (6, 1)
    assert states(ctx, renamed.ingest_id) == {
        "admitted": 1,
        "duplicate_question": 2,
        "engine:unreadable_gold": 1,
        "engine:no_final_answer": 1,
    }
    assert [(v.name, v.items, v.in_force) for v in benchmarks.versions(ctx.lake)] == [("leeks2", 7, True), ("programs", 3, True)]
    generated = add_tasks.generate(ctx, "mixed", 10, 7, range(1, 6))
    assert states(ctx, generated.ingest_id) == {"admitted": 10}
    assert {t["source_kind"] for t in of_ingest(ctx, generated.ingest_id).values()} == {"generator"}


def test_a_file_without_a_single_item_is_refused(make_context, tmp_path):
    ctx = make_context()
    with pytest.raises(NothingReadableError, match="no field 'question'"):
        add_tasks.run(ctx, "empty", written(tmp_path, "empty.jsonl", [{"text": "no question"}]), "gsm8k")
    assert ctx.lake.slices(DOCUMENTS) == {}
