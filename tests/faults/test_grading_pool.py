"""The processes that ask math-verify: limits that hold, processes that die, callers of every kind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from schemas.contract import AnswerContract
from udfs.grading import grade, pool
from udfs.grading.pool import Opinion, Pool

ROOT = Path(__file__).resolve().parents[2]
HALF, INTEGRAL = r"\frac{1}{2}", r"\int_0^1 x dx"
#: A sum that SymPy works out term by term: minutes.
ENDLESS = r"\sum_{k=1}^{10000000} \frac{1}{k}"


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def ends(pid, seconds=20.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not alive(pid):
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def fresh():
    own = Pool(limit=2)
    yield own
    own.close()


def test_both_directions_and_what_cannot_be_read(fresh):
    assert fresh.ask(HALF, INTEGRAL) == Opinion("same", forward=True, backward=True)
    assert fresh.ask(HALF, INTEGRAL + "+1") == Opinion("different", forward=False, backward=False)
    assert fresh.ask(HALF, "}{").outcome == "answer_unreadable"
    assert fresh.ask("}{", HALF).outcome == "gold_unreadable"
    # R§3.2 case 8: math-verify accepts this pair one way round alone.
    assert fresh.ask("(0,12.5)", "0<x<12.5") == Opinion("one_direction", forward=False, backward=True)


def test_one_direction_alone_is_no_acceptance(monkeypatch):
    monkeypatch.setattr(pool, "ask", lambda _gold, _answer: Opinion("one_direction", forward=True, backward=False))
    got = grade(AnswerContract(type="expression", gold="1/2"), INTEGRAL)
    assert (got.verdict, got.reward, got.flags) == ("incorrect", 0.0, ("math_verify", "directions_differ", "forward"))


def test_an_endless_answer_is_the_candidates_fault_and_an_endless_gold_ours():
    got = grade(AnswerContract(type="expression", gold="5"), ENDLESS)
    assert (got.verdict, got.reward, got.flags) == ("timeout", 0.0, ("math_verify",))
    got = grade(AnswerContract(type="expression", gold=r"\lim_{n\to\infty} " + ENDLESS), "5")
    assert (got.verdict, got.reward) == ("unparsable_gold", None)
    # ... and the pool serves on
    assert grade(AnswerContract(type="expression", gold=HALF), INTEGRAL).verdict == "correct"


def test_the_wall_limit_holds_for_a_process_that_does_not_heed(fresh, monkeypatch):
    fresh.ask(HALF, INTEGRAL)
    stopped = fresh._free[0].child.pid
    os.kill(stopped, signal.SIGSTOP)  # as deaf as a process can be
    monkeypatch.setattr(pool, "LIMIT", 1.0)
    begun = time.monotonic()
    with pytest.raises(pool._Gone) as gone:
        fresh._once(HALF, INTEGRAL)
    assert time.monotonic() - begun < 10.0
    assert (gone.value.stage, gone.value.busy) == ("gold", True)
    assert not alive(stopped)


def test_a_killed_process_is_replaced_and_the_question_asked_again(fresh):
    fresh.ask(HALF, INTEGRAL)
    first = fresh._free[0].child.pid
    os.kill(first, signal.SIGKILL)
    fresh._free[0].child.wait()
    assert fresh.ask(HALF, INTEGRAL).outcome == "same"
    assert fresh._free[0].child.pid != first


def test_a_process_killed_at_work_is_asked_again_and_never_for_ever(fresh):
    fresh.ask(HALF, INTEGRAL)
    first = fresh._free[0].child.pid

    def kill():
        time.sleep(0.3)
        os.kill(first, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    got = fresh.ask(HALF, ENDLESS)  # hit at work, then ended by its own limit in a second process
    killer.join()
    assert got.outcome == "answer_gone"
    assert first not in {process.child.pid for process in fresh._free}


def test_works_in_threads_at_the_same_time(fresh):
    # R§3.2 cases 22-24: math-verify itself raises outside of a main thread.
    seen: list[Opinion] = []
    threads = [threading.Thread(target=lambda k=k: seen.append(fresh.ask(f"{k}+{HALF}", f"{k}+{INTEGRAL}"))) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert [opinion.outcome for opinion in seen] == ["same"] * 6
    assert fresh._count <= 2


def test_a_forked_child_has_processes_of_its_own(fresh):
    fresh.ask(HALF, INTEGRAL)
    mine = fresh._free[0].child.pid
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - the child
        fresh.after_fork()
        good = fresh.ask(HALF, INTEGRAL).outcome == "same" and fresh._free[0].child.pid != mine
        fresh.close()
        os.write(write, b"1" if good else b"0")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 1) == b"1"
    assert fresh.ask(HALF, INTEGRAL).outcome == "same"
    assert fresh._free[0].child.pid == mine


def program(text):
    return subprocess.Popen([sys.executable, "-c", text], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_processes_end_with_their_parent_however_it_ends():
    text = f"from udfs.grading import pool; import sys, time; pool.ask({HALF!r}, {INTEGRAL!r}); print(pool._POOL._free[0].child.pid, flush=True)"
    for end in ("", "; time.sleep(100)"):
        parent = program(text + end)
        pid = int(parent.stdout.readline())
        if end:
            parent.kill()
        parent.wait()
        parent.stdout.close()
        assert ends(pid)


def test_a_verifier_that_cannot_start_gives_null_and_is_asked_again(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    own = Pool()
    assert own.ask(HALF, INTEGRAL) == Opinion("unavailable")
    monkeypatch.setattr(pool, "ask", own.ask)
    contract = AnswerContract(type="expression", gold=INTEGRAL + "+41")
    got = grade(contract, "41.5")
    assert (got.verdict, got.reward) == ("error", None)
    monkeypatch.undo()
    assert grade(contract, r"\frac{83}{2}").verdict == "correct"


def test_grading_loads_neither_sympy_nor_mpmath_until_it_needs_them():
    text = (
        "import sys; from udfs.grading import grade; from schemas.contract import AnswerContract as C; "
        "assert grade(C(type='expression', gold='1/2'), '0.5').reward == 1.0; print(sorted({'sympy', 'mpmath', 'math_verify'} & set(sys.modules)))"
    )
    parent = program(text)
    assert parent.communicate()[0].strip() == "[]"
