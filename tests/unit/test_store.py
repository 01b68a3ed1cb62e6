"""The atomic primitive: one winner, whole bytes, the store's own clock."""

from __future__ import annotations

import multiprocessing
import os
import time

import pytest

from udfs.store.file_store import FileStore

PROCESSES = 8
NAMES = 300


def _race(root, worker, barrier, queue):
    """Claim every name; read each one right after and keep what was torn."""
    store = FileStore(root)
    barrier.wait()
    won, torn = [], []
    for k in range(NAMES):
        name = f"claims/{k:03d}"
        body = f"{name} {worker} ".encode() * 50
        if store.create_if_absent(name, body):
            won.append(name)
        seen = store.read(name)
        head = seen[: len(seen) // 50] if seen else b""
        if seen is None or len(seen) % 50 or seen != head * 50 or not head.startswith(name.encode()):
            torn.append((name, seen))
    queue.put((won, torn))


def test_of_eight_processes_exactly_one_creates_each_name_and_none_reads_a_torn_file(tmp_path):
    context = multiprocessing.get_context("spawn")
    barrier, queue = context.Barrier(PROCESSES), context.Queue()
    processes = [context.Process(target=_race, args=(tmp_path, w, barrier, queue)) for w in range(PROCESSES)]
    for process in processes:
        process.start()
    results = [queue.get(timeout=120) for _ in processes]
    for process in processes:
        process.join()
    winners = [name for won, _ in results for name in won]
    assert sorted(winners) == [f"claims/{k:03d}" for k in range(NAMES)]
    assert [torn for _, torn in results if torn] == []
    assert list((tmp_path / ".tmp").iterdir()) == []


def test_create_if_absent_keeps_the_first_bytes(tmp_path):
    store = FileStore(tmp_path)
    assert store.create_if_absent("a/b", b"first")
    assert not store.create_if_absent("a/b", b"second")
    assert store.read("a/b") == b"first"


def test_a_link_that_reports_an_error_after_succeeding_counts_as_won(tmp_path, monkeypatch):
    # What NFS does when the answer to a LINK call is lost and the call is sent again.
    real = os.link

    def twice(source, target):
        real(source, target)
        real(source, target)

    monkeypatch.setattr(os, "link", twice)
    assert FileStore(tmp_path).create_if_absent("x", b"1")


def test_a_link_that_fails_for_another_reason_is_an_error(tmp_path, monkeypatch):
    def refuse(source, target):
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(PermissionError):
        FileStore(tmp_path).create_if_absent("x", b"1")


def test_put_overwrites_and_list_is_ordered_and_shallow(tmp_path):
    store = FileStore(tmp_path)
    store.put("d/2", b"x")
    store.put("d/1", b"x")
    store.put("d/1", b"yy")
    store.put("d/sub/3", b"x", durable=False)
    assert store.list("d") == ["1", "2", "sub"]
    assert store.read("d/1") == b"yy"
    assert store.list("nothing") == []
    assert store.read("nothing") is None
    assert store.mtime("nothing") is None


def test_move_says_whether_there_was_something_to_move(tmp_path):
    store = FileStore(tmp_path)
    store.put("a", b"1")
    assert store.move("a", "far/away/a")
    assert not store.move("a", "far/away/a")
    assert store.read("far/away/a") == b"1"


def test_the_clock_is_that_of_the_files(tmp_path):
    store = FileStore(tmp_path)
    store.put("beat", b"")
    first = store.mtime("beat")
    time.sleep(0.05)
    now = store.now()
    assert 0.04 <= now - first < 5.0
    assert list((tmp_path / ".tmp").iterdir()) == []
