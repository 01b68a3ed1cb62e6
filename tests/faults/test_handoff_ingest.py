"""The jobs' side of the hand-off under faults: it dies between its steps, it runs twice at once, it waits for the trainer; and workers as a stage of Spark."""

from __future__ import annotations

import shutil
import threading

import pytest

import jobs.context
import jobs.handoff.commits
import jobs.lake.write
from jobs import rollout_round
from jobs.config import load_config
from jobs.context import JobContext
from jobs.handoff.drain import drain
from jobs.handoff.errors import HandoffError
from jobs.handoff.policies import lay_checkpoint
from jobs.handoff.pressure import BackPressureError, measure
from jobs.workspace import Workspace
from schemas.bronze.rollouts import ROLLOUTS
from tests.conftest import NOW
from tests.faults.handoff_runs import committed_rows, lay_rollout
from tests.spark.test_handoff_jobs import CrashError, checksums, seed_round
from udfs.reader.checkpoint import Checkpoint, base_checkpoint

pytestmark = [pytest.mark.spark, pytest.mark.faults]


@pytest.fixture(scope="module")
def undisturbed(spark, empty_lake, tmp_path_factory):
    """Checksums of a round that nothing disturbed, cut into other shards."""
    workspace = Workspace.init(tmp_path_factory.mktemp("undisturbed"))
    shutil.copytree(empty_lake, workspace.lake_root, dirs_exist_ok=True)
    ctx = JobContext(workspace, load_config(overrides=["rollout.prompts_per_shard=20", "work.workers=1"]), now=NOW, session=spark)
    seed_round(ctx)
    rollout_round.run(ctx, 1)
    return checksums(ctx, ROLLOUTS)


#: After the list is fixed, around the Delta commit, and when all is written but the ledger does not know.
INSTANTS = [
    "handoff/rollout/written_ahead", "rollout_round/before_write/bronze.rollouts", "rollout_round/after_commit/bronze.rollouts", "rollout_round/before_ledger",
]  # fmt: skip


def test_an_ingester_that_dies_at_every_step_in_turn_takes_each_row_in_once(make_context, undisturbed, monkeypatch):
    ctx = make_context("rollout.prompts_per_shard=3")
    seed_round(ctx)
    reached = []
    for instant in INSTANTS:

        def crash(name, instant=instant):
            if name == instant:
                reached.append(name)
                raise CrashError

        with monkeypatch.context() as patched:
            for module in (jobs.handoff.commits, jobs.lake.write, jobs.context):
                patched.setattr(module, "reach", crash)
            with pytest.raises(CrashError):
                rollout_round.run(ctx, 1)
    assert reached == INSTANTS
    rollout_round.run(ctx, 1)
    assert checksums(ctx, ROLLOUTS) == undisturbed
    assert len([commit for commit in ctx.lake.commits(ROLLOUTS) if commit.slice == "1"]) == 1


def test_two_ingesters_at_once_take_a_run_in_once(make_context, undisturbed):
    ctx = make_context("rollout.prompts_per_shard=3")
    seed_round(ctx)
    reports, errors = [], []

    def ingest():
        try:
            reports.append(rollout_round.run(ctx, 1))
        except Exception as error:  # noqa: BLE001  # told below
            errors.append(error)

    both = [threading.Thread(target=ingest) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert errors == []
    assert sorted(report.did for report in reports) == [False, True]
    assert checksums(ctx, ROLLOUTS) == undisturbed


def test_rollouts_wait_for_a_trainer_that_is_too_far_behind(make_context):
    # 9 prompts of 4 or 5 samples: 40 in all
    ctx = make_context("handoff.batch=20", "handoff.max_staleness=0")
    seed_round(ctx, role="train")
    before = measure(ctx.workspace, ctx.config.handoff)
    assert (before.ingested, before.leased, before.open, before.room) == (0, 0, 0, 20)
    with pytest.raises(BackPressureError, match="40 train samples planned, room for 20") as caught:
        rollout_round.run(ctx, 1)
    assert caught.value.exit_code == 4
    assert not list(ctx.workspace.handoff_root.glob("rollout/run=*/plan/plan.json"))
    lay_checkpoint(ctx, Checkpoint.make(base_checkpoint().vector + 0.25, 1))
    assert rollout_round.run(ctx, 1).did
    after = measure(ctx.workspace, ctx.config.handoff)
    assert (after.version, after.ingested, after.leased, after.open, after.room) == (1, 40, 0, 0, 0)


def test_what_is_laid_and_not_ingested_counts_by_how_far_it_is(make_context, monkeypatch):
    ctx = make_context("handoff.batch=100", "rollout.prompts_per_shard=3", "work.workers=1")
    seed_round(ctx, role="train")

    def one_shard_then_stop(run, work, progress):
        run.store.put("claims/0000-000000/1.json", b"{}")
        raise HandoffError.from_stopped("x", 2)

    monkeypatch.setattr(jobs.handoff.commits, "drain", one_shard_then_stop)
    with pytest.raises(HandoffError):
        rollout_round.run(ctx, 1)
    found = measure(ctx.workspace, ctx.config.handoff)
    # one of three shards with three prompts each: a third of 40 samples
    assert (found.ingested, found.leased, found.open, found.room) == (0, 13, 27, 160)


def test_a_stage_of_spark_drains_a_run(spark, tmp_path):
    run = lay_rollout(tmp_path / "run=r1", shards=4)
    told = []
    work = load_config(overrides=["work.workers=2", "work.launcher=spark"]).work
    drain(run, work, lambda *what: told.append(what), lambda: spark)
    assert len(committed_rows(run)) == 4 * 8 * 3
    workers = {run.commit(sid).worker_id for sid in run.plan.shards}
    assert all(name.startswith("spark-") for name in workers)
    drain(run, work, lambda *_: None, lambda: spark)  # nothing to do

    stopped = lay_rollout(tmp_path / "run=r2", shards=2)
    stopped.store.put("control/stop", b"")
    with pytest.raises(HandoffError, match="stopped with 2 shards left"):
        drain(stopped, work, lambda *_: None, lambda: spark)
    with pytest.raises(HandoffError, match="no_such_python"):
        drain(stopped, work.model_copy(update={"python": "/no_such_python"}), lambda *_: None, lambda: spark)
