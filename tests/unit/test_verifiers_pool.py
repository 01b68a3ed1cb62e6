"""Processes that grade: what becomes of those that die or hang, and of the rows that they were at."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from dataclasses import replace

import pytest

from udfs.sandbox.sandbox import SandboxUnavailableError
from udfs.verifiers import grade_chunk, worker
from udfs.verifiers import pool as pools
from udfs.verifiers.chunks import Chunk, Tally
from udfs.verifiers.pool import GradingFailedError, Pool
from udfs.verifiers.registry import verifiers

TABLE = verifiers()
SETTINGS = {"task": "grade", "out": "lines", "keep_inputs": False, "allow_weak_sandbox": True}


class Lines:
    """Rows of a list, as many at once as are asked for, or fewer."""

    def __init__(self, rows, most=1000):
        self.rows, self.most, self.at = [json.dumps(row).encode() for row in rows], most, 0

    def take(self, rows):
        part = self.rows[self.at : self.at + min(rows, self.most)]
        self.at += len(part)
        return Chunk("lines", b"\n".join(part), range(self.at - len(part) + 1, self.at + 1)) if part else None


def rows_of(count):
    return [{"id": n, "verifier": "number", "gold": "7", "answer": f"Answer: {n % 9}"} for n in range(count)]


def graded(pool, source):
    tally, lines = Tally(), []
    for payload, counts in pool.grade(source):
        tally.add(Tally.of(counts))
        lines += map(json.loads, payload.splitlines())
    return lines, tally


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_order_and_counts_do_not_depend_on_processes_or_chunks():
    rows, results = rows_of(300), []
    for workers, most in ((1, 1000), (2, 7)):
        with Pool(workers, SETTINGS) as pool:
            results.append(graded(pool, Lines(rows, most)))
            pids = pool.pids
        assert len(pids) == workers
        assert all(map(gone, pids))
    assert results[0] == results[1]
    lines, tally = results[0]
    assert [line["id"] for line in lines] == list(range(300))
    assert [line["verdict"] for line in lines] == ["correct" if n % 9 == 7 else "incorrect" for n in range(300)]
    assert tally.verdicts == {"number": {"correct": 33, "incorrect": 267}}  # 7, 16, ..., 295


def test_a_killed_process_costs_no_row_and_its_work_is_done_again(monkeypatch):
    """Killed from outside in the midst of a row that sleeps in the sandbox, once: the row is retried and gets its verdict."""
    monkeypatch.setattr(pools, "FIRST_ROWS", 8)
    slow = {"kind": "assert", "entry_point": "f", "code": "assert f() == 1"}
    rows = [*rows_of(3), {"id": 3, "verifier": "code", "tests": slow, "answer": "import time\ndef f():\n    time.sleep(1.5)\n    return 1"}]
    with Pool(1, SETTINGS) as pool:

        def strike():
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                if pool._processes and pool._processes[0].row == 3:
                    os.kill(pool.pids[0], signal.SIGKILL)
                    return
                time.sleep(0.02)

        striker = threading.Thread(target=strike)
        striker.start()
        lines, _ = graded(pool, Lines(rows))
        striker.join()
        assert pool.replaced == 1
    assert [line["verdict"] for line in lines] == ["incorrect", "incorrect", "incorrect", "correct"]


def test_a_row_that_kills_its_process_twice_is_an_error_and_the_others_are_graded(monkeypatch):
    """Every process dies at the third row that it grades: of three rows only the last is tried twice in vain."""
    monkeypatch.setattr(pools, "FIRST_ROWS", 8)
    monkeypatch.setenv("VERILAKE_KILL_AT", "verifiers/row:3")
    with Pool(1, SETTINGS) as pool:
        lines, tally = graded(pool, Lines(rows_of(3)))
        assert pool.replaced == 2
    assert [line["verdict"] for line in lines] == ["incorrect", "incorrect", "error"]
    assert (lines[2]["id"], lines[2]["reward"], lines[2]["flags"]) == (2, None, ["worker_died"])
    assert tally.errors == [{"line": 3, "id": 2, "flags": ["worker_died"]}]


def test_a_row_beyond_its_limit_is_given_up_and_the_others_are_graded(monkeypatch):
    """A process that is stopped in the midst of a row says nothing any more; its limit ends it, twice, and the row is an error."""
    monkeypatch.setattr(pools, "FIRST_ROWS", 8)
    monkeypatch.setattr(pools.GradingProcess, "overdue", lambda self: self.row == 1 and _stopped(self.pid))
    slow = {"kind": "assert", "entry_point": "f", "code": "assert f() == 1"}
    hold = {"id": 1, "verifier": "code", "tests": slow, "answer": "import time\ndef f():\n    time.sleep(60)"}
    with Pool(1, SETTINGS) as pool:
        lines, _ = graded(pool, Lines([rows_of(1)[0], hold, rows_of(3)[2]]))
        assert pool.replaced == 2
    assert [line["verdict"] for line in lines] == ["incorrect", "error", "incorrect"]
    assert lines[1]["flags"] == ["over_row_limit"]


def _stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    return True


def test_processes_that_never_begin_end_the_grading(monkeypatch):
    monkeypatch.setenv("PYTHONHOME", "/nowhere")  # no interpreter starts
    with Pool(2, SETTINGS) as pool, pytest.raises(GradingFailedError, match="3 grading processes died"):
        graded(pool, Lines(rows_of(3)))


def test_code_without_a_sandbox_ends_the_grading_with_the_reason(monkeypatch):
    """A machine that offers no tier is wrong use of the whole command (exit 2), not an error of each row."""

    def refuse(row):
        raise SandboxUnavailableError("no sandbox here")

    class Idle:
        def put(self, row, seconds):
            pass

    monkeypatch.setattr(grade_chunk, "verifiers", lambda **_: {**TABLE, "code": replace(TABLE["code"], run=refuse)})
    row = {"verifier": "code", "tests": {"kind": "stdin", "inputs": ["1"], "outputs": ["1"]}, "answer": "pass"}
    head = {"form": "lines", "places": [1], "faults": {}, "lost": {}, "notes": []}
    said = worker._answer(head, json.dumps(row).encode(), grade_chunk.start(SETTINGS), Idle())
    assert said == ({"refused": "no sandbox here", "exit_code": 2}, b"")
    monkeypatch.setattr(pools.GradingProcess, "receive", lambda _self: said)
    with Pool(1, SETTINGS) as pool, pytest.raises(GradingFailedError, match="no sandbox here") as caught:
        graded(pool, Lines([row]))
    assert caught.value.exit_code == 2


def test_chunks_grow_with_cheap_rows_and_shrink_with_dear_ones():
    pool = Pool(1, SETTINGS)
    for _ in range(6):
        pool._learn(0.001, 10)  # 0.1 ms a row: 2000 would fit
    assert pool._rows == pools.MAX_ROWS
    pool._learn(pools.MAX_ROWS * 0.1, pools.MAX_ROWS)  # 0.1 s a row
    assert pool._rows <= 4


def test_a_row_is_overdue_only_when_it_has_been_looked_at_for_longer_than_its_limit():
    process = pools.GradingProcess(SETTINGS)
    try:
        process.send(0, Chunk("lines", b"", range(0)), {})
        process._marker.put(0, 0.2)
        assert not process.overdue()
        time.sleep(0.25)
        assert process.overdue()
        process._marker.put(1, 0.2)  # the next row has its own time
        assert not process.overdue()
    finally:
        process.end(at_once=True)
    assert gone(process.pid)
