"""Rounds as MLflow runs, in a real sqlite store: what is logged, and that logging again adds nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime

import pyarrow.parquet as pq
import pytest

from jobs import track_round
from jobs.config import load_config
from jobs.context import JobContext
from jobs.ledger import append_event
from jobs.publish.errors import NotPublishedError
from jobs.tracking.client import connected
from jobs.tracking.destination import destination
from jobs.tracking.published import DamagedPinError, publications
from jobs.views.vocabulary import UnknownMetricError
from jobs.workspace import Workspace
from schemas.ops.bindings import BINDINGS
from schemas.ops.rounds import ROUNDS
from schemas.publication import MANIFEST_FILE
from tests.published_rounds import HOSTILE, add_round, filled, lay, publish

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def make(two_rounds, migrated, tmp_path):
    def context(*overrides, name="ws"):
        root = tmp_path / name
        if not root.exists():
            shutil.copytree(two_rounds.root, root)
            shutil.copyfile(migrated, root / "mlflow.db")
        workspace = Workspace.open(root)
        return JobContext(workspace, load_config(root, overrides=overrides), now=NOW, job_run_id="test")

    return context


@pytest.fixture
def looked(monkeypatch):
    """``looked(ctx)`` -> (parents, children by round, client), through MLflow's own API."""

    def look(ctx, experiment="verilake/verilake"):
        where = destination(ctx.config.track, ctx.workspace)
        with connected(where, 10) as client:
            found = client.search_runs([client.get_experiment_by_name(experiment).experiment_id])
            parents = [run for run in found if run.data.tags["verilake.kind"] == "campaign"]
            children = [run for run in found if run.data.tags["verilake.kind"] == "round"]
            history = {
                (run.info.run_id, name): [(m.step, m.timestamp, m.value) for m in client.get_metric_history(run.info.run_id, name)]
                for run in found
                for name in run.data.metrics
            }
        return parents, sorted(children, key=lambda run: (run.data.tags["round"], run.info.run_name)), history

    return look


def forget(ctx):
    """The ledger forgets that anything was logged, as after a kill before its event."""
    ctx.lake.delta(ROUNDS).delete("state = 'tracked'")


def test_a_campaign_is_one_run_with_a_child_a_round_and_a_point_a_round(make, looked):
    ctx = make()
    assert track_round.pending(ctx) == [1, 2]
    reports = track_round.run_pending(ctx)
    assert [(report.scope, report.did) for report in reports] == [("round=1", True), ("round=2", True)]
    parents, children, history = looked(ctx)
    assert [run.info.run_name for run in parents] == ["verilake"]
    assert [run.info.run_name for run in children] == ["round-1", "round-2"]
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == {parents[0].info.run_id}
    assert {run.info.status for run in (*parents, *children)} == {"FINISHED"}
    # e1 1/4, e2 3/3, see tests.published_rounds
    points = history[parents[0].info.run_id, "eval/fixed/solve_rate"]
    assert [(step, value) for step, _, value in points] == [(1, 0.625), (2, 0.625)]
    assert "train/prompts" not in parents[0].data.metrics  # no headline
    assert children[1].data.metrics["train/prompts"] == 2.0
    assert children[1].data.metrics["round"] == 2.0
    assert children[1].data.metrics["cost/seconds"] == 4.0
    assert children[0].data.params["plan.band"] == "[0.1,0.9]"
    assert children[0].data.params["template.answer_only"] == "2"
    assert ctx.lake.delta(ROUNDS).to_pyarrow_table(filters=[("state", "=", "tracked")]).num_rows == 2


def test_times_are_those_of_the_tables_not_of_the_logging(make, looked):
    ctx = make()
    track_round.run_pending(ctx)
    _, children, history = looked(ctx)
    for number, run in enumerate(children, start=1):
        closing = [held.timestamp_ms for table in ("silver.task_stats", "gold.regression") if (held := slices(ctx, table)[str(number)])]
        assert run.info.start_time == slices(ctx, "gold.round_plan")[str(number)].timestamp_ms
        assert run.info.start_time <= max(closing) <= run.info.end_time
        assert {at for _, at, _ in history[run.info.run_id, "round"]} == {run.info.end_time}


