"""What keeps an engine busy: bounds, order, names told, failures tried again, deaths, hangs and interruptions."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from gpu_workers.engines.engine import EngineDeadError, EngineHangError, Generation, Identity, Request, Sampling, unheard
from gpu_workers.engines.steady import Gate, Steady
from gpu_workers.inflight import Group, Inflight
from gpu_workers.loop import LoopThread

TEXT = Generation("x", "stop")


class ScriptedEngine:
    """An engine that answers as it is told, and remembers how many draws it held at once."""

    def __init__(self, answer):
        self.identity = Identity("scripted", "1", "m", "float32", "processed")
        self.progress = unheard
        self._answer = answer
        self.inside = self.most = 0
        self.keys = []

    async def generate(self, request):
        self.keys.append(request.key)
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            return await self._answer(request)
        finally:
            self.inside -= 1


def request(key):
    return Request(key=key, seed=1, sampling=Sampling())


@pytest.fixture
def loop():
    made = LoopThread()
    yield made
    made.close()


def drive(loop, answer, groups, limit=4, stall_seconds=5.0, begun=None, between=None, **options):
    """Run groups {key: number of draws}; returns the engine and the iterator."""
    engine = ScriptedEngine(answer)
    steady = Steady(engine, limit)
    inflight = Inflight(loop, limit, stall_seconds, **options)
    engine.progress = inflight.progress
    built = (Group(key, tuple(lambda k=f"{key}.{i}": steady.generate(request(k)) for i in range(n))) for key, n in groups.items())
    told = begun if begun is not None else []
    return engine, inflight.run(built, told.append if isinstance(told, list) else told, *([between] if between else []))


async def at_once(request):
    await asyncio.sleep(0)
    return Generation(request.key, "stop")


def test_every_group_comes_once_with_its_draws_in_order_and_siblings_go_in_side_by_side(loop):
    groups = {f"g{k}": 1 + k % 3 for k in range(20)}
    told = []
    engine, run = drive(loop, at_once, groups, begun=told)
    found = {key: [made.text for made in results] for key, results in run}
    assert found == {key: [f"{key}.{i}" for i in range(n)] for key, n in groups.items()}
    assert engine.keys == [f"{key}.{i}" for key, n in groups.items() for i in range(n)]
    assert {key for names in told for key in names} == set(groups)


def test_draws_in_flight_are_bounded_also_by_a_group_larger_than_the_bound(loop):
    async def slow(request):
        await asyncio.sleep(0.01)
        return TEXT

    engine, run = drive(loop, slow, {"a": 3, "b": 10, "c": 3}, limit=4)
    assert {key for key, _ in run} == {"a", "b", "c"}
    assert engine.most == 4


def test_names_are_told_before_the_engine_hears_of_them(loop):
    heard = []

    def begun(names):
        time.sleep(0.02)  # the engine would have the time to begin
        heard.append((list(names), list(engine.keys)))

    engine, run = drive(loop, at_once, {"a": 1, "b": 1, "c": 1}, limit=1, begun=begun)
    assert [key for key, _ in run] == ["a", "b", "c"]
    assert heard == [(["a"], []), (["b"], ["a.0"]), (["c"], ["a.0", "b.0"])]


def test_a_finished_group_is_handed_out_while_a_slow_one_goes_on(loop):
    gate = threading.Event()

    async def answer(request):
        if request.key == "slow.0":
            await asyncio.to_thread(gate.wait)
        return TEXT

    _, run = drive(loop, answer, {"slow": 1, "a": 1, "b": 1})
    assert [next(run)[0], next(run)[0]] == ["a", "b"]
    gate.set()
    assert next(run)[0] == "slow"


@pytest.mark.parametrize(
    ("failure", "retryable", "attempts"),
    [("aborted", True, 3), ("engine_error", True, 3), ("engine_error", False, 1), ("prompt_invalid", False, 1), ("malformed", False, 1)],
)
def test_what_may_succeed_the_next_time_is_tried_a_bounded_number_of_times(loop, failure, retryable, attempts):
    async def answer(request):
        return Generation.failed(failure, "why\nso", retryable=retryable)

    engine, run = drive(loop, answer, {"a": 1})
    [(_, [made])] = run
    assert (made.failure_class, made.reason, len(engine.keys)) == (failure, "why so", attempts)


def test_a_second_attempt_that_succeeds_is_a_success_and_siblings_are_not_drawn_again(loop):
    async def answer(request):
        if request.key == "a.1" and engine.keys.count("a.1") == 1:
            return Generation.failed("aborted", "preempted", retryable=True)
        return Generation(request.key, "stop")

    engine, run = drive(loop, answer, {"a": 3})
    [(_, made)] = run
    assert [g.text for g in made] == ["a.0", "a.1", "a.2"]
    assert sorted(engine.keys) == ["a.0", "a.1", "a.1", "a.2"]
    assert made[1].raw == {"attempts": 2}


def test_out_of_memory_halves_the_draws_in_flight_once_for_all_that_failed_together(loop):
    async def answer(request):
        held = engine.inside
        await asyncio.sleep(0.01)
        return TEXT if held <= 3 else Generation.failed("oom", "no memory")

    steady_limit = []
    engine = ScriptedEngine(answer)
    steady = Steady(engine, 16)
    inflight = Inflight(loop, 16, 5.0)
    groups = (Group(f"g{k}", (lambda k=k: steady.generate(request(f"{k}")),)) for k in range(40))
    for _, [made] in inflight.run(groups, lambda _: steady_limit.append(steady.limit)):
        assert made.failure_class is None
    assert steady_limit[0] == 16
    assert steady.limit == 2  # 16 -> 8 -> 4 -> 2: with 4 inside the last one to come still fails


def test_a_draw_that_has_no_memory_even_alone_has_failed(loop):
    async def answer(request):
        return Generation.failed("oom", "no memory") if request.key == "big.0" else TEXT

    _, run = drive(loop, answer, {"big": 1, "a": 1}, limit=4)
    found = {key: made.failure_class for key, [made] in run}
    assert found == {"big": "oom", "a": None}


def test_death_of_the_engine_comes_after_the_groups_that_were_finished_before_it(loop):
    async def answer(request):
        if request.key == "dies.0":
            await asyncio.sleep(0.05)
            raise EngineDeadError("core gone")
        return TEXT

    _, run = drive(loop, answer, {"a": 1, "dies": 1, "b": 1}, limit=3)
    found = []
    with pytest.raises(EngineDeadError, match="core gone"):
        found.extend(key for key, _ in run)
    assert found == ["a", "b"]


def test_an_engine_from_which_nothing_comes_hangs_and_one_that_only_is_slow_does_not(loop):
    async def never(request):
        await asyncio.Event().wait()

    _, run = drive(loop, never, {"a": 2}, stall_seconds=0.2)
    with pytest.raises(EngineHangError, match="2 draws in flight"):
        next(run)

    async def token_by_token(request):
        for _ in range(50):
            await asyncio.sleep(0.05)
            engine.progress()
        return TEXT

    told = []
    engine, run = drive(loop, token_by_token, {"a": 1}, stall_seconds=1.5, beat_seconds=0.1, begun=told)
    assert [key for key, _ in run] == ["a"]
    assert len(told) > 3  # the lease is renewed although no group ends
    assert set(map(tuple, told)) == {("a",)}


def test_a_caller_that_goes_away_leaves_no_task_and_keeps_what_was_finished(loop):
    ended = []

    async def answer(request):
        if request.key == "a.0":
            return TEXT
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(request.key)

    engine, run = drive(loop, answer, {"a": 1, "b": 1, "c": 2})
    assert next(run)[0] == "a"
    run.close()
    assert sorted(ended) == ["b.0", "c.0", "c.1"]
    assert engine.inside == 0


def test_an_engine_that_does_not_even_answer_to_a_cancellation_is_left_behind(loop, monkeypatch):
    monkeypatch.setattr("gpu_workers.inflight.CLOSE_SECONDS", 0.1)
    freed = threading.Event()

    async def deaf(request):
        while not freed.is_set():
            try:
                await asyncio.to_thread(freed.wait, 0.05)
            except asyncio.CancelledError:
                continue
        return TEXT

    _, run = drive(loop, deaf, {"a": 1}, stall_seconds=0.1)
    begin = time.monotonic()
    with pytest.raises(EngineHangError):
        next(run)
    assert time.monotonic() - begin < 5
    freed.set()


def test_an_engine_that_cancels_a_draw_by_itself_is_dead_and_not_waited_for(loop):
    async def answer(request):
        raise asyncio.CancelledError

    _, run = drive(loop, answer, {"a": 1})
    with pytest.raises(EngineDeadError, match="cancelled"):
        next(run)


def test_between_groups_means_that_nothing_is_in_flight(loop):
    seen = []

    async def answer(request):
        await asyncio.sleep(0.01)
        return TEXT

    async def errand():
        seen.append(engine.inside)

    def between():
        return errand() if len(seen) < 3 and len(engine.keys) >= 4 * (len(seen) + 1) else None

    engine, run = drive(loop, answer, {f"g{k}": 2 for k in range(10)}, between=between)
    assert len(list(run)) == 10
    assert seen == [0, 0, 0]


def test_the_loops_thread_ends_with_what_runs_in_it():
    before = threading.active_count()
    loop = LoopThread()
    ended = threading.Event()

    async def endless():
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    loop.submit(endless())
    loop.call(asyncio.sleep(0))
    loop.close()
    loop.close()
    assert ended.is_set()
    assert threading.active_count() == before


def test_the_gate_serves_in_order_and_gives_a_cancelled_place_to_the_next():
    async def main():
        gate, order = Gate(1), []

        async def enter(name):
            async with gate:
                order.append(name)
                await asyncio.sleep(0)

        tasks = [asyncio.create_task(enter(k)) for k in range(4)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return order, gate.inside

    assert asyncio.run(main()) == ([0, 2, 3], 0)
