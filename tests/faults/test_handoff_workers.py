"""Workers that are killed, paused, raced and poisoned: the same rows, each once, in committed parts."""

from __future__ import annotations

import json
import signal
import time

import pytest

from tests.faults.handoff_runs import committed_rows, lay_rollout, start, work
from udfs.store.parts import judge_commit

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    run = lay_rollout(tmp_path_factory.mktemp("undisturbed") / "run=r1")
    code, out, _ = work(run)
    assert code == 0
    assert [event["event"] for event in out] == ["committed"] * 2
    rows = committed_rows(run)
    assert len(rows) == 2 * 8 * 3
    return rows


@pytest.mark.parametrize(
    "instant",
    [
        "before_claim",
        "claimed",
        "before_part",
        "before_rename:5",
        "part_flushed",
        "part_flushed:3",
        "before_commit",
        "after_commit",
        "after_commit:2",
    ],
)
def test_a_worker_killed_at_a_named_instant_leaves_what_the_next_one_completes(tmp_path, undisturbed, instant):
    run = lay_rollout(tmp_path / "run=r1")
    code, _, _ = work(run, kill_at=instant)
    assert code == -signal.SIGKILL
    # A process of this host that is gone needs no waiting for the lease: far less than its 30 s.
    begin = time.monotonic()
    code, _, log = work(run, worker_id="second")
    assert time.monotonic() - begin < 20
    assert code == 0
    assert committed_rows(run) == undisturbed
    if instant.startswith(("part_flushed", "before_commit")):
        assert any(event["event"] == "part_adopted" for event in log)
    assert run.dead() == set()


def test_two_workers_on_one_shard_make_one_commit(tmp_path, undisturbed):
    run = lay_rollout(tmp_path / "run=r1", shards=2)
    processes = [start(run, worker_id=f"w{k}") for k in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    for process in processes:
        process.communicate()
    assert committed_rows(run) == undisturbed
    assert [len(run.attempts(sid)) for sid in run.plan.shards] == [1, 1]


def test_a_worker_that_wakes_after_its_lease_was_taken_loses_to_the_first_commit(tmp_path, undisturbed):
    run = lay_rollout(tmp_path / "run=r1", lease_seconds=1.0)
    asleep = _stopped_in_the_middle(run)
    sid = run.store.list("claims")[0]
    code, _, _ = work(run, worker_id="second")
    assert code == 0
    winner = run.commit(sid)
    assert (winner.attempt, winner.worker_id) == (2, "second")
    asleep.send_signal(signal.SIGCONT)
    _, err = asleep.communicate(timeout=60)
    assert asleep.returncode == 0
    assert any(json.loads(line)["event"] == "superseded" for line in err.splitlines())
    assert run.commit(sid) == winner
    left = {f"out/{sid}/1/{name}" for name in run.store.list(f"out/{sid}/1")}
    assert left <= {part.path for part in winner.files}
    assert committed_rows(run) == undisturbed


def _stopped_in_the_middle(run):
    """A worker that is stopped once it has finished a part; the shards are slow enough for that, or the test says so."""
    process = start(run, worker_id="first")
    while not any(run.store.list(f"out/{sid}/1") for sid in run.plan.shards):
        assert process.poll() is None
        time.sleep(0.001)
    process.send_signal(signal.SIGSTOP)
    assert len(run.committed()) == 0
    return process


def test_sigterm_finishes_the_item_keeps_what_is_done_and_releases(tmp_path, undisturbed):
    run = lay_rollout(tmp_path / "run=r1")
    process = _stopped_in_the_middle(run)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=60)
    assert process.returncode == 4
    sid = run.store.list("claims")[0]
    assert run.beat(sid, 1).state == "released"
    assert work(run, worker_id="second")[0] == 0
    assert committed_rows(run) == undisturbed


def test_an_item_that_kills_the_process_is_declared_poison_and_the_rest_is_done(tmp_path, undisturbed):
    run = lay_rollout(tmp_path / "run=r1")
    poison = run.shard_items("s1").column("prompt_id").to_pylist()[5]
    code, out, _ = work(run, "--workers", "1", kill_at=f"item={poison}")
    assert code == 0
    assert run.dead() == set()
    rows = committed_rows(run)
    failed = [row for row in rows if row["prompt_id"] == poison]
    assert [row["failure_class"] for row in failed] == ["poison"] * 3
    assert run.commit("s1").failures == {"poison": 3}
    assert [row for row in rows if row["prompt_id"] != poison] == [row for row in undisturbed if row["prompt_id"] != poison]
    assert out[-1]["failures"] == {"poison": 3} or out[0]["failures"] == {"poison": 3}


