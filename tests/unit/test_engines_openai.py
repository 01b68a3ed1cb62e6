"""Engine ``openai`` against a server that misbehaves on order: each draw ends in exactly one generation, and the right one."""

from __future__ import annotations

import asyncio
import random
import time

import pytest

from gpu_workers.engines.engine import EngineDeadError, Request, Sampling
from gpu_workers.engines.openai import OpenAIEngine, seconds_of
from gpu_workers.engines.openai_wire import OpenAIOptions, ReplyError, body_of, read_reply
from gpu_workers.engines.options import read_options
from gpu_workers.errors import RefusedRunError
from tests.openai_server import StubServer


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr("gpu_workers.engines.openai.FIRST_PAUSE", 0.01)
    monkeypatch.setattr("gpu_workers.engines.openai.LONGEST_PAUSE", 0.1)


def ask(server, keys, sampling=None, **options):
    """One draw a key, all at once; the generations in their order."""

    async def main():
        given = {"base_url": server.url, "model": "stub", "in_flight": 32} | options
        engine = OpenAIEngine(read_options(OpenAIOptions, "openai", given))
        await engine.open()
        try:
            requests = [Request(k, 7, sampling or Sampling(), messages=({"role": "user", "content": k},)) for k in keys]
            return await asyncio.gather(*map(engine.generate, requests), return_exceptions=True)
        finally:
            await engine.close()

    return asyncio.run(main())


def first_then_ok(*conducts):
    """The first calls of each draw meet the conducts in turn, later ones are answered."""
    met = {}

    def conduct(ordinal, body):
        key = body["messages"][-1]["content"]
        met[key] = met.get(key, -1) + 1
        return conducts[met[key]] if met[key] < len(conducts) else "ok"

    return conduct


KEYS = [f"draw {k}" for k in range(40)]


@pytest.mark.parametrize("conducts", [
    ("ok",), ("late",), ("close",), ("429:0.05", "429"), ("500", "503", "502"), ("408",), ("reset",), ("cut",), ("garbage", "reset"), ("same id",),
])  # fmt: skip
def test_what_goes_wrong_for_the_moment_is_tried_again_until_every_draw_has_its_own_reply(conducts):
    with StubServer(first_then_ok(*conducts)) as server:
        made = ask(server, KEYS)
    assert [g.text for g in made] == KEYS
    assert {g.failure_class for g in made} == {None}
    tries = [g.raw["http_attempts"] for g in made]
    if conducts == ("close",):  # without a word: whoever is given the connection before its end arrives finds out, each end once
        assert sum(tries) - len(tries) <= len(KEYS)
    else:
        assert set(tries) == {1 if conducts[0] in ("ok", "late", "same id") else 1 + len(conducts)}
    assert server.answered == dict.fromkeys(KEYS, 1)  # each is paid once


def test_a_second_reply_on_a_connection_is_not_taken_for_the_next_draws_own():
    with StubServer(first_then_ok("twice")) as server:

        async def main():
            engine = OpenAIEngine(OpenAIOptions(base_url=server.url, model="stub", in_flight=4))
            await engine.open()
            texts = []
            for k in range(0, len(KEYS), 4):  # in turns, so that the connections lie idle when the second reply comes
                requests = [Request(key, 7, Sampling(), messages=({"role": "user", "content": key},)) for key in KEYS[k : k + 4]]
                texts += [g.text for g in await asyncio.gather(*map(engine.generate, requests))]
                await asyncio.sleep(0.03)
            await engine.close()
            return texts

        assert asyncio.run(main()) == KEYS


def test_a_server_without_ids_is_believed_after_it_was_asked_once_more():
    with StubServer(lambda *_: "same id") as server:
        made = ask(server, ["equal"] * 20, in_flight=1)
    assert [g.text for g in made] == ["equal"] * 20
    assert len(server.calls) == 21
    assert server.connections == 1 + 1 + 19  # for the list of models; kept once; one a call since then


def test_connections_are_kept():
    with StubServer() as server:
        ask(server, KEYS, in_flight=4)
    assert server.connections <= 1 + 4


