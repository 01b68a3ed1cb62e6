"""Throughput of a worker with the vLLM engine beside the bare engine on the same prompts, in alternation in one run.

    $(sh .ci/vllm.sh cpu) -m tests.benchmarks.bench_vllm [--model DIR] [--prompts 32] [--samples 4] [--tokens 64] [--rounds 3]

One engine serves both ways. Bare: all requests at once through AsyncLLM, final outputs alone, with the same log-probabilities. Worker:
claims, rendering, the program, groups, rows, parts, commit: all that a worker does around the engine, its process' start left aside.
Beside the clock stands the CPU time a token of this process and of the engine's: on a machine that others use, too, only that can be compared
(with OMP_WAIT_POLICY=passive, so that waiting threads spend none).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

from gpu_workers.engines.reaper import descendants
from gpu_workers.engines.vllm import VllmEngine, VllmOptions
from gpu_workers.log import Log
from gpu_workers.programs.host import Host
from gpu_workers.programs.policies import Policies
from gpu_workers.programs.registry import utc_now
from gpu_workers.programs.sampling import RolloutProgram
from gpu_workers.worker import Worker
from schemas.handoff import ROLLOUT_SHARD
from schemas.ids import content_id, seed_from
from tests.engine_runs import lay_run
from tests.vllm.models import lay_tiny, smollm2


def prompts(count, samples, round_no):
    return [
        {
            "prompt_id": content_id("prompt", k, round_no), "round": 1, "system": "You answer in a few sentences.",
            "text": f"Question {k} of set {round_no}: why does the sea look blue on some days and grey on others?", "question": "", "subject": "",
            "context": None, "options": "[]", "form": "answer_only", "n_samples": samples, "seed": k,
        }
        for k in range(count)
    ]  # fmt: skip


def cpu_seconds():
    """CPU time of this process and of all below it, by /proc."""
    ticks = 0
    for pid in {os.getpid(), *descendants(os.getpid())}:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def bare(host, engine, items, tokens):
    """Tokens and seconds of the engine alone; prompts are rendered beforehand."""
    from vllm import SamplingParams
    from vllm.inputs.engine import tokens_input
    from vllm.sampling_params import RequestOutputKind

    ready = [
        (engine._renderer.render([{"role": "system", "content": item["system"]}, {"role": "user", "content": item["text"]}]).token_ids, seed_from("bare", item["prompt_id"], k))
        for item in items for k in range(item["n_samples"])
    ]  # fmt: skip

    async def one(k, ids, seed):
        params = SamplingParams(max_tokens=tokens, seed=seed, logprobs=0, ignore_eos=False, output_kind=RequestOutputKind.FINAL_ONLY)
        async for output in engine._llm.generate(tokens_input(list(ids), cache_salt="bare"), params, f"bare-{time.monotonic_ns()}-{k}"):
            last = output
        return len(last.outputs[0].token_ids)

    async def all_of_them():
        return sum(await asyncio.gather(*(one(k, ids, seed) for k, (ids, seed) in enumerate(ready))))

    begin = time.perf_counter()
    return host.loop.call(all_of_them()), time.perf_counter() - begin


def worker(host, items, tokens):
    """Tokens and seconds of a worker that drains a run of one shard."""
    with tempfile.TemporaryDirectory() as folder:
        run = lay_run(Path(folder), "rollout", "vllm", {"s0": items}, ROLLOUT_SHARD, {"temperature": 1.0, "max_response_tokens": tokens})
        program = RolloutProgram(run.plan, host, Policies(run), utc_now)
        begin = time.perf_counter()
        code = Worker(run, program, "w", Log("r1", "w"), lambda: False).drain()
        seconds = time.perf_counter() - begin
        if code != 0:
            raise SystemExit(f"the worker ended with {code}")
        from udfs.store.parts import read_part

        commit = run.commit("s0")
        made = sum(n or 0 for part in commit.files for n in read_part(run.store, run.plan, part).column("completion_tokens").to_pylist())
    return made, seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="tiny", help="tiny, smollm2, or a directory")
    parser.add_argument("--prompts", type=int, default=32)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = {"tiny": lambda: lay_tiny(Path(folder) / "tiny"), "smollm2": smollm2}.get(given.model, lambda: Path(given.model))()
        options = VllmOptions(
            in_flight=given.prompts * given.samples, max_model_len=1024, kv_cache_gib=1.0, enforce_eager=True, dtype="float32"
        )
        engine = VllmEngine(options, str(model))
        host = Host(engine, options, 60.0)
        bare(host, engine, prompts(given.prompts, given.samples, -1), 8)  # warm
        ratios = []
        for round_no in range(given.rounds):
            # Each way with prompts that no cache has seen, and the first place in turn.
            ways = [lambda n=round_no: ("bare", *bare(host, engine, prompts(given.prompts, given.samples, 2 * n), given.tokens)),
                    lambda n=round_no: ("worker", *worker(host, prompts(given.prompts, given.samples, 2 * n + 1), given.tokens))]  # fmt: skip
            rates = {}
            for way in ways if round_no % 2 == 0 else reversed(ways):
                before = cpu_seconds()
                name, made, seconds = way()
                rates[name] = made / seconds, made / (cpu_seconds() - before)
                clock, work = rates[name]
                print(
                    f"round {round_no}  {name:7} {made:6} tokens in {seconds:6.1f} s  {clock:6.0f} tokens/s  {work:6.0f} a CPU second",
                    flush=True,
                )
            ratios.append(tuple(a / b for a, b in zip(rates["worker"], rates["bare"], strict=True)))
        for name, found in zip(("by the clock", "by CPU time"), zip(*ratios, strict=True), strict=True):
            print(f"worker / bare, {name}: median {statistics.median(found):.3f}, all {', '.join(f'{ratio:.3f}' for ratio in found)}")
        host.close()


if __name__ == "__main__":
    main()
