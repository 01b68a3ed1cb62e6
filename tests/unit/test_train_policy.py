"""train_policy on a published round: real git, real DVC, a lake that deltalake writes; no JVM."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import CommitProperties, write_deltalake

from jobs import train_policy
from jobs.config import load_config
from jobs.context import JobContext
from jobs.handoff.policies import checkpoints, current_policy, find_checkpoint
from jobs.lake.errors import MissingInputError
from jobs.lake.layout import VERSION_FILE
from jobs.ledger import read_events
from jobs.publish.bindings import find_binding
from jobs.publish.errors import NotPublishedError
from jobs.publish.history import TRAILER, History
from jobs.rounds import note_state
from jobs.training.inputs import TRAINER
from jobs.training.results import tenths
from jobs.workspace import Workspace
from schemas.catalog import TABLES
from schemas.contract import AnswerContract
from schemas.datasets.rl import RL_SET
from schemas.ids import canonical_json
from schemas.ops.bindings import BINDINGS
from schemas.ops.job_runs import JOB_RUNS
from schemas.publication import Manifest, Pin, PinnedSet, ShardFile
from schemas.table import LAKE_SCHEMA_VERSION
from udfs.export.files import tree_sha256
from udfs.reader.checkpoint import Checkpoint, base_checkpoint
from udfs.reader.grpo import StepFigures

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LETTERS = "abcdefgh"
QUICK = ("train.steps=10", "train.prompts_per_step=6", "train.samples=8", "train.replicas=2")
_EMPTY = {pa.string(): "", pa.int32(): 0, pa.int64(): 0, pa.float64(): 0.0}


def filled(schema, **values):
    """A row with the values that matter; the others are empty, or null where they may be."""
    return {f.name: values[f.name] if f.name in values else None if f.nullable else _EMPTY[f.type] for f in schema}


def put(workspace, name, slice_value, *rows):
    table = TABLES[name]
    meta = canonical_json({"job": "test", "table": name, "slice": str(slice_value), "fingerprint": "f", "batch": 1})
    write_deltalake(
        str(workspace.lake_root / table.path), pa.Table.from_pylist(list(rows), schema=table.schema), mode="append",
        partition_by=[table.partition] if table.partition else None, commit_properties=CommitProperties(custom_metadata={"userMetadata": meta}),
    )  # fmt: skip


def page(k):
    name = f"pkg{k}.Thing{LETTERS[k]}"
    text = f"{name}\n\nClass of module pkg{k}.\n\nBases: io.Base{LETTERS[k].upper()}\n\nParameters:\n  size (default: {k + 11})\n  mode\n"
    return filled(TABLES["silver.documents"].schema, doc_id=f"d{k}", ingest_id="i1", title=name, text=text, metadata="{}", split="train")


def offered(k, **values):
    """A row of the set rl: the default of a parameter of page k."""
    question = f"What is the default value of the parameter `size` of `pkg{k}.Thing{LETTERS[k]}`?"
    contract = AnswerContract(type="text", gold=str(k + 11)).canonical()
    held = {
        "round": 1, "prompt_id": f"p{k}", "prompt": question, "question": question, "options": "[]", "contract": contract, "weight": 1.0,
        "origin": "ingest=i1",
    }  # fmt: skip
    return filled(RL_SET.schema, **(held | values))


def publish(workspace, rows, now):
    """A publication of the set rl alone, made of the parts that publish_round uses."""
    folder = workspace.datasets_root / "rl"
    folder.mkdir(parents=True)
    file = folder / "all-00000.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=RL_SET.schema), file)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    shard = ShardFile(path=file.name, segment="all", bucket=0, rows=len(rows), bytes=file.stat().st_size, sha256=digest, checksum="")
    nothing = {"tables": {}, "conf": {}, "code_hash": "", "filters": {}, "templates": {}, "verifiers": ()}
    manifest = Manifest(
        dataset="rl", campaign="test", round=1, columns=(), key=("prompt_id",), schema_hash="", rows=len(rows), bytes=shard.bytes,
        files=(shard,), segments=(), writer={}, licences={}, sources={}, **nothing,
    )  # fmt: skip
    raw = (canonical_json(manifest.model_dump(mode="json")) + "\n").encode()
    (folder / "MANIFEST.json").write_bytes(raw)
    pinned = PinnedSet(manifest_sha256=hashlib.sha256(raw).hexdigest(), rows=len(rows), bytes=shard.bytes, files=1)
    pin = Pin(
        campaign="test", round=1, attempt=1, tag="round-1", policy_id=base_checkpoint().policy_id, sets={"rl": pinned}, eval_digest="",
        collected_digest="", figures={}, **nothing,
    )  # fmt: skip
    workspace.pins_root.mkdir()
    (workspace.pins_root / "round-1.json").write_text(canonical_json(pin.model_dump(mode="json")) + "\n")
    (workspace.root / "dvc.yaml").write_text("stages:\n  publish:\n    cmd: 'true'\n    frozen: true\n    outs:\n      - datasets/rl\n")
    history = History(workspace.root)
    history.dvc("commit", "-f", "publish")
    commit = history.commit(["dvc.yaml", "dvc.lock", "pins"], f"round 1\n\n{TRAILER} round-1 abcdef\n", now)
    history.tag("round-1", commit)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A workspace whose first round is planned and published: six prompts that can be used, one without options that can be read."""
    workspace = Workspace.init(tmp_path_factory.mktemp("published") / "ws")
    (workspace.lake_root / VERSION_FILE).write_text(json.dumps({"schema_version": LAKE_SCHEMA_VERSION}))
    put(workspace, "silver.documents", "i1", *(page(k) for k in range(8)))
    put(
        workspace,
        "gold.round_plan",
        1,
        filled(TABLES["gold.round_plan"].schema, round=1, prompt_id="p0", policy_id=base_checkpoint().policy_id),
    )
    publish(workspace, [*(offered(k) for k in range(6)), offered(7, prompt_id="odd", options="{")], AT)
    note_state(
        JobContext(workspace, load_config(workspace.root), now=AT), 1, "planned", policy_id=base_checkpoint().policy_id, fingerprint="f"
    )
    return workspace.root


