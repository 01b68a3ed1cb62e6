"""Calls a second of engine ``openai`` against a server of ours that answers at once, beside a bare aiohttp loop in the same run.

    python -m tests.benchmarks.bench_openai [--calls 4000] [--in-flight 64]

The server runs in a process of its own and takes its share of the two cores. The bare loop posts ready-made bytes through one
session and parses the JSON; the engine builds bodies, judges replies and stands behind what the workers use: gate, further
attempts, loop in a thread, groups handed out to a synchronous caller.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import time

import aiohttp

from gpu_workers.engines.engine import Request, Sampling
from gpu_workers.engines.openai import OpenAIEngine
from gpu_workers.engines.openai_wire import OpenAIOptions, body_of
from gpu_workers.engines.steady import Steady
from gpu_workers.inflight import Group, Inflight
from gpu_workers.loop import LoopThread
from tests.openai_server import StubServer

PROMPT = "In one sentence: what does the second law say, and of what? " * 15  # about 900 bytes


def serve(delay, pipe):
    """A server until the pipe says that it is enough."""
    with StubServer(delay=delay, keep_calls=False) as server:
        pipe.send(server.url)
        pipe.recv()


def request(k):
    return Request(f"call-{k}", k, Sampling(max_tokens=64), messages=({"role": "user", "content": f"{PROMPT} {k}"},))


async def bare(url, calls, in_flight):
    """The floor: bodies made beforehand, one session, as many tasks as may be in flight."""
    options = OpenAIOptions(base_url=url, model="stub")
    bodies = [json.dumps(body_of(request(k), options)[1]).encode() for k in range(calls)]
    begin, cpu = time.perf_counter(), time.process_time()
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=in_flight), headers={"Content-Type": "application/json"}
    ) as session:

        async def take():
            while bodies:
                async with session.post(url + "/chat/completions", data=bodies.pop()) as reply:
                    json.loads(await reply.read())["choices"][0]["message"]["content"]

        await asyncio.gather(*(take() for _ in range(in_flight)))
    return time.perf_counter() - begin, time.process_time() - cpu


def engine(url, calls, in_flight):
    """All of a worker's way but the files."""
    loop = LoopThread()
    made = OpenAIEngine(OpenAIOptions(base_url=url, model="stub", in_flight=in_flight))
    loop.call(made.open())
    steady, inflight = Steady(made, in_flight), Inflight(loop, in_flight, 60.0)
    begin, cpu = time.perf_counter(), time.process_time()
    groups = (Group(str(k), (lambda k=k: steady.generate(request(k)),)) for k in range(calls))
    done = sum(reply.failure_class is None for _, [reply] in inflight.run(groups, lambda _: None))
    spent = time.perf_counter() - begin, time.process_time() - cpu
    loop.call(made.close())
    loop.close()
    if done != calls:
        raise SystemExit(f"{calls - done} of {calls} calls failed")
    return spent


def measure(delay, calls, in_flight, rounds):
    """Both ways in alternation; prints calls a second."""
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(delay, there))
    server.start()
    url = here.recv()
    for _ in range(rounds):
        for name, (seconds, cpu) in (("bare aiohttp", asyncio.run(bare(url, calls, in_flight))), ("engine", engine(url, calls, in_flight))):
            print(
                f"{name:14} delay {delay:.1f} s  {in_flight:4} in flight  {calls / seconds:7.0f} calls/s  {1e3 * cpu / calls:5.2f} ms of CPU a call"
            )
    here.send(None)
    server.join()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=4000)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--latency", action="store_true", help="also with a second of latency and 256 in flight: ideal is 256 calls/s")
    given = parser.parse_args()
    measure(0.0, given.calls, given.in_flight, given.rounds)
    if given.latency:
        measure(1.0, 256 * 8, 256, 1)


if __name__ == "__main__":
    main()