def slices(ctx, name):
    from schemas.catalog import TABLES

    return ctx.lake.slices(TABLES[name])


def test_the_digest_of_a_dataset_is_the_hash_of_its_manifest(make, looked):
    ctx = make()
    pin = publications(ctx.workspace, [])[1].pin
    track_round.run(ctx, 1)
    _, (run,), _ = looked(ctx)
    inputs = {item.dataset.name: item for item in run.inputs.dataset_inputs}
    assert sorted(inputs) == ["eval", "preferences", "regression", "rl", "sft"]
    for name, item in inputs.items():
        tags = {tag.key: tag.value for tag in item.tags}
        assert item.dataset.digest == pin.sets[name].manifest_sha256[:32]
        assert tags["verilake.manifest_sha256"] == run.data.tags[f"verilake.manifest.{name}"] == pin.sets[name].manifest_sha256
        assert tags["mlflow.data.context"] == ("evaluation" if name in {"eval", "regression"} else "training")
        assert tags["verilake.tag"] == run.data.tags["verilake.tag"] == "round-1"
        assert tags["verilake.commit"] == run.data.tags["verilake.commit"]
        assert str(ctx.workspace.root) not in item.dataset.source
        assert json.loads(item.dataset.profile)["num_rows"] == pin.sets[name].rows


def test_version_0_is_kept_and_each_round_has_its_own_source(make, looked):
    ctx = make()
    # The sets in datasets/ are those of round 2; round 1's manifests are out of reach where no cache holds them.
    publish(make(name="other").workspace, 1, attempt=2)
    other = make(name="other")
    track_round.run_pending(ctx)
    track_round.run(other, 1)
    _, (run,), _ = looked(other)
    sources = {item.dataset.name: json.loads(item.dataset.source) for item in run.inputs.dataset_inputs}
    assert sources["rl"]["delta"] == {"gold.rl": {"id": "0b0e", "version": 0}}
    tags = {tag.key: tag.value for item in run.inputs.dataset_inputs if item.dataset.name == "rl" for tag in item.tags}
    assert tags["delta.gold.rl"] == "0b0e@0"
    _, children, _ = looked(ctx)
    second = {item.dataset.name: json.loads(item.dataset.source) for item in children[1].inputs.dataset_inputs}
    assert second["rl"]["delta"] == {"gold.rl": {"id": "0b0e", "version": 2}}


def test_mlflow_reads_the_schema_of_a_dataset(make, looked):
    from mlflow.types import Schema

    ctx = make()
    track_round.run(ctx, 2)
    _, (run,), _ = looked(ctx)
    schema = next(Schema.from_json(i_schema(item)) for item in run.inputs.dataset_inputs if item.dataset.name == "rl")
    assert "prompt_id" in schema.input_names()
    assert schema.is_tensor_spec() is False


def i_schema(item):
    return json.dumps(json.loads(item.dataset.schema)["mlflow_colspec"])