def test_a_shard_that_gets_no_further_is_a_dead_letter_after_max_attempts_and_the_rest_is_done(tmp_path, undisturbed):
    run = lay_rollout(tmp_path / "run=r1", max_attempts=2)
    run.store.path("shards/s0.parquet").write_bytes(b"PAR1 cut off")
    code, out, log = work(run)
    assert code == 5
    letter = run.dead_letter("s0")
    # Two attempts at the work and two at giving up: what cannot be read cannot be committed as failed either.
    assert (letter.attempts, letter.failure_class) == (4, "engine_error")
    assert "shards/s0.parquet" in letter.reason
    assert {event["event"] for event in out} == {"committed", "dead_letter"}
    assert sum(event["event"] == "shard_failed" for event in log) == 4
    assert run.committed() == {"s1"}
    assert all(row in undisturbed for row in committed_rows(run))


def test_a_shard_whose_attempts_are_exhausted_is_committed_as_failed_beside_what_was_finished(tmp_path, undisturbed):
    run = lay_rollout(tmp_path / "run=r1", shards=1, max_attempts=1)
    prompts = run.shard_items("s0").column("prompt_id").to_pylist()
    # Parts of two prompts each: the first attempt leaves one, and stands still in the second.
    assert work(run, kill_at=f"item={prompts[2]}")[0] == -signal.SIGKILL
    assert work(run, kill_at=f"item={prompts[3]}")[0] == -signal.SIGKILL
    code, out, _ = work(run)
    assert code == 0
    letter = run.dead_letter("s0")
    assert letter.failure_class == "engine_dead"
    assert letter.in_flight == (prompts[3],)
    assert run.dead() == set()
    rows = committed_rows(run)
    finished = [row for row in rows if row["failure_class"] is None]
    assert {row["prompt_id"] for row in finished} == set(prompts[:2])
    assert all(row in undisturbed for row in finished)
    assert run.commit("s0").failures == {"engine_dead": 6 * 3}
    assert [event["event"] for event in out] == ["dead_letter", "committed"]


def test_a_worker_whose_parent_is_gone_ends(tmp_path):
    run = lay_rollout(tmp_path / "run=r1", shards=1)
    code, out, _ = work(run, "--parent", "1")
    assert (code, out) == (4, [])


def test_a_worker_that_dies_at_once_every_time_ends_in_a_dead_letter_not_in_a_loop(tmp_path):
    run = lay_rollout(tmp_path / "run=r1", shards=1, max_attempts=1)
    code, out, _ = work(run, "--workers", "1", kill_at="claimed")
    assert code == 5
    assert run.dead() == {"s0"}
    assert run.dead_letter("s0").failure_class == "engine_dead"
    assert run.attempts("s0") == [1, 2]
    assert [event["event"] for event in out] == ["dead_letter"]


def test_preemption_with_progress_uses_up_no_attempts(tmp_path, undisturbed):
    run = lay_rollout(tmp_path / "run=r1", shards=1, max_attempts=2)
    for _ in range(3):
        assert work(run, kill_at="part_flushed")[0] == -signal.SIGKILL
    assert work(run)[0] == 0
    assert run.attempts("s0") == [1, 2, 3, 4]
    assert all(row in undisturbed for row in committed_rows(run))


def test_a_part_that_was_damaged_is_not_adopted(tmp_path, undisturbed):
    run = lay_rollout(tmp_path / "run=r1", shards=1)
    work(run, kill_at="part_flushed:2")
    names = [f"out/s0/1/{name}" for name in run.store.list("out/s0/1")]
    assert len(names) == 2
    data = bytearray(run.store.read(names[0]))
    data[len(data) // 2] ^= 1
    run.store.path(names[0]).write_bytes(data)
    assert work(run, worker_id="second")[0] == 0
    adopted = [part.path for part in run.commit("s0").files if part.path.startswith("out/s0/1/")]
    assert adopted == [names[1]]
    assert all(row in undisturbed for row in committed_rows(run))


def test_a_refused_commit_is_kept_with_its_reason_and_done_again(tmp_path, undisturbed):
    run = lay_rollout(tmp_path / "run=r1", shards=1)
    assert work(run)[0] == 0
    refused = run.commit("s0")
    path = run.store.path(refused.files[1].path)
    path.write_bytes(path.read_bytes()[:-1])
    reason = judge_commit(run, refused)
    assert "bytes" in reason
    run.quarantine(refused, reason)
    run.quarantine(refused, reason)
    assert run.committed() == set()
    assert work(run, worker_id="second")[0] == 0
    again = run.commit("s0")
    assert again.attempt == 2
    assert {part.path for part in again.files} & {part.path for part in refused.files} == {p.path for p in refused.files} - {
        refused.files[1].path
    }
    run.quarantine(refused, reason)  # an ingester that was asleep: the new commit stays
    assert run.commit("s0") == again
    assert all(row in undisturbed for row in committed_rows(run))


@pytest.mark.parametrize("signal_file", ["control/stop", "control/pause"])
def test_control_files_hold_workers_back(tmp_path, signal_file):
    run = lay_rollout(tmp_path / "run=r1", shards=1)
    run.store.put(signal_file, b"")
    process = start(run)
    if signal_file == "control/stop":
        assert process.wait(timeout=60) == 4
    else:
        time.sleep(1.5)
        assert process.poll() is None
        assert run.store.list("claims") == []
        run.store.remove(signal_file)
        assert process.wait(timeout=60) == 0
    process.communicate()