@pytest.fixture
def context(published, tmp_path):
    """``context(*overrides)`` -> a context on this test's own copy of the published workspace."""
    root = shutil.copytree(published, tmp_path / "ws")

    def make(*overrides):
        return JobContext(Workspace.open(root), load_config(root, overrides=[*QUICK, *overrides]), now=AT, job_run_id="test")

    return make


def bindings(ctx):
    return {row["checkpoint_id"]: row for row in read_events(ctx.lake, BINDINGS)}


def test_a_published_round_becomes_checkpoints_that_are_bound_to_it_and_the_first_is_current(context):
    ctx = context()
    report = train_policy.run(ctx, 1)
    assert report.did
    counts = report.counts
    assert (counts["input"], counts["prompts"], counts["unusable"], counts["checkpoints"]) == (7, 6, 1, 2)
    assert (counts["steps"], counts["samples"], counts["groups"], counts["unknown"]) == (10, 10 * 6 * 8, 60, 0)
    assert 0 < counts["groups_with_variance"] <= 60
    assert counts["mean_reward_last"] > counts["mean_reward_first"]
    bound = bindings(ctx)
    made = {json.loads(row["detail"])["replica"]: find_checkpoint(ctx, name) for name, row in bound.items()}
    assert {replica: c.replica for replica, c in made.items()} == {0: 0, 1: 1}
    assert current_policy(ctx) == made[0].policy_id
    base = base_checkpoint()
    for checkpoint in made.values():
        assert (checkpoint.policy_version, checkpoint.parent_policy_id) == (1, base.policy_id)
    row = find_binding(ctx.lake, made[0].policy_id)
    pin = json.loads((ctx.workspace.pins_root / "round-1.json").read_text())
    assert json.loads(row["sets"]) == {"rl": pin["sets"]["rl"]["manifest_sha256"]}
    assert (row["round"], row["tag"], row["parent_checkpoint_id"]) == (1, "round-1", base.policy_id)
    assert row["checkpoint_sha256"] == tree_sha256(ctx.workspace.policies_root / made[0].policy_id)
    detail = json.loads(row["detail"])
    assert detail["trainer"] == TRAINER
    assert detail["settings"]["train"] == ctx.config.train.model_dump(mode="json", exclude={"replicas"})
    assert detail["figures"]["samples"] == counts["samples"]
    assert len(detail["mean_reward_by_tenth"]) == 10
    assert [e["state"] for e in read_events(ctx.lake, JOB_RUNS)] == ["finished"]


def test_training_again_is_nothing_to_do_and_equal_inputs_give_equal_checkpoints(context, published, tmp_path):
    ctx = context()
    train_policy.run(ctx, 1)
    before = bindings(ctx)
    again = train_policy.run(context(), 1)
    assert not again.did
    assert again.counts["checkpoints"] == 2
    assert bindings(ctx) == before
    elsewhere = shutil.copytree(published, tmp_path / "other")
    other = JobContext(Workspace.open(elsewhere), load_config(elsewhere, overrides=QUICK), now=AT)
    train_policy.run(other, 1)
    assert bindings(other) == before


def test_other_settings_seeds_and_temperatures_are_another_training(context):
    seen = set()
    for override in ("train.learning_rate=0.05", "train.learning_rate=0.01", "campaign.seed=5", "rollout.temperature=0.8"):
        report = train_policy.run(context("train.replicas=1", override), 1)
        assert report.did
        seen = set(bindings(context()))
    assert len(seen) == 4
    assert not train_policy.run(context("train.replicas=1", "train.learning_rate=0.05"), 1).did


def test_of_two_trainings_of_one_round_the_one_bound_last_goes_on(context):
    # whichever of the two ids sorts first: both orders are tried
    for rates in (("0.05", "0.01"), ("0.02", "0.03")):
        made = []
        for minute, rate in enumerate(rates):
            ctx = context("train.replicas=1", f"train.learning_rate={rate}")
            ctx.now = AT + timedelta(hours=len(bindings(ctx)), minutes=minute)
            train_policy.run(ctx, 1)
            made.append(train_policy.trained_on(ctx, 1)[0].policy_id)
        assert current_policy(context()) == made[-1]