def test_artifacts_are_the_pin_the_manifests_the_report_figures_and_readable_rows(make, looked):
    ctx = make("track.sample_rows=2")
    (ctx.workspace.root / "reports").mkdir()
    (ctx.workspace.root / "reports" / "round-2.html").write_text("<p>page</p>")
    track_round.run(ctx, 2)
    _, (run,), _ = looked(ctx)
    folder = ctx.workspace.root / "mlartifacts" / run.info.run_id / "artifacts"
    assert (folder / "pin.json").read_bytes() == (ctx.workspace.root / "pins" / "round-2.json").read_bytes()
    assert (folder / "manifests" / "rl.json").read_bytes() == (ctx.workspace.root / "datasets" / "rl" / MANIFEST_FILE).read_bytes()
    assert (folder / "report.html").read_text() == "<p>page</p>"
    figures = json.loads((folder / "figures.json").read_text())
    assert figures["figures"]["eval/fixed/solve_rate"] == 0.625
    assert figures["metrics"]["eval/fixed/solve_rate"]["better"] == "higher"
    assert json.loads((folder / "funnel.json").read_text())["round"] == 2
    lines = [json.loads(line) for line in (folder / "samples" / "rl.jsonl").read_text("ascii").splitlines()]
    stored = pq.read_table(ctx.workspace.root / "datasets" / "rl" / "all-00000.parquet").to_pylist()[:2]
    assert [line["prompt_id"] for line in lines] == [row["prompt_id"] for row in stored]
    assert [line["source"] for line in lines] == [HOSTILE, HOSTILE]
    table = json.loads((folder / "samples" / "rl.json").read_text())
    assert table["columns"][0] == "prompt_id"
    assert len(table["data"]) == 2
    assert "\u202e" not in str(table)  # shown, not acted on
    assert {"path": "samples/rl.json", "type": "table"} in json.loads(run.data.tags["mlflow.loggedArtifacts"])
    assert not (folder / "samples" / "regression.jsonl").exists()  # a set without rows


def test_a_round_that_is_logged_late_has_its_own_sets_from_the_cache(tmp_path, migrated, looked):
    workspace = lay(tmp_path / "ws")
    shutil.copyfile(migrated, workspace.root / "mlflow.db")
    add_round(workspace, 1)
    publish(workspace, 1, cached=True)
    held = {path.parent.name: path.read_bytes() for path in (workspace.root / "datasets").glob(f"*/{MANIFEST_FILE}")}
    add_round(workspace, 2)
    publish(workspace, 2, cached=True)
    assert held["rl"] != (workspace.root / "datasets" / "rl" / MANIFEST_FILE).read_bytes()
    ctx = JobContext(workspace, load_config(workspace.root), now=NOW, job_run_id="test")
    track_round.run(ctx, 1)
    _, (run,), _ = looked(ctx)
    folder = workspace.root / "mlartifacts" / run.info.run_id / "artifacts"
    assert {path.stem: path.read_bytes() for path in (folder / "manifests").iterdir()} == held
    lines = [json.loads(line) for line in (folder / "samples" / "rl.jsonl").read_text().splitlines()]
    assert [line["prompt_id"] for line in lines] == ["rl-1-0", "rl-1-1", "rl-1-2"]
    lock = {out["path"]: out["md5"] for out in json.loads(git_show(workspace, "round-1:dvc.lock"))["stages"]["publish"]["outs"]}
    for item in run.inputs.dataset_inputs:
        tags = {tag.key: tag.value for tag in item.tags}
        assert tags["verilake.dvc_md5"] == lock[f"datasets/{item.dataset.name}"]


def git_show(workspace, what):
    return subprocess.run(["git", "-C", str(workspace.root), "show", what], capture_output=True, check=True).stdout


def test_logging_again_adds_nothing(make, looked):
    ctx = make()
    track_round.run_pending(ctx)
    before = looked(ctx)
    forget(ctx)
    assert [report.did for report in track_round.run_pending(ctx)] == [True, True]
    after = looked(ctx)
    assert {run.info.run_id for runs in after[:2] for run in runs} == {run.info.run_id for runs in before[:2] for run in runs}
    assert after[2] == before[2]  # every metric has one value a round
    assert all(len(run.inputs.dataset_inputs) == 5 for run in after[1])
    assert [run.data.tags for run in after[1]] == [run.data.tags for run in before[1]]


