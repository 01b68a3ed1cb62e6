"""Conversion and roll-out through the real hand-off: shards by Spark, workers as processes, commits into the lake."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jobs.handoff.commits
import jobs.handoff.plan
from jobs import convert_corpus, rollout_round
from jobs.config import load_config
from jobs.context import JobContext
from jobs.handoff.errors import HandoffError
from jobs.handoff.policies import UnknownPolicyError
from jobs.handoff.rollouts import LostPromptsError
from jobs.lake.checksum import checksum_of
from jobs.lake.errors import MissingInputError
from jobs.workspace import Workspace
from schemas.bronze.replies import REPLIES
from schemas.bronze.rollouts import ROLLOUTS
from schemas.gold.prompts import PROMPTS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.tasks import TASKS
from schemas.ids import content_id, seed_from
from schemas.silver.documents import DOCUMENTS
from schemas.silver.qa import QA
from schemas.table import TIMESTAMP
from tests.conftest import NOW
from udfs.reader.checkpoint import base_checkpoint
from udfs.store.run import HandoffRun

pytestmark = pytest.mark.spark

PAGE = "{name}\n\nFunction of module pkg.\n\n{name}(source, symbol={value})\n\nParameters:\n  source\n  symbol (default: {value})\n\nCompile a command.\n"
NAMES = [f"pkg.{word}" for word in ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota")]
DOCS = 9
POLICY = base_checkpoint().policy_id


def fill(ctx, table, slice_, rows, job="seed", tag=""):
    """A slice as an earlier job would have written it; missing columns get a plain value of their type."""
    from pyspark.sql.pandas.types import from_arrow_schema

    plain = {pa.string(): "", pa.int32(): 1, pa.int64(): 0, pa.float64(): 0.0, TIMESTAMP: NOW}
    made = [{f.name: row.get(f.name, None if f.nullable else plain.get(f.type, [])) for f in table.schema} for row in rows]
    schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=False)
    with ctx.open(
        f"{job}.{table.name}", f"slice={slice_}", reads={}, writes={table: slice_}, settings=[tag, sorted(map(str, made))]
    ) as run:
        run.write(table, lambda: ctx.spark.createDataFrame([tuple(row[name] for name in table.schema.names) for row in made], schema))


def documents(count):
    return [
        {
            "doc_id": content_id("doc", k), "ingest_id": "one", "source": "s", "uri": f"u{k}", "title": NAMES[k], "text": PAGE.format(name=NAMES[k], value=20 + k),
            "metadata": '{"kind":"function"}', "cluster_id": content_id("doc", k), "split": "eval" if k == 0 else "train",
        }
        for k in range(count)
    ]  # fmt: skip


def planned(samples=4, policy_id=POLICY, role=""):
    """(prompts, tasks, plan) of one round: a question a document, one of them open-book and one a choice."""
    prompts, tasks, plan = [], [], []
    for k in range(DOCS):
        task_id, prompt_id = content_id("task", k), content_id("prompt", k)
        question = f"What is the default value of the parameter `symbol` of `{NAMES[k]}()`?"
        further = {1: {"context": "symbol (default: 21)"}, 2: {"options": '["22","25"]'}}.get(k, {})
        text = f"{question}\n{further.get('context', '')}{further.get('options', '')}"
        prompts.append(
            {"prompt_id": prompt_id, "origin": "ingest=one", "task_id": task_id, "text": text, "form": "answer_only", "options": "[]"}
            | further
        )
        tasks.append(
            {"task_id": task_id, "origin": "ingest=one", "split": "train", "status": "active", "question": question, "subject": NAMES[k]}
        )
        plan.append({
            "round": 1, "prompt_id": prompt_id, "task_id": task_id, "task_version": 1, "n_samples": samples + k % 2, "policy_id": policy_id,
            "seed": seed_from(1, prompt_id), "role": role,
        })  # fmt: skip
    return prompts, tasks, plan


def seed_round(ctx, **further):
    prompts, tasks, plan = planned(**further)
    fill(ctx, DOCUMENTS, "one", documents(DOCS))
    fill(ctx, PROMPTS, "ingest=one", prompts)
    fill(ctx, TASKS, "ingest=one", tasks)
    fill(ctx, ROUND_PLAN, 1, plan)


def rows(ctx, table):
    return ctx.lake.delta(table).to_pyarrow_table().to_pylist()


def checksums(ctx, *tables):
    return [str(checksum_of(ctx.read(table), table)) for table in tables]


@pytest.fixture(scope="module")
def undisturbed(spark, tmp_path_factory):
    """Checksums of a round that nothing disturbed; other shards and workers than the tests use."""
    workspace = Workspace.init(tmp_path_factory.mktemp("undisturbed"))
    ctx = JobContext(workspace, load_config(overrides=["rollout.prompts_per_shard=2", "work.workers=1"]), now=NOW, session=spark)
    seed_round(ctx)
    rollout_round.run(ctx, 1)
    return checksums(ctx, ROLLOUTS)


def the_run(ctx, program):
    (folder,) = (ctx.workspace.handoff_root / program).iterdir()
    return HandoffRun(folder)


def test_convert_keeps_every_reply_and_every_item(make_context):
    ctx = make_context("convert.docs_per_shard=4")
    with pytest.raises(MissingInputError, match="verilake curate"):
        convert_corpus.run(ctx, "one")
    fill(ctx, DOCUMENTS, "one", documents(DOCS))
    report = convert_corpus.run(ctx, "one")
    assert report.did
    replies, qa = rows(ctx, REPLIES), rows(ctx, QA)
    assert {row["doc_id"] for row in replies} == {content_id("doc", k) for k in range(DOCS)}
    assert report.counts["input"] == DOCS == sum(report.counts[name] for name in ("with_items", "without_items", "failed", "waiting"))
    assert len(qa) == sum(row["n_items"] for row in replies) == report.counts["items"] == sum(report.counts["item_states"].values())
    golds = {row["doc_id"]: row["answer"] for row in qa if row["kind"] == "param_default" and row["filter_reason"] is None}
    assert golds == {content_id("doc", k): str(20 + k) for k in range(DOCS)}
    assert {row["split"] for row in qa if row["doc_id"] == content_id("doc", 0)} == {"eval"}
    run = the_run(ctx, "convert")
    assert [run.plan.rows[sid] for sid in run.plan.shards] == [4, 4, 1]
    assert not run.store.exists(".attempts")
    again = convert_corpus.run(ctx, "one")
    assert (again.did, again.counts) == (False, report.counts)
    # Another workspace with other shards and partitions.
    other = make_context("convert.docs_per_shard=100", "work.workers=1", name="other")
    fill(other, DOCUMENTS, "one", documents(DOCS)[::-1])
    convert_corpus.run(other, "one")
    assert checksums(ctx, REPLIES, QA) == checksums(other, REPLIES, QA)


def test_a_reply_that_is_held_is_not_asked_for_again_and_not_stored_twice(make_context):
    ctx = make_context()
    fill(ctx, DOCUMENTS, "one", documents(DOCS - 1), tag="first")
    convert_corpus.run(ctx, "one")
    before = {row["request_hash"]: row for row in rows(ctx, REPLIES)}
    fill(ctx, DOCUMENTS, "one", documents(DOCS), tag="curated again, one more")
    report = convert_corpus.run(ctx, "one")
    assert report.counts["input"] == DOCS
    after = rows(ctx, REPLIES)
    assert len(after) == len({row["request_hash"] for row in after}) == DOCS
    assert all(row in after for row in before.values())
    runs = [HandoffRun(folder) for folder in (ctx.workspace.handoff_root / "convert").iterdir()]
    second = next(run for run in runs if sum(run.plan.rows.values()) == DOCS)
    items = [item for sid in second.plan.shards for item in second.shard_items(sid).to_pylist()]
    carried = {earlier["request_hash"]: earlier["reply"] for item in items for earlier in item["earlier"]}
    assert carried == {request_hash: row["reply"] for request_hash, row in before.items()}
    assert {row["doc_id"] for row in rows(ctx, QA)} == {content_id("doc", k) for k in range(DOCS)}


def test_rollout_delivers_every_planned_sample_once(make_context, undisturbed):
    ctx = make_context("rollout.prompts_per_shard=4")
    with pytest.raises(MissingInputError, match="verilake plan"):
        rollout_round.run(ctx, 1)
    assert rollout_round.current_policy(ctx) == POLICY
    seed_round(ctx)
    report = rollout_round.run(ctx, 1)
    delivered = rows(ctx, ROLLOUTS)
    _, _, plan = planned()
    wanted = {(row["prompt_id"], k) for row in plan for k in range(row["n_samples"])}
    assert {(row["prompt_id"], row["sample_index"]) for row in delivered} == wanted
    assert len(delivered) == len(wanted) == report.counts["input"] == report.counts["sampled"]
    assert {(row["policy_id"], row["temperature"], row["logprobs_mode"]) for row in delivered} == {(POLICY, 1.0, "processed")}
    choice = {row["response_text"].removeprefix("Answer: ")[-1] for row in delivered if row["prompt_id"] == content_id("prompt", 2)}
    assert choice & {"A", "B"}
    assert not rollout_round.run(ctx, 1).did
    assert checksums(ctx, ROLLOUTS) == undisturbed


class CrashError(Exception):
    """A process that ends here."""


@pytest.mark.parametrize("instant", ["handoff/rollout/before_plan", "handoff/rollout/written_ahead"])
def test_a_driver_that_dies_leaves_what_the_next_one_completes(make_context, undisturbed, monkeypatch, instant):
    ctx = make_context("rollout.prompts_per_shard=3")
    seed_round(ctx)

    def crash(name):
        if name == instant:
            raise CrashError

    with monkeypatch.context() as patched:
        patched.setattr(jobs.handoff.plan, "reach", crash)
        patched.setattr(jobs.handoff.commits, "reach", crash)
        with pytest.raises(CrashError):
            rollout_round.run(ctx, 1)
    assert rows(ctx, ROLLOUTS) == []
    rollout_round.run(ctx, 1)
    assert checksums(ctx, ROLLOUTS) == undisturbed
    assert len(list((ctx.workspace.handoff_root / "rollout").iterdir())) == 1


def test_an_unsound_commit_is_quarantined_and_its_shard_done_again(make_context, undisturbed, monkeypatch):
    ctx = make_context("rollout.prompts_per_shard=3")
    seed_round(ctx)
    real, done = jobs.handoff.commits.verify, []

    def damage_first(context, run):
        if not done:
            done.append(run)
            commit = run.commit(run.plan.shards[1])
            path = run.store.path(commit.files[0].path)
            table = pq.read_table(path)
            path.write_bytes(path.read_bytes()[: table.num_rows])
        return real(context, run)

    monkeypatch.setattr(jobs.handoff.commits, "verify", damage_first)
    rollout_round.run(ctx, 1)
    (run,) = done
    kept = json.loads(run.store.read(f"quarantine/{run.plan.shards[1]}.1.json"))
    assert "bytes" in kept["reason"]
    assert run.commit(run.plan.shards[1]).attempt == 2
    assert checksums(ctx, ROLLOUTS) == undisturbed


def test_what_cannot_be_drained_says_why_and_goes_on_later(make_context, monkeypatch):
    ctx = make_context()
    seed_round(ctx)
    real = jobs.handoff.commits.drain

    def stopped(run, work, progress):
        run.store.put("control/stop", b"")
        real(run, work, progress)

    with monkeypatch.context() as patched:
        patched.setattr(jobs.handoff.commits, "drain", stopped)
        with pytest.raises(HandoffError, match=r"1 shards left\. Remove control/stop"):
            rollout_round.run(ctx, 1)
    the_run(ctx, "rollout").store.remove("control/stop")
    assert rollout_round.run(ctx, 1).did


def test_a_plan_that_the_lake_cannot_serve_is_refused(make_context):
    ctx = make_context()
    seed_round(ctx, policy_id="reader-000000000000")
    with pytest.raises(UnknownPolicyError, match="reader-000000000000"):
        rollout_round.run(ctx, 1)
    lost = make_context(name="lost")
    seed_round(lost)
    fill(lost, PROMPTS, "ingest=one", planned()[0][:-1], tag="one is gone")
    with pytest.raises(LostPromptsError, match="9 prompts planned, 8 found"):
        rollout_round.run(lost, 1)
