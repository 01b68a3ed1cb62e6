"""A real instruct model (SmolLM2-135M-Instruct) through the engine: it answers, judges in the asked-for form, and its figures hold."""

from __future__ import annotations

import asyncio
import json

import pytest

from gpu_workers.engines.engine import Request, Sampling
from gpu_workers.engines.options import EngineOptions
from gpu_workers.engines.vllm import VllmEngine, VllmOptions
from gpu_workers.programs.chain import ChainProgram
from gpu_workers.programs.host import Host
from gpu_workers.programs.judge import JudgeProgram
from gpu_workers.programs.program import Origin
from gpu_workers.programs.registry import utc_now
from schemas.handoff import CONVERT_SHARD, JUDGE_SHARD
from tests.engine_runs import lay_run
from tests.faults.handoff_runs import convert_item
from tests.vllm.models import smollm2
from udfs.conversion.recipe import Recipe
from udfs.replies.outcomes import Pricing, outcome

#: float32 over thirty layers, decode beside one pass over the whole text.
FLOAT32 = 5e-3
QUESTION = ({"role": "user", "content": "What is the capital of France? Answer in one short sentence."},)


@pytest.fixture(scope="module")
def host():
    options = VllmOptions(in_flight=16, max_model_len=2560, kv_cache_gib=0.5, enforce_eager=True, dtype="float32")
    made = Host(VllmEngine(options, str(smollm2())), EngineOptions(in_flight=16), 60.0)
    yield made
    made.close()


def draw(host, *requests):
    async def all_of_them():
        return await asyncio.gather(*map(host.engine.generate, requests))

    return host.loop.call(all_of_them())


def test_it_answers_and_its_prompt_is_the_models_own_template(host):
    [made] = draw(host, Request("q", 1, Sampling(temperature=0.0, max_tokens=24), QUESTION))
    print(f"\n{made.text!r}")
    assert "Paris" in made.text
    assert made.prompt_text.startswith("<|im_start|>system")
    assert made.prompt_text.endswith("<|im_start|>assistant\n")
    assert made.finish_reason == "stop"
    assert made.token_ids[-1] == 2  # <|im_end|>: the end token is part of what was drawn


def test_stored_tokens_fed_back_as_a_prompt_reproduce_their_logprobs(host):
    made = draw(host, *(Request(f"s{seed}", seed, Sampling(max_tokens=32), QUESTION) for seed in range(4)))
    assert len({g.token_ids for g in made}) > 1
    worst = 0.0
    for g in made:
        scored = host.loop.call(host.engine.score(g.prompt_token_ids, g.token_ids, 1.0))
        worst = max(worst, *(abs(a - b) for a, b in zip(scored.logprobs, g.logprobs, strict=True)))
    print(f"\nlargest difference over {sum(len(g.token_ids) for g in made)} tokens: {worst:.2e}")
    assert worst < FLOAT32


def test_as_a_judge_it_answers_in_the_asked_for_form_in_both_orders(host, tmp_path):
    pairs = [
        {
            "judgement_id": f"j{k}", "round": 1, "kind": "pairwise", "trajectory_a": "ta", "trajectory_b": "tb", "swapped": bool(k % 2),
            "question": "What is 2 + 2?", "reference": "4", "response_a": "4", "response_b": "It is a fish.", "draw": 0, "seed": k,
        }
        for k in range(2)
    ]  # fmt: skip
    run = lay_run(tmp_path, "judge", "vllm", {"s0": pairs}, JUDGE_SHARD, {"temperature": 0.5, "max_response_tokens": 200})
    program = JudgeProgram(run.plan, host, utc_now)
    rows = [row for finished in program.generate(pairs, Origin("w", 1), lambda _: None) for row in finished.rows]
    assert [row["failure_class"] for row in rows] == [None, None]
    for row in rows:
        print(f"\nswapped {row['swapped']}: {row['verdict']}: {row['reply']!r}")
        # A constraint does not save from truncation: a reply that was cut is an invalid verdict, any other one is whole.
        cut = json.loads(row["raw"])["finish_reason"] == "length"
        assert (row["verdict"] == "invalid") == cut


def test_the_chain_of_conversion_runs_on_it_and_every_reply_is_as_its_schema_wants(host, tmp_path):
    """What a model of this size asks is poor; that each stage's structured output can be read is the point."""
    drawn = {"max_tokens": 300, "temperature": 0.7}
    recipe = Recipe.from_settings({"max_personas": 1, "n_fewshots": 0, "max_chars": 600, "generate": drawn})
    models = {stage: ["smollm2", ""] for stage in ("filter", "identify", "generate", "check")}
    settings = {"model": "smollm2", "models": models, "recipe": recipe.to_settings(), "prices": {}}
    item = convert_item(1, "The Golden Gate Bridge was opened to traffic in May 1937. Its main span is 1280 metres long.", title=None)
    run = lay_run(tmp_path, "convert", "vllm", {"s0": [item]}, CONVERT_SHARD, settings, round=None, policy_id=None)
    [finished] = ChainProgram(run, host, utc_now).generate([item], Origin("w", 1, "s0"), lambda _: None)
    assert finished.rows[0]["stage"] == "filter"
    assert {(row["failure_class"], row["reask"]) for row in finished.rows} == {(None, 0)}
    assert all(row["prompt_tokens"] > 100 and row["completion_tokens"] > 0 for row in finished.rows)
    _, states = outcome({**item, "cluster_id": "c", "split": "train", "replies": finished.rows}, Pricing(recipe))
    print("\n" + "; ".join(f"{state['stage']} {state['state']}: {state['reason']}" for state in states))
    assert {state["state"] for state in states} <= {"passed", "rejected"}
    assert sum(state["draws"] for state in states) == len(finished.rows)
