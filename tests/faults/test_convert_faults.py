"""Workers of conversion that are killed, and a server that misbehaves: every call is paid once, but for those in flight at a death."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter

import pytest

from schemas.handoff import CONVERT_SHARD
from tests import chain_model
from tests.engine_runs import lay_run
from tests.faults.handoff_runs import committed_rows, convert_item, start, work
from tests.openai_server import StubServer
from udfs.conversion.recipe import Recipe

pytestmark = pytest.mark.faults

#: Calls about a document: filter, identify, and for each of two readers generate and check.
CALLS, IN_FLIGHT = 6, 8


def lay(folder, shards=3, documents=8):
    items = {
        f"s{s}": [convert_item(k, chain_model.bridge(k), title=None) for k in range(s * documents, (s + 1) * documents)]
        for s in range(shards)
    }
    settings = {
        "model": "stub", "models": {stage: ["stub", ""] for stage in ("filter", "identify", "generate", "check")}, "recipe": Recipe().to_settings(),
        "prices": {},
    }  # fmt: skip
    return lay_run(
        folder, "convert", "openai", items, CONVERT_SHARD, settings, round=None, policy_id=None, lease_seconds=2.0, max_attempts=6
    )


def options(server, in_flight=IN_FLIGHT, **further):
    given = {"base_url": server.url, "in_flight": in_flight, **further}
    return [part for key, value in given.items() for part in ("--engine-option", f"{key}={value}")]


def told(rows):
    """What replies say, whoever brought them and when."""
    kept = (
        "doc_id",
        "request_hash",
        "stage",
        "ordinal",
        "reask",
        "reply",
        "failure_class",
        "prompt_tokens",
        "completion_tokens",
        "template",
        "model",
    )
    return sorted(json.dumps({name: row[name] for name in kept}, sort_keys=True) for row in rows)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    with StubServer(says=chain_model.answer) as server:
        run = lay(tmp_path_factory.mktemp("undisturbed"))
        assert work(run, *options(server))[0] == 0
        assert len(server.calls) == 24 * CALLS
    return told(committed_rows(run))


#: What the suite tries, and what `make soak` tries as well.
INSTANTS = [
    "reply_received:20",
    *(pytest.param(name, marks=pytest.mark.soak) for name in ("reply_recorded:20", "part_flushed:2", "before_commit", "after_commit")),
]


@pytest.mark.parametrize("instant", INSTANTS)
def test_a_worker_killed_at_an_instant_costs_at_most_what_was_in_flight(tmp_path, undisturbed, instant):
    with StubServer(says=chain_model.answer, delay=0.005) as server:
        run = lay(tmp_path)
        assert work(run, *options(server), kill_at=instant)[0] == -signal.SIGKILL
        assert work(run, *options(server))[0] == 0
        repeated = len(server.calls) - 24 * CALLS
    assert told(committed_rows(run)) == undisturbed
    assert 0 <= repeated <= IN_FLIGHT


@pytest.mark.parametrize("killed", [3, pytest.param(20, marks=pytest.mark.soak)])
def test_random_deaths_on_a_server_that_misbehaves_cost_at_most_what_was_in_flight_at_each(tmp_path, undisturbed, killed):
    """Deaths at moments of the clock; a reply that the server cut, withheld or refused was not paid for and is not counted."""
    draw = random.Random(7)
    conducts = ["ok"] * 12 + ["429:0.01", "500", "cut", "garbage", "reset", "late"]
    with StubServer(lambda n, _: conducts[n % len(conducts)], says=chain_model.answer, delay=0.01) as server:
        run, deaths = lay(tmp_path), 0
        while deaths < killed:
            process = start(run, *options(server), worker_id=f"w{deaths}")
            before = sum(server.answered.values())
            deadline = time.monotonic() + 20
            # Into the work, not into its start: some calls must have been answered.
            while sum(server.answered.values()) < before + draw.randint(5, 25) and time.monotonic() < deadline and process.poll() is None:
                time.sleep(0.005)
            process.kill()
            process.communicate()
            deaths += 1
        code, _, errors = work(run, *options(server))
        assert (code, [e for e in errors if e["event"] == "item_failed"]) == (0, [])
        paid = Counter(server.answered)
    assert told(committed_rows(run)) == undisturbed
    assert len(paid) == 24 * CALLS
    assert sum(paid.values()) - 24 * CALLS <= deaths * IN_FLIGHT


def test_a_stalled_call_is_given_up_and_asked_again(tmp_path, undisturbed):
    """The server hangs for an hour on every fortieth call; a client that waits a second for an attempt is through in a few."""
    with StubServer(lambda n, _: "stall" if n % 40 == 0 else "ok", says=chain_model.answer) as server:
        run = lay(tmp_path)
        assert work(run, *options(server, attempt_seconds=1.0))[0] == 0
    assert told(committed_rows(run)) == undisturbed
