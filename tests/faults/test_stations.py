"""Whole processes, JVM and all, that die by SIGKILL or run twice at once: what they leave is completed to the same checksums."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from jobs import ingest_corpus
from jobs.config import load_config
from jobs.context import JobContext
from jobs.lake.layout import Lake
from jobs.ledger import read_events
from jobs.loop import run_rounds
from jobs.views.funnel import read_funnel
from jobs.workspace import Workspace
from schemas.ops.job_runs import JOB_RUNS

pytestmark = [pytest.mark.spark, pytest.mark.faults]

#: In the order in which the loop reaches them. Between two tables, between a table and the ledger, between the workers' commits and
#: their ingestion.
INSTANTS = [
    "ingest_corpus/after_commit/bronze.documents",
    "curate_corpus/after_commit/silver.document_verdicts",
    "handoff/convert/written_ahead",
    "admit_tasks/after_commit/gold.tasks",
    "plan_round/before_ledger",
    "handoff/rollout/written_ahead",
    "ingest_rollouts/before_write/silver.rewards",
    "feed_back/after_commit/gold.sft",
]


def start(*arguments, kill_at=None):
    environment = os.environ | ({"VERILAKE_KILL_AT": kill_at} if kill_at else {})
    command = [sys.executable, "-m", "jobs.cli", *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def flags(prepared, interpreted):
    return [item for override in (*prepared.overrides, *interpreted) for item in ("--set", override)]


def written(root, rounds=(1,)):
    """What each finished job says it wrote, as checksums of its slices (recomputed from the tables where it found them done)."""
    scopes = {f"round={n}" for n in rounds}
    events = [e for e in read_events(Lake(root / "lake"), JOB_RUNS) if e["state"] == "finished"]
    kept = [e for e in events if e["scope"].startswith("ingest=") or e["scope"] in scopes]
    assert len({(e["job"], e["scope"]) for e in kept}) == len(kept), "a job is recorded twice"
    # worker_metrics records machines; its rows differ between runs by design
    return {
        (e["job"], e["scope"], table): (w["rows"], w["checksum"])
        for e in kept
        for table, w in json.loads(e["writes"]).items()
        if table != "gold.worker_metrics"
    }


#: One of each kind, for every run of the suite: each death is a JVM of its own.
FEW = ["handoff/convert/written_ahead", "ingest_rollouts/before_write/silver.rewards", "feed_back/after_commit/gold.sft"]


# JVMs one after another, beside another test process
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("instants", [pytest.param(FEW, id="few"), pytest.param(INSTANTS, id="all", marks=pytest.mark.soak)])
def test_a_loop_that_dies_again_and_again_ends_in_the_same_checksums(prepared, spark, tmp_path, interpreted, instants):
    root = shutil.copytree(prepared.before["ingest" if instants[0].startswith("ingest") else "curate"], tmp_path / "ws")

    def here():
        return JobContext(Workspace.open(root), load_config(root, overrides=prepared.overrides), session=spark)

    for instant in instants:
        verb = ["ingest", prepared.corpus] if instant.startswith("ingest_corpus") else ["run", "--rounds", "1"]
        process = start(*verb, "-w", root, *flags(prepared, interpreted), kill_at=instant)
        _, said = process.communicate(timeout=240)
        assert process.returncode == -signal.SIGKILL, f"{instant} was not reached: {said[-2000:]}"
        if verb[0] == "ingest":
            ingest_corpus.run(here(), [str(prepared.corpus)])
    run_rounds(here(), 1, lambda *_: None)
    assert written(root) == written(prepared.root)
    assert read_funnel(Workspace.open(root)).failing == []


def test_two_copies_of_a_job_at_once_do_it_once(prepared, tmp_path, interpreted):
    root = shutil.copytree(prepared.before["curate"], tmp_path / "ws")
    both = [start("curate", "-w", root, "--json", *flags(prepared, interpreted)) for _ in range(2)]
    ended = [process.communicate(timeout=240) for process in both]
    assert [process.returncode for process in both] == [0, 0], [said[-1000:] for _, said in ended]
    did = [json.loads(out.splitlines()[-1])["reports"][0]["did"] for out, _ in ended]
    assert sorted(did) == [False, True]
    found, wanted = written(root), written(prepared.root)
    curated = {key: value for key, value in wanted.items() if key[0] in {"ingest_corpus", "profile_documents", "curate_corpus"}}
    assert found == curated
