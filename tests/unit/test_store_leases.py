"""Which item deaths point at: tables of who was in flight."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from schemas.handoff import Beat, Claim
from tests.faults.handoff_runs import lay_rollout
from udfs.store.leases import Deaths, deaths, host_identity, is_live
from udfs.store.run import beat_name, claim_name, to_bytes


def after(*in_flight):
    made = Deaths()
    for keys in in_flight:
        made.add(tuple(keys))
    return made


@pytest.mark.parametrize(
    ("in_flight", "poison", "suspects"),
    [
        ([], "", []),
        (["a"], "", []),
        (["a", "a"], "a", ["a"]),  # what is poison is not tried again; the caller takes it out first
        (["a", "b"], "", []),  # two preemptions at two items
        (["abcd"], "", []),
        (["abcd", "abcd"], "", ["abcd"]),
        (["abcd", "cdef"], "", ["cd"]),
        (["abcd", "abcd", "ab"], "", ["cd", "ab"]),  # the least suspect first
        (["abcd", "abcd", "ab", "a"], "", ["cd", "b", "a"]),
        (["abcd", "abcd", "ab", "a", "a"], "a", ["cd", "b", "a"]),
        ([""], "", []),
        (["", ""], "", ["abcdef"]),  # nobody was named: all of them
        (["", "", "ab"], "", ["cdef", "ab"]),
        (["", "a"], "", ["a"]),
    ],
)
def test_poison_and_suspects(in_flight, poison, suspects):
    found = after(*in_flight)
    assert found.poison() == set(poison)
    assert [sorted(rank) for rank in found.suspects("abcdef")] == [sorted(rank) for rank in suspects]


@pytest.mark.parametrize(
    ("before", "then", "more"),
    [
        ([], "abcd", False),  # the first death tells nothing: it may have been a preemption
        (["abcd"], "abcd", True),  # suspects
        (["a"], "a", True),  # poison
        (["a"], "b", False),
        (["abcd", "abcd"], "ab", True),
        (["abcd", "abcd"], "abcd", False),  # as before
        (["abcd", "abcd"], "ef", False),
        (["abcd", "abcd", "ef"], "ef", True),  # others are suspects now, too
        (["abcd", "abcd", "ab"], "cd", False),  # all of their rank: not tried apart
        (["abcd", "abcd", "ab"], "c", True),
        (["", ""], "ab", True),
        (["", ""], "", False),
        ([], "", False),
    ],
)
def test_a_death_that_tells_more_is_no_standing_still(before, then, more):
    assert after(*before).tell_more_with(then) is more


@pytest.mark.parametrize(
    ("what", "seconds_ago", "live", "died"),
    [
        ("runs", 0, True, False),
        ("runs", 100, False, True),  # it says nothing for longer than its lease: it hangs
        ("paused", 100, False, False),  # its lease is lost, but no item killed it
        ("dead", 0, False, True),  # its host knows; nobody waits
    ],
)
def test_who_lives_and_who_died_of_what_was_in_flight(tmp_path, what, seconds_ago, live, died):
    run = lay_rollout(tmp_path / "run=r1", shards=1)
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            run.store.put(claim_name("s0", 1), to_bytes(Claim(shard="s0", attempt=1, worker_id="w", host=host_identity(), pid=process.pid)))
            run.store.put(beat_name("s0", 1), to_bytes(Beat(state="working", done=0, in_flight=("a",))))
            for name in (claim_name("s0", 1), beat_name("s0", 1)):
                os.utime(run.store.path(name), (time.time() - seconds_ago,) * 2)
            if what == "paused":
                process.send_signal(signal.SIGSTOP)
                time.sleep(0.1)
            if what == "dead":
                process.kill()
                process.wait()
            assert is_live(run, "s0", 1, run.store.now()) is live
            assert deaths(run, "s0", [1]).alone == ({"a": 1} if died else {})
        finally:
            process.kill()


@pytest.mark.parametrize(("max_attempts", "enough"), [(1, 2), (3, 2), (4, 3), (50, 49)])
def test_a_run_that_expects_preemption_asks_for_more_deaths(tmp_path, max_attempts, enough):
    run = lay_rollout(tmp_path / "run=r1", shards=1, max_attempts=max_attempts)
    assert deaths(run, "s0", []).enough == enough
