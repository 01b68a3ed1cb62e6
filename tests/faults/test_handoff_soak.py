"""Planner, ingester and four workers at once, killed at random: the lake ends in the checksums of an undisturbed run.

The suite runs it for some seconds; ``make soak`` for twenty minutes, or VERILAKE_SOAK_SECONDS. The engine is deterministic, so that equal
rows are equal bytes; every fault is drawn from a seed that a failure names.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from dataclasses import dataclass, field

import pytest

import jobs.context
import jobs.handoff.commits
import jobs.handoff.plan
import jobs.lake.write
from jobs import rollout_round
from jobs.handoff.errors import HandoffError
from jobs.handoff.gc import clear, garbage
from jobs.handoff.runs import all_runs, open_shards
from jobs.lake.checksum import checksum_of
from schemas.bronze.rollouts import ROLLOUTS
from schemas.gold.prompts import PROMPTS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.tasks import TASKS
from schemas.ids import content_id
from schemas.silver.documents import DOCUMENTS
from tests.faults.handoff_runs import start
from tests.spark.test_handoff_jobs import DOCS, CrashError, documents, fill, planned
from udfs.store.run import PLAN, HandoffRun

pytestmark = [pytest.mark.spark, pytest.mark.faults]

WORKERS = 4
#: Between two faults, in seconds; and how long a paused worker sleeps, some beyond the lease of two.
PAUSE, ASLEEP = (0.1, 1.5), (0.2, 3.0)
SETTINGS = ("rollout.prompts_per_shard=1", "work.workers=1", "work.lease_seconds=2.0", "work.max_attempts=50")


def plan_round(ctx, round_no):
    _, _, plan = planned()
    fill(ctx, ROUND_PLAN, round_no, [{**row, "round": round_no, "seed": row["seed"] + round_no} for row in plan])


def seed(ctx):
    prompts, tasks, _ = planned()
    fill(ctx, DOCUMENTS, "one", documents(DOCS))
    fill(ctx, PROMPTS, "ingest=one", prompts)
    fill(ctx, TASKS, "ingest=one", tasks)


@dataclass
class Crew:
    """Worker processes on whatever run is open, and the hand that kills them."""

    handoff_root: object
    rng: random.Random
    ended: threading.Event = field(default_factory=threading.Event)
    told: dict = field(default_factory=lambda: {"started": 0, "killed": 0, "paused": 0})

    def keep(self, number):
        """One place of the crew: a worker as long as there is an open run, started anew whenever it ends or dies."""
        while not self.ended.is_set():
            run = next((held for held in all_runs(self.handoff_root) if open_shards(held)), None)
            if run is None:
                self.ended.wait(0.1)
                continue
            process = start(run, worker_id=f"crew-{number}")
            self.told["started"] += 1
            drain = threading.Thread(target=process.communicate)
            drain.start()
            self._molest(process)
            drain.join(timeout=60)

    def _molest(self, process):
        while process.poll() is None:
            if self.ended.wait(self.rng.uniform(*PAUSE)):
                process.terminate()
                time.sleep(0.1)
            elif self.rng.random() < 0.25:
                process.send_signal(signal.SIGSTOP)
                self.told["paused"] += 1
                time.sleep(self.rng.uniform(*ASLEEP))
                process.send_signal(signal.SIGCONT)
            elif self.rng.random() < 0.35:
                process.kill()
                self.told["killed"] += 1

    def clean(self):
        """A collector that is never quiet."""
        while not self.ended.wait(0.5):
            for run in all_runs(self.handoff_root):
                clear(run, garbage(run))


def crashing(rng, told):
    """Instants of planner and ingester at which one in three dies."""

    def reach(name):
        if rng.random() < 0.3:
            told["crashed"] = told.get("crashed", 0) + 1
            raise CrashError(name)

    return reach


def ingest(ctx, round_no, rng, told, monkeypatch):
    """Take one round in, however often that dies."""
    while True:
        with monkeypatch.context() as patched:
            for module in (jobs.handoff.plan, jobs.handoff.commits, jobs.lake.write, jobs.context):
                patched.setattr(module, "reach", crashing(rng, told))
            try:
                report = rollout_round.run(ctx, round_no)
            except (CrashError, HandoffError):
                continue
        return report


def soak(make_context, monkeypatch, seconds, number):
    rng = random.Random(number)
    ctx = make_context(*SETTINGS, name="disturbed")
    seed(ctx)
    crew = Crew(ctx.workspace.handoff_root, rng)
    places = [threading.Thread(target=crew.keep, args=(k,)) for k in range(WORKERS)] + [threading.Thread(target=crew.clean)]
    for place in places:
        place.start()
    begin, rounds = time.monotonic(), 0
    try:
        while rounds == 0 or time.monotonic() - begin < seconds:
            rounds += 1
            plan_round(ctx, rounds)
            ingest(ctx, rounds, rng, crew.told, monkeypatch)
    finally:
        crew.ended.set()
        for place in places:
            place.join()
    return ctx, rounds, crew.told


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("seconds", "number"),
    [
        pytest.param(8.0, 1, id="seconds"),
        pytest.param(float(os.environ.get("VERILAKE_SOAK_SECONDS", "1200")), 2, id="long", marks=pytest.mark.soak),
    ],
)
def test_random_deaths_of_everyone_end_in_the_checksums_of_an_undisturbed_run(make_context, monkeypatch, seconds, number):
    disturbed, rounds, told = soak(make_context, monkeypatch, seconds, number)
    print(f"seed {number}: {rounds} rounds in {seconds:.0f} s, {told}")
    calm = make_context("rollout.prompts_per_shard=4", name="calm")
    seed(calm)
    for round_no in range(1, rounds + 1):
        plan_round(calm, round_no)
        rollout_round.run(calm, round_no)
    for round_no in range(1, rounds + 1):
        found = checksum_of(disturbed.read(ROLLOUTS, round_no), ROLLOUTS)
        assert found == checksum_of(calm.read(ROLLOUTS, round_no), ROLLOUTS), f"round {round_no}, {told}"
        assert found.rows == sum(4 + k % 2 for k in range(DOCS)), "every planned sample, once"
    ran = [HandoffRun(path) for path in disturbed.workspace.handoff_root.glob("rollout/run=*")]
    assert len(ran) == rounds == len({content_id(run.plan.fingerprint) for run in ran})
    assert all(run.store.exists(PLAN) and run.store.list("dead") == [] for run in ran)
    assert sum(told.values()) > 0