def test_a_logged_round_is_nothing_to_do_and_imports_no_mlflow(make):
    ctx = make()
    track_round.run_pending(ctx)
    code = (
        "import sys, pathlib; from jobs import track_round; from jobs.config import load_config; from jobs.context import JobContext\n"
        "from jobs.workspace import Workspace\n"
        "workspace = Workspace.open(sys.argv[1]); ctx = JobContext(workspace, load_config(workspace.root))\n"
        "print(track_round.pending(ctx), track_round.run(ctx, 1).did, track_round.run_pending(ctx), 'mlflow' in sys.modules, 'pyspark' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(ctx.workspace.root)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "False", "[]", "False", "False"]


def test_the_checkpoint_that_a_round_trains_later_is_added_as_a_tag(make, looked):
    ctx = make()
    track_round.run_pending(ctx)
    event = {"event_id": "b1", "checkpoint_id": "reader-new", "round": 2, "tag": "round-2", "sets": "{}", "detail": "{}"}
    append_event(ctx.lake, BINDINGS, filled(BINDINGS.schema, event))
    assert track_round.pending(ctx) == [2]
    track_round.run_pending(ctx)
    _, children, _ = looked(ctx)
    assert children[1].data.tags["verilake.policy_trained"] == "reader-new"
    assert children[1].data.tags["verilake.policy_rolled_out"] == "reader-000000000000"
    assert "verilake.policy_trained" not in children[0].data.tags
    assert track_round.pending(ctx) == []


def test_a_second_attempt_is_a_run_of_its_own_and_the_newest_point(make, looked):
    ctx = make()
    track_round.run_pending(ctx)
    figures = {"eval/fixed/solve_rate": 0.25}
    publish(ctx.workspace, 2, attempt=2, figures=figures)
    assert track_round.pending(ctx) == [2]
    track_round.run_pending(ctx)
    parents, children, history = looked(ctx)
    assert [run.info.run_name for run in children] == ["round-1", "round-2", "round-2.2"]
    assert parents[0].data.metrics["eval/fixed/solve_rate"] == 0.25
    assert [value for _, _, value in sorted(history[parents[0].info.run_id, "eval/fixed/solve_rate"])] == [0.625, 0.625, 0.25]


def test_another_store_is_told_everything_again(make, looked, migrated, tmp_path):
    ctx = make()
    track_round.run_pending(ctx)
    shutil.copyfile(migrated, tmp_path / "other.db")
    moved = make(f"track.uri=sqlite:///{tmp_path}/other.db", "track.experiment=elsewhere")
    assert track_round.pending(moved) == [1, 2]
    track_round.run_pending(moved)
    parents, children, _ = looked(moved, "elsewhere")
    assert (len(parents), len(children)) == (1, 2)
    assert track_round.pending(ctx) == []


def test_a_moved_workspace_has_nothing_to_do(make, tmp_path):
    ctx = make()
    track_round.run_pending(ctx)
    ctx.workspace.root.rename(tmp_path / "moved")
    assert track_round.pending(make(name="moved")) == []


def test_a_copy_of_a_workspace_logs_into_itself_and_shows_its_own_artifacts(make, looked, tmp_path):
    ctx = make()
    track_round.run(ctx, 1)
    copy = shutil.copytree(ctx.workspace.root, tmp_path / "co%py _ws")
    before = {path: path.stat().st_mtime_ns for path in ctx.workspace.root.rglob("*")}
    copied = make(name=copy.name)
    assert track_round.pending(copied) == [2]
    track_round.run(copied, 2)
    _, children, _ = looked(copied)
    assert {run.info.artifact_uri for run in children} == {
        f"{(copy / 'mlartifacts').as_uri()}/{run.info.run_id}/artifacts" for run in children
    }
    for run in children:
        assert (copy / "mlartifacts" / run.info.run_id / "artifacts" / "pin.json").is_file()
    assert {path: path.stat().st_mtime_ns for path in ctx.workspace.root.rglob("*")} == before


def test_a_store_that_somebody_named_is_not_relocated(make, migrated, tmp_path):
    shutil.copyfile(migrated, tmp_path / "shared.db")
    uri = f"track.uri=sqlite:///{tmp_path}/shared.db"
    first, second = make(uri), make(uri, name="second")
    track_round.run(first, 1)
    track_round.run(second, 1)
    assert (first.workspace.root / "mlartifacts").is_dir()
    assert not (second.workspace.root / "mlartifacts").exists()


def test_hostile_names_and_settings_are_only_text(make, looked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    conf = {
        "plan": {"band": HOSTILE, HOSTILE: "x" * 9000},
        "train": {"reward": "http://me:s3cret@judge.example/v1"},
        "spark": {"token": "s3cret"},
    }
    experiment = "x'\"<b>$(touch pwned)"
    ctx = make(f"track.experiment={experiment}")
    publish(ctx.workspace, 1, attempt=2, conf=conf, policy=HOSTILE)
    track_round.run(ctx, 1)
    _, (run,), _ = looked(ctx, experiment)
    assert run.data.params["plan.band"] == HOSTILE
    assert run.data.params["policy_id"] == HOSTILE
    assert run.data.tags["verilake.policy_rolled_out"] == HOSTILE
    assert run.data.params["train.reward"] == "http://***@judge.example/v1"
    assert not [name for name in run.data.params if name.startswith("spark")]
    assert [len(value) for name, value in run.data.params.items() if name.startswith("plan._script_")] == [6000]
    assert not list(tmp_path.rglob("pwned"))
    assert b"s3cret" not in (ctx.workspace.root / "mlflow.db").read_bytes()


def test_nothing_is_written_into_the_working_directory_or_left_in_the_environment(make, tmp_path, monkeypatch):
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MLFLOW_RUN_ID", "of-somebody-else")
    before = dict(os.environ)
    ctx = make()
    track_round.run_pending(ctx)
    assert list(folder.iterdir()) == []
    assert dict(os.environ) == before


def test_a_round_without_pin_or_tag_is_not_published(make):
    ctx = make()
    add_round(ctx.workspace, 3)
    with pytest.raises(NotPublishedError, match="round 3 is not published"):
        track_round.run(ctx, 3)
    shutil.copyfile(ctx.workspace.root / "pins" / "round-2.json", ctx.workspace.root / "pins" / "note.json")
    text = (ctx.workspace.root / "pins" / "round-2.json").read_text().replace('"round":2', '"round":3').replace("round-2", "round-3")
    (ctx.workspace.root / "pins" / "round-3.json").write_text(text)
    # A publication that died before its tag.
    assert track_round.pending(ctx) == [1, 2]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("{", "["), "Invalid JSON"),
        (('"round":2', '"round":7'), "not those of its name"),
        (('"tag":"round-2"', '"tag":"--all"'), "not those of its name"),
    ],
)
def test_a_damaged_pin_is_named(make, change, said):
    ctx = make()
    path = ctx.workspace.root / "pins" / "round-2.json"
    path.write_text(path.read_text().replace(*change, 1))
    with pytest.raises(DamagedPinError, match=said):
        track_round.pending(ctx)