def test_a_stalled_reply_ends_at_its_time_and_is_asked_for_again():
    with StubServer(first_then_ok("stall")) as server:
        begin = time.monotonic()
        made = ask(server, KEYS[:4], attempt_seconds=0.3)
        assert time.monotonic() - begin < 5
    assert [g.text for g in made] == KEYS[:4]


def test_a_body_without_end_is_cut_off(monkeypatch):
    monkeypatch.setattr("gpu_workers.engines.openai.MAX_BODY", 1 << 20)
    with StubServer(first_then_ok("huge")) as server:
        assert [g.text for g in ask(server, ["a"])] == ["a"]


def test_a_refused_prompt_is_not_tried_again_and_stops_no_other():
    with StubServer(lambda _, body: "400" if body["messages"][-1]["content"] == "bad" else "ok") as server:
        good, bad = ask(server, ["good", "bad"])
    assert (good.text, bad.failure_class, bad.finish_reason) == ("good", "prompt_invalid", "error")
    assert "stub says 400" in bad.reason
    assert len(server.calls) == 2


def test_a_prompt_that_no_json_can_carry_is_refused_before_it_is_sent():
    with StubServer() as server:
        [made] = ask(server, ["\ud800"])
    assert made.failure_class == "prompt_invalid"
    assert server.calls == []


def test_a_draw_for_which_the_server_never_answers_while_others_get_theirs_has_failed():
    with StubServer(lambda _, body: "500" if body["messages"][-1]["content"] == "bad" else "ok", delay=0.01) as server:
        *made, bad = ask(server, [*KEYS[:8], "bad"], attempts=4, in_flight=1)
    assert all(g.text for g in made)
    assert (bad.failure_class, bad.retryable) == ("engine_error", False)
    assert "4 attempts" in bad.reason


@pytest.mark.parametrize(
    "conduct", ["401", "403", "404", "302", "429::insufficient_quota", "400::model_not_found", "400::unsupported_parameter", "500"]
)
def test_what_no_draw_can_get_over_ends_the_worker_and_declares_no_item_failed(conduct):
    with StubServer(lambda *_: conduct) as server:
        made = ask(server, KEYS[:3], attempts=2)
    assert {type(g) for g in made} == {EngineDeadError}


def test_a_server_that_went_away_ends_the_worker():
    async def main():
        server = StubServer()
        engine = OpenAIEngine(OpenAIOptions(base_url=server.url, model="stub", attempts=2))
        await engine.open()
        server.close()
        try:
            with pytest.raises(EngineDeadError, match="2 attempts"):
                await engine.generate(Request("k", 7, Sampling(), messages=({"role": "user", "content": "x"},)))
        finally:
            await engine.close()

    asyncio.run(main())


def test_a_shuffle_of_all_misconducts_ends_in_one_right_generation_a_draw():
    draws = random.Random(5)
    conducts = ["ok", "late", "429:0.01", "500", "reset", "cut", "garbage", "twice", "close"]
    keys = [f"draw {k}" for k in range(300)]
    with StubServer(lambda *_: draws.choice(conducts)) as server:
        made = ask(server, keys, attempts=30)
    assert [g.text for g in made] == keys
    assert server.most <= 32


def test_the_key_comes_from_the_environment_and_goes_nowhere_else(monkeypatch):
    monkeypatch.setenv("STUB_KEY", "secret-123")
    with StubServer(lambda *_: "400") as server:
        [made] = ask(server, ["a"], api_key_env="STUB_KEY")
    assert server.calls[0]["authorization"] == "Bearer secret-123"
    assert "secret" not in repr(made)
    monkeypatch.delenv("STUB_KEY")
    with pytest.raises(RefusedRunError, match="STUB_KEY is not set"):
        OpenAIEngine(OpenAIOptions(base_url="http://127.0.0.1:1/v1", model="m", api_key_env="STUB_KEY"))


