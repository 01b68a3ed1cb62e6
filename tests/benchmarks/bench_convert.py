"""Calls a second of program ``convert`` against a server of ours, and documents a second of what Spark does around it.

    python -m tests.benchmarks.bench_convert [--documents 600] [--in-flight 64]      # a server that answers at once
    python -m tests.benchmarks.bench_convert --latency 1.0 --in-flight 256           # beside the ideal, in_flight / latency
    python -m tests.benchmarks.bench_convert --spark 50000                           # preparation and taking in, documents of 1 kB

The worker's way is whole: shards, leases, prompts, hashes, ledger with its syncs, parts, commits. The server runs in a process of its own
and takes its share of the two cores. With --spark the chain's replies are recorded ones, so that nothing but Spark's side is timed, in
steps: laying the shards, and taking replies in (silver.qa, silver.conversions).
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import tempfile
import time
from pathlib import Path

from gpu_workers.log import Log
from gpu_workers.programs.registry import build_program
from gpu_workers.worker import Worker
from schemas.handoff import CONVERT_SHARD
from tests import chain_model
from tests.engine_runs import lay_run
from tests.faults.handoff_runs import convert_item
from tests.openai_server import StubServer
from udfs.conversion.recipe import Recipe

#: Calls about a document: filter, identify, and for each of two readers generate and check.
CALLS = 6


def serve(delay, pipe):
    """A model's server until the pipe says that it is enough."""
    with StubServer(delay=delay, keep_calls=False, says=chain_model.answer) as server:
        pipe.send(server.url)
        pipe.recv()


def settings():
    """Of a plan: one model for all stages."""
    stages = ("filter", "identify", "generate", "check")
    return {"model": "stub", "models": {stage: ["stub", ""] for stage in stages}, "recipe": Recipe().to_settings(), "prices": {}}


def worker(documents, in_flight, delay):
    """A worker drains a run; prints calls a second, and what a call costs this process."""
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(delay, there))
    server.start()
    url = here.recv()
    size = max(1, min(1000, documents // 2))
    items = [convert_item(k, chain_model.bridge(k, "It is made of stone. " * 35), title=None) for k in range(documents)]
    shards = {f"s{at}": items[at : at + size] for at in range(0, documents, size)}
    with tempfile.TemporaryDirectory() as folder:
        run = lay_run(Path(folder), "convert", "openai", shards, CONVERT_SHARD, settings(), round=None, policy_id=None)
        program = build_program(run, {"base_url": url, "in_flight": str(in_flight)})
        begin, cpu = time.perf_counter(), time.process_time()
        code = Worker(run, program, "w", Log(run.plan.run_id, "w"), lambda: False, 0.05).drain()
        seconds, spent = time.perf_counter() - begin, time.process_time() - cpu
        rows = sum(run.commit(sid).rows for sid in run.committed())
    here.send("enough")
    server.join()
    if code or rows != documents * CALLS:
        raise SystemExit(f"exit {code}, {rows} of {documents * CALLS} replies")
    told = f"{rows} calls, {in_flight} in flight: {rows / seconds:.0f} calls/s, {1000 * spent / rows:.2f} CPU ms a call in the worker"
    print(
        f"latency {delay:g} s: {told}"
        + (f"; {rows / seconds / (in_flight / delay):.2f} of the ideal {in_flight / delay:.0f}" if delay else "")
    )


def spark(documents):
    """Spark's side over recorded replies; prints documents a second of each step."""
    from jobs import convert_corpus
    from jobs.config import load_config
    from jobs.context import JobContext
    from jobs.workspace import Workspace
    from tests.benchmarks.recorded_replies import record

    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace.init(Path(folder))
        overrides = ["convert.engine=replay", "convert.model=stub", f"spark.master=local[{os.cpu_count()}]"]
        ctx = JobContext(workspace, load_config(workspace.root, overrides=overrides))
        record(ctx, documents)
        for name, seconds in record_steps(ctx, convert_corpus):
            print(f"{name}: {documents / seconds:.0f} documents/s ({seconds:.1f} s)")


def record_steps(ctx, job):
    """The job with its steps by the clock: until the workers start, what they take (replay: not Spark's), and what follows."""
    marks = [("start", time.perf_counter())]
    collect, delivered = job.collect, job.delivered

    def collecting(*args):
        marks.append(("laid", time.perf_counter()))
        found = collect(*args)
        marks.append(("drained", time.perf_counter()))
        return found

    job.collect = collecting
    try:
        job.run(ctx, "one")
    finally:
        job.collect, job.delivered = collect, delivered
    at = dict(marks) | {"end": time.perf_counter()}
    both = at["laid"] - at["start"] + at["end"] - at["drained"]
    return [("preparation", at["laid"] - at["start"]), ("taking in", at["end"] - at["drained"]), ("both", both)]


def main():
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=600)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--spark", type=int, default=0, metavar="DOCUMENTS")
    asked = parser.parse_args()
    if asked.spark:
        spark(asked.spark)
    else:
        worker(asked.documents, asked.in_flight, asked.latency)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
