"""Faults of the hand-off one by one: every planned row comes back once, generated or declared as failed (G§3)."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from schemas.handoff import Beat, Claim
from tests.faults.handoff_runs import committed_rows, drain_here, ingest, lay_rollout, start, start_forked, work, work_forked
from tests.faults.object_server import serving
from udfs.store.parts import judge_commit, write_part
from udfs.store.run import HandoffRun, beat_name, claim_name, commit_name, to_bytes

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Rows of one shard of 32 prompts, 2 samples each."""
    run = lay_rollout(tmp_path_factory.mktemp("undisturbed") / "run=r1", shards=1, prompts=32, samples=2)
    assert drain_here(run) == 0
    rows = committed_rows(run)
    assert len(rows) == 32 * 2
    return rows


def lay(folder, **plan):
    return lay_rollout(folder / "run=r1", shards=1, prompts=32, samples=2, **plan)


def without(rows, *prompts):
    return [row for row in rows if row["prompt_id"] not in prompts]


def prompts_of(run, sid="s0"):
    return run.shard_items(sid).column("prompt_id").to_pylist()


def test_workers_that_race_for_one_shard_make_one_commit(tmp_path, undisturbed):
    run = lay(tmp_path)
    code, said, _ = work_forked(run, "--workers", 4)
    assert (code, said["deaths"]) == (0, 0)
    assert run.attempts("s0") == [1]
    assert committed_rows(run) == undisturbed


@pytest.mark.parametrize(
    ("flags", "poisons", "most_deaths"),
    [
        pytest.param(["--at-once", 8], [13], 5, id="one among eight in flight"),
        pytest.param(["--at-once", 32], [5], 6, id="one among all in flight"),
        pytest.param(["--at-once", 8, "--silent"], [30], 6, id="nothing in flight is named"),
        pytest.param(["--at-once", 8], [2, 3, 21], 12, id="three, two of them together"),
        pytest.param(["--at-once", 1], [7], 2, id="one in flight, alone"),
    ],
)
def test_only_the_item_that_kills_is_declared_poison(tmp_path, undisturbed, flags, poisons, most_deaths):
    run = lay(tmp_path)
    poison = [prompts_of(run)[number] for number in poisons]
    code, said, log = work_forked(run, *flags, *(word for key in poison for word in ("--poison", key)))
    assert code == 0
    assert said["deaths"] <= most_deaths
    rows = committed_rows(run)
    failed = [row for row in rows if row["failure_class"] is not None]
    assert Counter((row["prompt_id"], row["failure_class"]) for row in failed) == {(key, "poison"): 2 for key in poison}
    assert without(rows, *poison) == without(undisturbed, *poison)
    assert run.dead() == set()
    assert run.store.list("dead") == []
    if "1" not in map(str, flags):
        assert any(event["event"] == "suspects_apart" for event in log)


def test_two_preemptions_with_many_in_flight_blame_nobody(tmp_path, undisturbed):
    run = lay(tmp_path)
    for attempt in (1, 2):
        # of a host that nobody can ask, long ago
        run.store.create_if_absent(
            claim_name("s0", attempt), to_bytes(Claim(shard="s0", attempt=attempt, worker_id="gone", host="elsewhere", pid=1))
        )
        run.store.put(beat_name("s0", attempt), to_bytes(Beat(state="working", done=0, in_flight=tuple(prompts_of(run)[:8]))))
        for name in (claim_name("s0", attempt), beat_name("s0", attempt)):
            os.utime(run.store.path(name), (time.time() - 1000, time.time() - 1000))
    code, _, log = work_forked(run, "--at-once", 8)
    assert code == 0
    (apart,) = [event for event in log if event["event"] == "suspects_apart"]
    assert (apart["items"], apart["at_once"]) == (8, 1)
    assert committed_rows(run) == undisturbed


def _rewrite(run, change):
    """Change the rows of a committed part, and let digest and size say what the file holds now: only a look at the rows tells."""
    commit = run.commit("s0")
    part = commit.files[1]
    rows = change(pq.read_table(run.store.path(part.path)).to_pylist())
    made = write_part(run.store, "rollout", part.path.rpartition("/")[0], 90, rows)
    files = tuple(made if held.path == part.path else held for held in commit.files)
    changed = commit.model_copy(update={"files": files, "rows": commit.rows + made.rows - part.rows})
    run.store.put(commit_name("s0"), to_bytes(changed))


def _damage(run, change):
    path = run.store.path(run.commit("s0").files[1].path)
    path.write_bytes(change(path.read_bytes()))


def _flip(data):
    return data[:100] + bytes([data[100] ^ 1]) + data[101:]


def _nan(rows):
    return [{**rows[0], "response_logprobs": [float("nan")] * len(rows[0]["response_logprobs"])}, *rows[1:]]