@pytest.mark.parametrize(("options", "reason"), [
    ({"model": "other"}, "serves no other"),
    ({"base_url": "http://127.0.0.1:1/v1"}, "no answer"),
    ({"base_url": "http://user:pw@127.0.0.1/v1"}, "base_url"),
    ({"base_url": "ftp://x"}, "base_url"),
    ({"in_flight": "many"}, "in_flight"),
    ({"temprature": "1"}, "temprature"),
])  # fmt: skip
def test_what_cannot_work_is_refused_before_anything_is_claimed(options, reason):
    with StubServer() as server, pytest.raises(RefusedRunError, match=reason):
        ask(server, ["a"], **options)


def test_what_is_sent_and_what_is_kept():
    sampling = Sampling(temperature=0.5, top_p=0.9, top_k=20, max_tokens=9, stop=("END",), schema={"type": "object"})
    with StubServer() as server:
        [made] = ask(server, ["abc"], sampling, token_ids=True)
        [bare] = ask(server, ["abc"])
    sent = server.calls[0]
    assert (sent["temperature"], sent["top_p"], sent["top_k"], sent["max_tokens"], sent["stop"], sent["seed"]) == (
        0.5,
        0.9,
        20,
        9,
        ["END"],
        7,
    )
    assert sent["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert "min_p" not in sent
    assert (made.token_ids, made.logprobs, made.prompt_token_ids) == ((97, 98, 99), (-0.5,) * 3, (1, 2, 3))
    assert (made.prompt_tokens, made.cached_tokens, made.completion_tokens) == (3, 1, 3)
    assert (made.raw["model"], made.raw["system_fingerprint"]) == ("stub-1", "fp")
    assert (bare.token_ids, bare.logprobs) == (None, None)  # which token a figure belongs to is not known: null, never 0.0


def test_a_prompt_of_tokens_goes_to_completions():
    options = OpenAIOptions(base_url="http://h/v1", model="m", schema_by="structured_outputs", max_tokens_field="max_completion_tokens")
    path, body = body_of(Request("k", 1, Sampling(schema={}), prompt_token_ids=(5, 6)), options)
    assert (path, body["prompt"], body["structured_outputs"], body["max_completion_tokens"]) == ("/completions", [5, 6], {"json": {}}, 512)
    assert body["logprobs"] == 0


def chat(**choice):
    import json

    return json.dumps({"choices": [{"finish_reason": "stop", "message": {"content": "ab"}} | choice]}).encode()


@pytest.mark.parametrize(("data", "field", "value"), [
    (chat(token_ids=[1, 2], logprobs={"content": [{"logprob": -1.0}, {"logprob": -9999.0}]}), "logprobs", None),
    (chat(token_ids=[1, 2], logprobs={"content": [{"logprob": -1.0}]}), "logprobs", None),
    (chat(token_ids=[1, 2], logprobs={"content": [{"logprob": 1e-7}, {"logprob": -2}]}), "logprobs", (0.0, -2.0)),
    (chat(token_ids=[1, -2]), "token_ids", None),
    (chat(token_ids=[1, True]), "token_ids", None),
    (chat(message={"content": None, "refusal": "no"}), "text", ""),
    (chat(finish_reason="content_filter"), "failure_class", "engine_error"),
    (chat(finish_reason="abort"), "failure_class", "aborted"),
    (chat(finish_reason="length"), "finish_reason", "length"),
])  # fmt: skip
def test_a_reply_is_read_for_no_more_than_it_says(data, field, value):
    assert getattr(read_reply(data), field) == value


@pytest.mark.parametrize("data", [
    b"", b"null", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{}]}', b"[" * 100_000, chat(finish_reason=None), chat(finish_reason="odd"),
    chat(message={"content": 5}), chat(message=None), b'{"choices": [{"finish_reason": "stop", "text": "a"}, {"finish_reason": "stop", "text": "b"}]}',
])  # fmt: skip
def test_a_body_that_is_no_reply_is_malformed(data):
    with pytest.raises(ReplyError):
        read_reply(data)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("2", 2.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("inf", 3600.0),
        ("soon", None),
        (None, None),
        ("", None),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(header, seconds):
    assert seconds_of(header) == seconds
