"""Several turns on a random model: what is stored of an episode, fed back as prompts, gives the same log-probabilities."""

from __future__ import annotations

import pytest

from gpu_workers.engines.engine import Sampling
from gpu_workers.engines.vllm import VllmEngine, VllmOptions
from gpu_workers.environments.environment import Observation, Tool, ToolCall, object_of
from gpu_workers.loop import LoopThread
from gpu_workers.programs.conversation import Conversation

#: What float32 loses between a decode and a pass over the whole text.
FLOAT32 = 2e-4
TOOL = Tool("look", "looks", object_of(at="what"))
SEEN = ["42 km", "a text that spells <|end|> and </s>", "ü" * 20]


@pytest.fixture(scope="module")
def loop():
    made = LoopThread()
    yield made
    made.close()


def test_the_tokens_of_all_turns_are_what_the_engine_saw_and_their_logprobs_are_theirs(loop, tiny):
    options = VllmOptions(in_flight=4, max_model_len=1024, kv_cache_gib=0.25, enforce_eager=True, dtype="float32")
    engine = VllmEngine(options, str(tiny[0]), version=3)
    loop.call(engine.open())
    try:
        talk = Conversation(engine, "Be brief.", "How long is it?", [TOOL], "text")
        for k, text in enumerate(SEEN):
            made = loop.call(engine.generate(talk.request(f"e.{k}", 7 + k, Sampling(max_tokens=24), "3")))
            assert made.failure_class is None
            call = ToolCall(f"call_{k}_0", "look", {"at": "it"})
            talk.took(made, [call])
            talk.saw(call, Observation(text), "ok", 0.0)
            talk.answer([(call, Observation(text))])
        talk.took(loop.call(engine.generate(talk.request("e.last", 99, Sampling(max_tokens=24), "3"))), [])
        assert not talk.retokenised
        before, worst = tuple(talk.opening.prompt_token_ids), 0.0
        for turn in talk.turns:
            assert turn["token_ids"]
            if turn["role"] == "assistant":
                scored = loop.call(engine.score(before, turn["token_ids"], 1.0))
                worst = max(worst, *(abs(a - b) for a, b in zip(scored.logprobs, turn["logprobs"], strict=True)))
                assert set(turn["weight_versions"]) == {3}
            before += tuple(turn["token_ids"])
        print(f"greatest difference of a log-probability over {len(before)} tokens: {worst:.1e}")
        assert worst < FLOAT32
        assert "text that spells <|end|>" in engine._renderer._tokenizer.decode(before)
    finally:
        loop.call(engine.close())