DAMAGE = {
    "torn": (lambda run: _damage(run, lambda data: data[:-40]), "bytes"),
    "empty": (lambda run: _damage(run, lambda _: b""), "bytes"),
    "one bit": (lambda run: _damage(run, _flip), "sha256"),
    "gone": (lambda run: run.store.path(run.commit("s0").files[1].path).unlink(), "missing"),
    "twice": (lambda run: _rewrite(run, lambda rows: rows + rows), "80 rows in files, 80 committed, 64 expected"),
    "row lost": (lambda run: _rewrite(run, lambda rows: rows[:-1]), "63 rows in files, 63 committed, 64 expected"),
    "index twice": (lambda run: _rewrite(run, lambda rows: [{**rows[0], "sample_index": 1}, *rows[1:]]), "sample indices"),
    "NaN": (lambda run: _rewrite(run, _nan), "NaN"),
    "another policy": (lambda run: _rewrite(run, lambda rows: [{**row, "policy_id": "other"} for row in rows]), "another policy"),
    "another run": (lambda run: _rewrite(run, lambda rows: [{**row, "run_id": "other"} for row in rows]), "another run"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_damaged_is_refused_with_its_reason_and_done_again(tmp_path, undisturbed, damage):
    spoil, reason = DAMAGE[damage]
    run = lay(tmp_path)
    assert drain_here(run) == 0
    spoil(run)
    refused = ingest(run)
    assert reason in refused["s0"]
    assert run.committed() == set()
    assert drain_here(run, "second") == 0
    assert ingest(run) == {}
    assert run.commit("s0").attempt == 2
    assert committed_rows(run) == undisturbed


@pytest.fixture
def small_disk(tmp_path):
    """A tmpfs of 2 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if (
        os.geteuid()
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], check=False, capture_output=True).returncode
    ):
        pytest.skip("mounting a small tmpfs needs root and a kernel that lets it mount")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def _fill(folder):
    with (folder / "ballast").open("wb", buffering=0) as ballast:
        try:
            while True:
                ballast.write(b"x" * 4096)
        except OSError:
            pass


def _until(happened, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_full_disk_costs_no_attempt_and_what_waits_goes_on_when_there_is_room(tmp_path, undisturbed, small_disk):
    run = lay(small_disk, max_attempts=1)
    process = start_forked(run, "--seconds", 0.02)
    _until(lambda: run.store.list("out/s0/1"))
    _fill(small_disk)
    time.sleep(3.0)
    assert process.poll() is None
    assert run.committed() == set()
    (small_disk / "ballast").unlink()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert '"event": "store_fault"' in err
    assert committed_rows(run) == undisturbed
    assert {run.beat("s0", attempt).state for attempt in run.attempts("s0")[:-1]} <= {"released"}
    assert run.commit("s0").failures == {}


def test_a_disk_that_stays_full_is_told_in_a_line_and_nothing_is_lost(tmp_path, undisturbed, small_disk):
    run = lay(small_disk)
    _fill(small_disk)
    process = start_forked(run, "--patience", 1)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "No space left" in err.splitlines()[-1]
    (small_disk / "ballast").unlink()
    assert drain_here(run) == 0
    assert committed_rows(run) == undisturbed


@pytest.mark.parametrize(("shift", "taken"), [(-3600, True), (3600, True), (-10, False), (10, False)])
def test_a_clock_that_jumps_delays_nobody_beyond_a_lease_and_ends_no_live_one_early(tmp_path, undisturbed, shift, taken):
    run = lay(tmp_path)
    run.store.create_if_absent(claim_name("s0", 1), to_bytes(Claim(shard="s0", attempt=1, worker_id="other", host="elsewhere", pid=1)))
    os.utime(run.store.path(claim_name("s0", 1)), (time.time() + shift, time.time() + shift))
    if taken:
        assert drain_here(run) == 0
        assert run.commit("s0").attempt == 2
        assert committed_rows(run) == undisturbed
        return
    process = start(run)
    time.sleep(3.0)
    assert run.attempts("s0") == [1]
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 4


def test_a_policy_that_is_no_longer_wanted_ends_in_the_middle_of_a_shard(tmp_path, undisturbed):
    run = lay(tmp_path)
    process = start_forked(run, "--at-once", 4, "--seconds", 0.2)
    _until(lambda: run.store.list("out/s0/1"))
    run.store.put("control/min_policy_version", b"1\n")
    process.communicate(timeout=60)
    assert process.returncode == 0
    rows = committed_rows(run)
    aborted = {row["prompt_id"] for row in rows if row["failure_class"] == "aborted"}
    finished = [row for row in rows if row["failure_class"] is None]
    assert len(rows) == len(undisturbed)
    assert 0 < len(aborted) < 32
    assert finished == without(undisturbed, *aborted)
    assert len(finished) % 8 == 0, "batches of four prompts that were in flight were finished"
    assert judge_commit(run, run.commit("s0")) is None


def test_a_control_file_that_says_nothing_holds_nobody_back(tmp_path, undisturbed, capsys):
    run = lay(tmp_path)
    run.store.put("control/min_policy_version", b"soon")
    assert drain_here(run) == 0
    assert "control_ignored" in capsys.readouterr().err
    assert committed_rows(run) == undisturbed


def test_beyond_the_bound_of_uncommitted_bytes_nothing_fresh_is_begun_and_what_was_begun_is_finished(tmp_path):
    run = lay_rollout(tmp_path / "run=r1", shards=3, max_uncommitted_bytes=1000)
    assert work(run, kill_at="part_flushed:2")[0] == -signal.SIGKILL
    (begun,) = run.store.list("out")
    assert sum(entry.size for entry in run.store.entries(f"out/{begun}/1")) > 1000
    code, out, _ = work(run, worker_id="second")
    assert code == 0
    assert out[0]["shard"] == begun, "the shard that was begun goes first"
    assert len(committed_rows(run)) == 3 * 8 * 3


@pytest.fixture
def in_memory(tmp_path):
    """A folder on a file system that syncs at once, where there is one: the race is the same, and has more turns a second."""
    if not os.access("/dev/shm", os.W_OK):  # noqa: S108
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="verilake-") as folder:
        yield Path(folder)


def _check_race(run, shards):
    assert run.committed() == set(run.plan.shards)
    assert ingest(run) == {}
    rows = committed_rows(run)
    counted = Counter((row["prompt_id"], row["sample_index"]) for row in rows)
    assert len(rows) == len(counted) == shards
    parts = [part.path for sid in run.plan.shards for part in run.commit(sid).files]
    assert len(parts) == len(set(parts))
    return rows


@pytest.mark.parametrize("repetitions", [pytest.param(2, id="two"), pytest.param(20, id="twenty", marks=pytest.mark.soak)])
def test_eight_processes_on_three_hundred_shards_deliver_each_row_once(in_memory, repetitions):
    told = []
    for number in range(repetitions):
        run = lay_rollout(in_memory / f"run={number}", shards=300, prompts=1, samples=1)
        code, said, _ = work_forked(run, "--workers", 8)
        assert (code, said) == (0, {"deaths": 0, "codes": [0] * 8})
        told.append(_check_race(run, 300))
    assert all(rows == told[0] for rows in told)


def test_a_death_costs_at_most_what_was_not_flushed(tmp_path, undisturbed):
    run = lay(tmp_path)
    process = start_forked(run, "--seconds", 0.02, "--deaths", 0)
    _until(lambda: len(run.store.list("out/s0/1")) == 2)
    for child in subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=True
    ).stdout.split():
        os.kill(int(child), signal.SIGKILL)
    process.communicate(timeout=60)
    flushed = [f"out/s0/1/{name}" for name in run.store.list("out/s0/1")]
    assert len(flushed) >= 2
    assert drain_here(run, "second") == 0
    commit = run.commit("s0")
    assert set(flushed) <= {part.path for part in commit.files}
    again = sum(part.rows for part in commit.files if part.path.startswith("out/s0/2/"))
    kept = sum(pq.read_metadata(run.store.path(name)).num_rows for name in flushed)
    assert again == len(undisturbed) - kept
    assert committed_rows(run) == undisturbed


@pytest.fixture
def server():
    with serving() as running:
        yield running


def _upload(run, server):
    for path in sorted(run.store.root.rglob("*")):
        if path.is_file():
            server.store().put(str(path.relative_to(run.store.root)), path.read_bytes())
    return "s3://bucket/runs/run=r1"


def test_workers_drain_a_run_on_an_object_store_that_misbehaves(tmp_path, undisturbed, server, monkeypatch):
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    run = HandoffRun(_upload(lay(tmp_path), server))
    server.faults["PUT"] = ["lose", 409, 500, None, "drop", "lose", 0.2] * 2
    server.faults["GET"] = [503, None, "drop", 500]
    killed = work(run, kill_at="part_flushed:2")
    assert killed[0] == -signal.SIGKILL
    # Its host knows that the process is gone: nobody waits for the lease.
    code, _, log = work(run, worker_id="second")
    assert code == 0
    assert sum(event["event"] == "part_adopted" for event in log) == 2
    assert committed_rows(run) == undisturbed
    assert server.faults == {"PUT": [], "GET": []}


def test_an_object_store_whose_clock_jumps_makes_no_row_twice(tmp_path, undisturbed, server, monkeypatch):
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    run = HandoffRun(_upload(lay(tmp_path, lease_seconds=4.0), server))
    process = start_forked(run, "--workers", 3, "--seconds", 0.05)
    stop = threading.Event()

    def jump():
        while not stop.wait(0.2):
            server.skew = 5000.0 - server.skew

    jumping = threading.Thread(target=jump)
    jumping.start()
    process.communicate(timeout=120)
    stop.set()
    jumping.join()
    assert process.returncode == 0
    assert committed_rows(run) == undisturbed
