"""Two rounds of the whole loop: conserved, once, deterministic, traceable (DESIGN section 5)."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys

import duckdb
import pytest

from jobs.config import load_config
from jobs.context import JobContext
from jobs.lake.checksum import checksum_of
from jobs.lake.layout import Lake
from jobs.lake.write import read_table
from jobs.loop import run_rounds
from jobs.views.explain import explain
from jobs.views.funnel import read_funnel
from jobs.views.status import read_status
from jobs.workspace import Workspace
from schemas.catalog import ALL_TABLES, TABLES

pytestmark = pytest.mark.spark

#: Tables of which two workspaces must hold the same: every silver and gold table, but those that record machines.
COMPARED = [t for t in ALL_TABLES if t.name.split(".")[0] in {"silver", "gold"} and not t.volatile_rows]


def verilake(*arguments, timeout=300):
    done = subprocess.run(
        [sys.executable, "-m", "jobs.cli", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=timeout
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


@pytest.fixture
def tables(prepared):
    """DuckDB over the tables themselves, past all code of ours but the paths."""
    lake, connection = Lake(prepared.root / "lake"), duckdb.connect()
    for table in ALL_TABLES:
        connection.register(table.name.replace(".", "_"), lake.delta(table).to_pyarrow_dataset())
    return lambda query: connection.execute(query).fetchall()


def test_counts_are_conserved_at_every_station(tables, prepared):
    one = lambda query: tables(query)[0][0]  # noqa: E731  # a shorthand for what follows
    records = sum(1 for _ in (prepared.corpus / "broken.jsonl").open()) + one("SELECT count(*) FROM bronze_documents")
    assert one("SELECT count(*) FROM bronze_documents") + one("SELECT count(*) FROM bronze_rejects") == records
    # documents -> verdicts -> kept
    assert one("SELECT count(*) FROM silver_document_verdicts") == one("SELECT count(*) FROM bronze_documents")
    assert one("SELECT count(*) FROM silver_document_verdicts WHERE state = 'kept'") == one("SELECT count(*) FROM silver_documents")
    assert (
        one(
            "SELECT count(*) FROM silver_document_verdicts v JOIN silver_document_verdicts k ON v.dup_of = k.doc_id WHERE k.state != 'kept'"
        )
        == 0
    )
    # kept documents -> replies -> candidates -> verdicts -> tasks
    assert one("SELECT count(*) FROM bronze_replies") == one("SELECT count(*) FROM silver_documents")
    assert (
        one("SELECT sum(n_items) FROM bronze_replies")
        == one("SELECT count(*) FROM silver_qa")
        == one("SELECT count(*) FROM silver_qa_verdicts")
    )
    admitted = one("SELECT count(*) FROM silver_qa_verdicts WHERE state = 'admitted'")
    assert admitted == one("SELECT count(*) FROM gold_tasks WHERE source_kind = 'corpus' AND version = 1")
    assert admitted > 100
    # plan -> rollouts -> trajectories -> verdicts, rewards, turns, tokens, calls
    for number in (1, 2):
        where = f"WHERE round = {number}"
        planned = one(f"SELECT sum(n_samples) FROM gold_round_plan {where}")
        assert planned == one(f"SELECT count(*) FROM bronze_rollouts {where}") > 0
        for table in ("silver_trajectories", "silver_trajectory_verdicts", "silver_calls"):
            assert one(f"SELECT count(*) FROM {table} {where}") == planned
        assert one(f"SELECT count(*) FROM silver_rewards {where} AND is_outcome") == planned
        assert one(f"SELECT sum(n) FROM silver_task_stats {where}") == planned
        assert one(f"SELECT count(*) FROM silver_task_stats {where}") == one(f"SELECT count(*) FROM gold_round_plan {where}")
    assert tables("SELECT count(*), sum(k <= n_valid AND n_valid <= n) FROM silver_task_stats")[0][0] > 0


def test_the_funnel_agrees_and_every_sum_holds(prepared):
    funnel = read_funnel(Workspace.open(prepared.root))
    assert funnel.sums
    assert [item for item in funnel.sums if item.holds is not True] == []


def test_keys_are_unique(tables):
    for table in ALL_TABLES:
        key = ", ".join(table.key)
        assert tables(f"SELECT count(*) - count(DISTINCT ({key})) FROM {table.name.replace('.', '_')}") == [(0,)], table.name


def test_eval_is_never_trained_on_and_stays_the_same(tables):
    assert tables(
        "SELECT count(*) FROM gold_round_plan p JOIN gold_tasks t USING (task_id) WHERE p.role IN ('train', 'probe') AND t.split != 'train'"
    ) == [(0,)]
    assert tables(
        "SELECT count(*) FROM gold_round_plan p JOIN gold_tasks t USING (task_id) WHERE p.role = 'eval' AND t.split != 'eval'"
    ) == [(0,)]
    by_round = [
        tables(f"SELECT prompt_id, n_samples, seed FROM gold_round_plan WHERE why = 'eval_fixed' AND round = {n} ORDER BY 1")
        for n in (1, 2)
    ]
    assert by_round[0] == by_round[1] != []
    # fresh ones are met once; what failed among the earlier ones, and nothing else, is tried again
    assert tables(
        "SELECT count(*) - count(DISTINCT prompt_id) FROM gold_round_plan WHERE why IN ('eval_fixed', 'eval_fresh') AND round = 1 OR why = 'eval_fresh'"
    ) == [(0,)]
    failed = tables(
        "SELECT prompt_id FROM gold_regression WHERE round = 1 EXCEPT SELECT prompt_id FROM gold_round_plan WHERE why = 'eval_fixed'"
    )
    tried = tables("SELECT prompt_id FROM gold_round_plan WHERE why = 'eval_collected' AND round = 2")
    assert sorted(tried) == sorted(failed)[: len(tried)]
    assert len(tried) == min(4, len(failed))
    # no near-duplicate cluster on both sides
    assert tables("SELECT count(*) FROM (SELECT cluster_id FROM gold_tasks GROUP BY 1 HAVING count(DISTINCT split) > 1)") == [(0,)]


def test_the_second_round_follows_from_the_first(tables):
    assert tables("SELECT DISTINCT why FROM gold_round_plan WHERE round = 1 AND role = 'train' ORDER BY 1") == [
        ("format_share",),
        ("seeded_stratum",),
    ]
    why = {row[0] for row in tables("SELECT DISTINCT why FROM gold_round_plan WHERE round = 2 AND role = 'train'")}
    assert "in_band" in why
    # a prompt planned as in_band has the posterior that the reason claims
    low = tables("""
        SELECT count(*) FROM gold_round_plan p JOIN silver_task_stats s ON s.task_id = p.task_id AND s.round = 1 AND s.context_mode != 'open_book'
        WHERE p.round = 2 AND p.why = 'in_band' AND s.p_in_band < 0.5""")
    assert low == [(0,)]
    # what is in the repair queue stays out
    assert tables(
        "SELECT count(*) FROM gold_round_plan p JOIN gold_repair_queue q USING (task_id) WHERE p.round = 2 AND q.round = 1 AND p.role = 'train'"
    ) == [(0,)]


def test_running_again_writes_nothing(prepared, spark):
    lake = Lake(prepared.root / "lake")
    before = {t.name: lake.delta(t).version() for t in ALL_TABLES}
    workspace = Workspace.open(prepared.root)
    ctx = JobContext(workspace, load_config(workspace.root, overrides=prepared.overrides), session=spark)
    reports = run_rounds(ctx, 2, lambda *_: None)
    assert [report.job for report in reports if report.did] == []
    assert {t.name: lake.delta(t).version() for t in ALL_TABLES} == before
    assert read_status(workspace).stale == []


@pytest.mark.timeout(1200)
def test_other_cores_partitions_and_workers_give_equal_checksums(prepared, spark, tmp_path, interpreted):
    far = tmp_path / "far"
    settings = [item for override in (*prepared.overrides, *interpreted) for item in ("--set", override)]
    settings += ["--set", "spark.master=local[3]", "--set", "spark.shuffle_partitions=5", "--set", "work.workers=1"]
    verilake("init", far)
    verilake("ingest", prepared.corpus, "-w", far, *settings)
    # MLflow is told by the prepared workspace alone: what it is told stands in the tables and files compared here
    done = verilake("run", "--rounds", 2, "-w", far, "--json", *settings, "--set", "track.enabled=false", timeout=900)
    assert json.loads(done.stdout.splitlines()[-1])["did"] > 0
    near_lake, far_lake = Lake(prepared.root / "lake"), Lake(far / "lake")
    differing = {}
    for table in COMPARED:
        near, other = (checksum_of(read_table(spark, lake, table), table) for lake in (near_lake, far_lake))
        if near != other:
            differing[table.name] = (str(near), str(other))
    assert differing == {}
    assert published(far) == published(prepared.root) != {}
    assert weights(far) == weights(prepared.root)
    assert len(weights(far)) == 3, "the hand-set weights, and those trained on each round"


def published(root):
    """Set -> its data files with their sha256, of the newest round."""
    return {
        folder.name: {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.parquet"))}
        for folder in sorted((root / "datasets").iterdir())
        if folder.is_dir()
    }


def weights(root):
    """Checkpoint -> bytes of its weights."""
    return {path.parent.name: path.read_bytes() for path in (root / "policies").glob("*/weights.json")}


def test_the_second_round_rolls_out_what_was_trained_on_the_published_first(tables, prepared):
    rolled_out = [tables(f"SELECT DISTINCT policy_id FROM silver_trajectories WHERE round = {n}") for n in (1, 2)]
    assert [len(found) for found in rolled_out] == [1, 1]
    first, second = (found[0][0] for found in rolled_out)
    assert first != second
    bound = tables(f"SELECT round, tag, parent_checkpoint_id, sets FROM ops_bindings WHERE checkpoint_id = '{second}'")
    assert len(bound) == 1
    assert bound[0][:3] == (1, "round-1", first)
    manifest = hashlib.sha256((prepared.root / "datasets" / "eval" / "MANIFEST.json").read_bytes()).hexdigest()
    assert list(json.loads(bound[0][3])) == ["rl"]
    # the fixed set is the same in both rounds: its files are too, and round 2's pin names its manifest
    pin = json.loads((prepared.root / "pins" / "round-2.json").read_text())
    assert pin["sets"]["eval"]["manifest_sha256"] == manifest
    first_pin = json.loads((prepared.root / "pins" / "round-1.json").read_text())
    assert pin["eval_digest"] == first_pin["eval_digest"]


def test_the_offered_prompts_are_the_plan_less_what_is_doubted(tables):
    for number in (1, 2):
        rl, planned = (
            {row[0] for row in tables(f"SELECT prompt_id FROM {name} WHERE round = {number} {more}")}
            for name, more in (("gold_rl", ""), ("gold_round_plan", "AND role = 'train'"))
        )
        assert rl
        assert rl <= planned
        doubted = tables(f"SELECT task_id FROM gold_repair_queue WHERE round = {number}")
        left_out = {row[0] for row in tables(f"SELECT task_id FROM gold_round_plan WHERE round = {number} AND role = 'train'")} - {
            row[0] for row in tables(f"SELECT task_id FROM gold_rl WHERE round = {number}")
        }
        assert {row[0] for row in doubted} & left_out == {row[0] for row in doubted} & {
            row[0] for row in tables(f"SELECT task_id FROM gold_round_plan WHERE round = {number} AND role = 'train'")
        }


def test_explain_leads_from_a_training_row_to_its_source_and_back(tables, prepared):
    workspace = Workspace.open(prepared.root)
    sft_id, trajectory_id = tables("SELECT sft_id, trajectory_id FROM gold_sft ORDER BY round, sft_id LIMIT 1")[0]
    up = {section.table: section for section in explain(workspace, sft_id).sections}
    for table in (
        "bronze.documents",
        "silver.document_verdicts",
        "silver.qa",
        "silver.qa_verdicts",
        "gold.tasks",
        "gold.prompts",
        "gold.round_plan",
        "silver.trajectories",
        "silver.rewards",
    ):
        assert up[table].total >= 1, table
    document = up["bronze.documents"].rows[0]
    evidence = up["silver.qa"].rows[0]
    text = tables(f"SELECT text FROM bronze_documents WHERE doc_id = '{document['doc_id']}'")[0][0]
    assert evidence["evidence_text"] == text[evidence["evidence_start"] : evidence["evidence_end"]]
    assert evidence["evidence_holds"] is True
    down = {section.table for section in explain(workspace, document["doc_id"]).sections}
    assert {"gold.tasks", "silver.trajectories", "gold.sft"} <= down
    assert explain(workspace, trajectory_id[:10]).ident == trajectory_id


def test_tokens_reproduce_the_text_and_their_logprobs_are_the_samples(tables):
    # the reader's tokens are bytes and an end token (256): text is what they spell
    rows = tables("""
        SELECT t.token_ids, t.response_mask, t.rollout_log_probs, i.content FROM silver_tokens t
        JOIN silver_interactions i USING (trajectory_id, turn_index) WHERE i.sampled ORDER BY trajectory_id LIMIT 50""")
    assert len(rows) == 50
    for ids, mask, logprobs, content in rows:
        assert set(mask) == {1}
        assert bytes(i for i in ids if i < 256).decode() == content
        assert all(value <= 1e-6 for value in logprobs)


def test_tables_are_known():
    assert set(TABLES) >= {t.name for t in COMPARED}
