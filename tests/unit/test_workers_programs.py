"""Programs without processes: what an item becomes, and what an engine's failure becomes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from gpu_workers.errors import RefusedRunError
from gpu_workers.programs.convert import ConvertProgram
from gpu_workers.programs.program import Origin
from gpu_workers.programs.registry import build_program
from gpu_workers.programs.rollout import ReaderProgram
from schemas.handoff import PART_SCHEMAS, Commit, PartFile
from tests.faults.handoff_runs import lay_convert, lay_rollout
from udfs.store.parts import expected_rows, judge_commit, judge_rows, write_part
from udfs.store.run import HandoffRun, RunError

NOW = datetime(2026, 1, 2, tzinfo=UTC)
ORIGIN = Origin("w", 1)
DOCUMENT = "pkg.f0\n\nFunction of module pkg.\n\npkg.f0(source, symbol='single')\n\nParameters:\n  source\n  symbol (default: 'single')\n\nCompile a command.\n"


def all_rows(program, run, sid="s0"):
    begun = []
    finished = list(program.generate(run.shard_items(sid).to_pylist(), ORIGIN, begun.extend))
    assert [item.key for item in finished] == begun
    return [row for item in finished for row in item.rows]


def test_convert_answers_with_the_engines_items_and_returns_an_earlier_reply_untouched(tmp_path):
    run = lay_convert(tmp_path, [(DOCUMENT, None), (DOCUMENT, '[{"kind":"x"}]'), (DOCUMENT, "no json"), ("", None)])
    rows = all_rows(build_program(run, {}, lambda: NOW), run)
    assert [row["finish_reason"] for row in rows] == ["stop"] * 4
    assert any(item["answer"] == "'single'" for item in json.loads(rows[0]["reply"]))
    assert (rows[1]["reply"], rows[1]["n_items"]) == ('[{"kind":"x"}]', 1)
    assert (rows[2]["reply"], rows[2]["n_items"]) == ("no json", 0)
    assert (rows[3]["reply"], rows[3]["n_items"]) == ("[]", 0)
    table = pa.Table.from_pylist(rows, schema=PART_SCHEMAS["convert"])
    assert judge_rows(run.plan, expected_rows(run.plan, run.shard_items("s0")), table) is None


@pytest.mark.parametrize(
    ("error", "failure_class"),
    [(ValueError("x"), "engine_error"), (RecursionError(), "engine_error"), (KeyError("k"), "engine_error"), (MemoryError(), "oom")],
)
def test_a_document_on_which_the_engine_raises_is_a_row_with_its_class_and_the_rest_goes_on(tmp_path, error, failure_class):
    run = lay_convert(tmp_path, [("good", None), ("bad", None), ("good", None)])

    def extract(doc_id, source, uri, title, text, metadata, *, max_items):
        if text == "bad":
            raise error
        return [{"n": max_items}]

    rows = all_rows(ConvertProgram(run.plan, extract, run.plan.settings["engine_version"], lambda: NOW), run)
    assert [row["reply"] for row in rows] == ['[{"n":4}]', None, '[{"n":4}]']
    assert [row["failure_class"] for row in rows] == [None, failure_class, None]


def test_a_fault_of_the_worker_is_not_taken_for_one_of_the_item(tmp_path):
    run = lay_convert(tmp_path, [("x", None)])

    def extract(*arguments, max_items):
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"):
        all_rows(ConvertProgram(run.plan, extract, run.plan.settings["engine_version"], lambda: NOW), run)


def test_a_run_for_another_version_or_engine_is_refused(tmp_path):
    run = lay_convert(tmp_path, [("x", None)])
    with pytest.raises(RefusedRunError, match=r"planned for version .*, this worker has other"):
        ConvertProgram(run.plan, list, "other", lambda: NOW)
    with pytest.raises(RefusedRunError, match="no option dtype"):
        build_program(run, {"dtype": "bf16"})
    with pytest.raises(RunError, match="not a planned hand-off run"):
        HandoffRun(tmp_path / "nothing").plan  # noqa: B018  # reading it is the test


def test_rollouts_are_whole_rows_whose_tensors_agree(tmp_path):
    run = lay_rollout(tmp_path, shards=1, prompts=4, samples=5)
    rows = all_rows(build_program(run, {}, lambda: NOW), run)
    assert len(rows) == 20
    for row in rows:
        assert len(row["response_token_ids"]) == len(row["response_logprobs"])
        assert bytes(row["response_token_ids"][:-1]).decode() == row["response_text"]
        assert bytes(row["prompt_token_ids"]).decode() == row["prompt_text"]
    assert len({row["seed"] for row in rows}) == 20


def test_a_prompt_that_cannot_be_read_fails_sample_by_sample_and_the_rest_goes_on(tmp_path):
    run = lay_rollout(tmp_path, shards=1, prompts=3, samples=2)
    items = run.shard_items("s0").to_pylist()
    items[0]["options"] = "no json"
    items[1]["text"] = " "
    program = build_program(run, {}, lambda: NOW)
    finished = list(program.generate(items, ORIGIN, [].extend))
    assert [[row["failure_class"] for row in item.rows] for item in finished] == [
        ["prompt_invalid"] * 2,
        ["prompt_invalid"] * 2,
        [None] * 2,
    ]
    assert "options must be a JSON list" in json.loads(finished[0].rows[0]["raw"])["reason"]


def test_policy_files_that_are_not_the_plans_are_refused(tmp_path):
    run = lay_rollout(tmp_path / "a", shards=1)
    other = run.plan.model_copy(update={"policy_id": "reader-000000000000"})
    with pytest.raises(RefusedRunError, match="the plan names reader-000000000000"):
        ReaderProgram.load(other, run.store.path("plan/policy"), lambda: NOW)
    run.store.remove("plan/policy/passages.parquet")
    with pytest.raises(RefusedRunError, match="FileNotFoundError"):
        build_program(run, {})


def _committed(tmp_path, change):
    """A commit of one shard whose rows were changed before they were written."""
    run = lay_rollout(tmp_path, shards=1, prompts=2, samples=2)
    rows = all_rows(build_program(run, {}, lambda: NOW), run)
    rows = change(rows) or rows
    part = write_part(run.store, "rollout", "out/s0/1", 0, rows)
    failures = {"engine_error": n} if (n := sum(row["failure_class"] is not None for row in rows)) else {}
    return run, Commit(shard="s0", attempt=1, worker_id="w", files=(part,), rows=len(rows), failures=failures)


def _set(index, **values):
    return lambda rows: rows[index].update(values)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (list, None),
        (_set(0, response_logprobs=[float("nan")] * 3, response_token_ids=[1, 2, 256]), "NaN or infinite"),
        (_set(0, response_logprobs=[0.5], response_token_ids=[256]), "exceeds 0"),
        (_set(0, response_logprobs=[None], response_token_ids=[256]), "NaN or infinite"),
        (_set(0, response_logprobs=[-1.0], response_token_ids=[1, 256]), "differ in length"),
        (_set(0, response_logprobs=[-1.0], response_token_ids=[257]), r"outside \[0, 257\)"),
        (_set(0, response_logprobs=[-1.0], response_token_ids=[-1]), r"outside \[0, 257\)"),
        (_set(0, response_text=None), "lacks text"),
        (_set(1, sample_index=0), "sample indices"),
        (_set(0, run_id="r2"), "another run"),
        (_set(0, prompt_id="f" * 32), "not in this shard"),
        (_set(0, policy_id="other"), "another policy"),
        (_set(0, failure_class="tired"), "unknown failure class"),
        (_set(0, failure_class="engine_error"), None),
        (lambda rows: rows[:-1], "3 rows in files, 3 committed, 4 expected"),
        (lambda rows: rows + rows[:1], "5 rows in files, 5 committed, 4 expected"),
        (lambda rows: rows[:-1] + rows[:1], "3 rows, 2 expected"),
    ],
)
def test_a_commit_is_taken_only_where_every_row_is_sound(tmp_path, change, reason):
    run, commit = _committed(tmp_path, change)
    found = judge_commit(run, commit)
    if reason is None:
        assert found is None
    else:
        assert re.search(reason, found)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rows": 3}, "4 rows in files, 3 committed"),
        ({"failures": {"oom": 1}}, "failures {} in rows, {'oom': 1} declared"),
        ({"files": ()}, "0 rows in files"),
        ({"shard": "s1"}, "not a part of this shard"),
        ({"files": (PartFile(path="out/s0/../../plan.json", rows=0, bytes=0, sha256=""),)}, "not a part of this shard"),
    ],
)
def test_a_commit_that_declares_something_else_is_not_taken(tmp_path, change, reason):
    run, commit = _committed(tmp_path, list)
    assert reason in judge_commit(run, commit.model_copy(update=change))


def test_workers_import_neither_spark_nor_jobs():
    code = (
        "import sys, gpu_workers.__main__, gpu_workers.programs.rollout, gpu_workers.programs.convert, udfs.extract\n"
        "bad = [m for m in sys.modules if m.split('.')[0] in ('pyspark', 'py4j', 'delta', 'jobs', 'torch', 'vllm')]\n"
        "sys.exit(str(bad) if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