def test_a_figure_that_the_vocabulary_does_not_know_is_a_fault_not_a_pending_round(make):
    ctx = make()
    publish(ctx.workspace, 2, attempt=2, figures={"made/up": 1.0})
    with pytest.raises(UnknownMetricError, match="made/up"):
        track_round.run(ctx, 2)


def test_tracking_that_is_switched_off_is_nothing_to_do(make):
    ctx = make("track.enabled=false")
    assert track_round.pending(ctx) == []
    report = track_round.run(ctx, 1)
    assert (report.did, report.counts) == (False, {"disabled": 1})
    assert not (ctx.workspace.root / "mlartifacts").exists()


def test_a_deleted_experiment_leaves_the_round_pending_and_says_so(make, caplog):
    ctx = make()
    with connected(destination(ctx.config.track, ctx.workspace), 10) as client:
        client.delete_experiment(client.create_experiment("verilake/verilake"))
    report = track_round.run(ctx, 1)
    assert (report.did, report.counts) == (False, {"pending": 1})
    assert "was deleted" in caplog.text
    assert track_round.pending(ctx) == [1, 2]


def test_a_broken_database_leaves_the_round_pending(make, caplog):
    ctx = make()
    (ctx.workspace.root / "mlflow.db").write_bytes(b"no database at all, but long enough to be taken for one" * 100)
    report = track_round.run(ctx, 1)
    assert report.counts == {"pending": 1}
    assert "Published and kept, but not logged yet: round 1" in caplog.text