def test_a_checkpoint_that_was_removed_is_trained_again_to_the_same_one(context):
    ctx = context()
    train_policy.run(ctx, 1)
    kept = current_policy(ctx)
    shutil.rmtree(ctx.workspace.policies_root / kept)
    assert current_policy(ctx) != kept
    assert train_policy.run(ctx, 1).did
    assert current_policy(ctx) == kept
    assert len(bindings(ctx)) == 2
    assert not train_policy.run(ctx, 1).did


def test_further_replicas_are_trained_beside_those_that_are_there(context):
    first = train_policy.run(context("train.replicas=1"), 1)
    held = bindings(context())
    more = context("train.replicas=3")
    second = train_policy.run(more, 1)
    assert second.did
    assert (first.counts["checkpoints"], second.counts["checkpoints"]) == (1, 3)
    assert {**second.counts, "checkpoints": 1} == first.counts
    assert held.items() <= bindings(more).items()
    assert [(c.replica, c.policy_version) for c in train_policy.trained_on(more, 1)] == [(0, 1), (1, 1), (2, 1)]
    assert train_policy.trained_on(context("train.learning_rate=0.01"), 1) == []


def test_replicas_never_become_the_policy_of_the_next_round(context):
    ctx = context("train.replicas=3")
    train_policy.run(ctx, 1)
    replicas = checkpoints(ctx)
    assert sorted(c.replica for c in replicas if c.policy_version == 1) == [0, 1, 2]
    assert Checkpoint.load(ctx.workspace.policies_root / current_policy(ctx)).replica == 0


@pytest.mark.parametrize("at", ["train/trained", "train/laid", "train/bound", "train/trained:2", "train_policy/before_ledger"])
def test_a_death_at_any_instant_and_a_second_run_end_as_one_run_would(context, published, tmp_path, at):
    ctx = context()
    arguments = ["train", "--round", "1", "-w", str(ctx.workspace.root), *(part for o in QUICK for part in ("--set", o))]
    code = f"import typer; from jobs.cli import train_verbs; app = typer.Typer(); app.callback()(lambda: None); train_verbs.register(app); app({arguments!r})"
    died = subprocess.run([sys.executable, "-c", code], env=os.environ | {"VERILAKE_KILL_AT": at}, capture_output=True, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()
    assert train_policy.run(ctx, 1).did
    whole = shutil.copytree(published, tmp_path / "whole")
    undisturbed = JobContext(Workspace.open(whole), load_config(whole, overrides=QUICK), now=AT)
    train_policy.run(undisturbed, 1)
    stable = [name for name in BINDINGS.schema.names if name not in BINDINGS.volatile]
    cut = [{ident: {n: row[n] for n in stable} for ident, row in bindings(c).items()} for c in (ctx, undisturbed)]
    assert cut[0] == cut[1]
    assert len(read_events(ctx.lake, BINDINGS)) == 2
    assert current_policy(ctx) == current_policy(undisturbed)


def test_a_set_from_which_nothing_can_be_learnt_leaves_the_parent_in_force(context):
    # One prompt whose gold its own contract cannot read: every reward is unknown.
    ctx = context()
    broken = AnswerContract(type="date", gold="no date at all").canonical()
    shutil.rmtree(ctx.workspace.datasets_root)
    shutil.rmtree(ctx.workspace.pins_root)
    History(ctx.workspace.root).git("tag", "-d", "round-1")
    publish(ctx.workspace, [offered(0, contract=broken)], AT)
    report = train_policy.run(ctx, 1)
    assert report.did
    assert report.counts["unknown"] == report.counts["samples"] == 80
    assert report.counts["checkpoints"] == 0
    assert "mean_reward_first" not in report.counts
    assert bindings(ctx) == {}
    assert current_policy(ctx) == base_checkpoint().policy_id


def test_what_is_missing_is_named_with_the_verb_that_makes_it(context):
    ctx = context()
    with pytest.raises(MissingInputError, match="verilake plan"):
        train_policy.run(ctx, 2)
    History(ctx.workspace.root).git("tag", "-d", "round-1")
    with pytest.raises(NotPublishedError, match="verilake publish --round 1"):
        train_policy.run(ctx, 1)
    with pytest.raises(train_policy.TrainerOffError, match=r"train\.trainer = 'none'"):
        train_policy.run(context("train.trainer='none'"), 1)


def test_tenths_of_a_curve_are_means_over_its_parts():
    curve = [StepFigures(k / 20 if k != 3 else None, 8, 0, 1, 1) for k in range(20)]
    # Two steps a tenth: (0 + .05) / 2, then .1 alone because step 3 knows no reward.
    assert tenths(curve)[:3] == [0.025, 0.1, 0.225]
    assert len(tenths(curve)) == 10
    assert tenths(curve[:3]) == [0.0, 0.05, 0.1]
    assert tenths([]) == []
