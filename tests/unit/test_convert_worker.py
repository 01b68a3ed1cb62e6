"""Program ``convert`` with a model: against a server on loopback that answers as a model would, and misbehaves on order."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from gpu_workers.programs.program import Origin
from gpu_workers.programs.registry import build_program
from schemas.budget import BUDGET, Allowance
from schemas.handoff import CONVERT_SHARD, EARLIER, PART_SCHEMAS
from tests import chain_model
from tests.engine_runs import lay_run
from tests.faults.handoff_runs import convert_item
from tests.openai_server import StubServer
from udfs.conversion.recipe import Recipe
from udfs.replies.outcomes import Pricing, outcome
from udfs.store.parts import judge_rows
from udfs.store.replies import recorded, replies_name
from udfs.store.run import to_bytes

NOW = datetime(2026, 1, 2, tzinfo=UTC)
RECIPE = Recipe()
#: Calls about a document that passes: filter, identify, and for each of two readers generate and check.
CALLS = 6


def settings(**given):
    stages = ("filter", "identify", "generate", "check")
    models = dict.fromkeys(stages, ("stub", "")) | given.pop("models", {})
    return {"model": "stub", "models": models, "recipe": RECIPE.to_settings(), "prices": {}, **given}


def documents(n, word=""):
    return [convert_item(k, chain_model.bridge(k, word), title=None) for k in range(n)]


def convert(run, server=None, attempt=1, **options):
    """Rows of every document, as one attempt at the run's one shard makes them."""
    given = {"base_url": server.url, "in_flight": "8", **options} if server else {}
    program = build_program(run, given, lambda: NOW)
    items = run.shard_items("s0").to_pylist()
    finished = list(program.generate(items, Origin("w", attempt, "s0"), lambda _: None))
    assert sorted(f.key for f in finished) == sorted(item["doc_id"] for item in items)
    return [row for f in finished for row in f.rows]


def lay(folder, items, engine="openai", **given):
    return lay_run(folder, "convert", engine, {"s0": items}, CONVERT_SHARD, settings(**given), round=None, policy_id=None)


def came_of(items, rows, **prices):
    """Rows of silver.qa and silver.conversions, as the job that takes replies in makes them."""
    made = []
    for item in items:
        document = {
            **{name: item[name] for name in ("ingest_id", "doc_id", "source", "uri", "title", "text", "metadata")},
            "cluster_id": "c",
            "split": "train",
        }
        answered = document | {"replies": [row for row in rows if row["doc_id"] == item["doc_id"]]}
        made.append(outcome(answered, Pricing.from_settings({"recipe": RECIPE.to_settings(), "prices": prices})))
    return [row for qa, _ in made for row in qa], [row for _, states in made for row in states]


def stable(rows):
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)


def test_every_document_goes_through_the_chain_and_every_reply_is_a_row(tmp_path):
    items = [*documents(3), convert_item(8, chain_model.bridge(8, chain_model.JUNK)), convert_item(9, "")]
    run = lay(tmp_path, items)
    with StubServer(says=chain_model.answer) as server:
        rows = convert(run, server)
    # Junk and the empty document end at the filter; a title such as pkg.f9 is no text.
    assert Counter(row["stage"] for row in rows) == {"filter": 5, "identify": 3, "generate": 6, "check": 6}
    assert len({row["request_hash"] for row in rows}) == len(rows) == len(server.calls)
    qa, states = came_of(items, rows)
    assert [(row["answer"], row["answer_type"], row["filter_reason"]) for row in qa if row["doc_id"] == "d1"] == [
        ("201", "number", None), ("1801", "date", None),
    ]  # fmt: skip
    for row in qa:
        text = next(item["text"] for item in items if item["doc_id"] == row["doc_id"])
        assert text[row["answer_start"] : row["answer_end"]] == row["answer"]
    assert {(s["stage"], s["state"], s["reason"]) for s in states if s["doc_id"] == "d8"} == {("filter", "rejected", "not_informative")}
    whole = run.shard_items("s0")
    assert (
        judge_rows(
            run.plan, dict.fromkeys(whole.column("doc_id").to_pylist(), 1), pa.Table.from_pylist(rows, schema=PART_SCHEMAS["convert"])
        )
        is None
    )


def as_earlier(rows):
    """Replies as the shards of a later run carry them."""
    names = [EARLIER.field(i).name for i in range(EARLIER.num_fields)]
    return [{name: row[name] for name in names} for row in rows]


def test_what_an_earlier_run_paid_for_is_not_asked_again_and_replay_needs_no_server(tmp_path):
    items = documents(4)
    with StubServer(says=chain_model.answer) as server:
        first = convert(lay(tmp_path / "first", items), server)
        assert len(server.calls) == 4 * CALLS
        carried = [{**item, "earlier": as_earlier([row for row in first if row["doc_id"] == item["doc_id"]])} for item in items]
        again = convert(lay(tmp_path / "again", carried), server)
        assert len(server.calls) == 4 * CALLS
        # A fifth document is asked about; a stage with another model is asked again, and what follows from equal replies is not.
        convert(lay(tmp_path / "more", [*carried, *documents(5)[4:]]), server)
        assert len(server.calls) == 5 * CALLS
        convert(lay(tmp_path / "checked", carried, models={"check": ("other", "")}), server)
        assert len(server.calls) == 5 * CALLS + 4 * 2
        assert {call["model"] for call in server.calls[5 * CALLS :]} == {"other"}
    replayed = convert(lay(tmp_path / "replayed", carried, engine="replay"))
    for rows in (again, replayed):
        assert sorted(row["request_hash"] for row in rows) == sorted(row["request_hash"] for row in first)
        assert tuple(map(stable, came_of(items, rows))) == tuple(map(stable, came_of(items, first)))


def test_replay_declares_what_was_never_recorded(tmp_path):
    items = documents(2)
    rows = convert(lay(tmp_path, items, engine="replay"))
    assert [(row["doc_id"], row["failure_class"], row["model"]) for row in rows] == [("d0", "aborted", None), ("d1", "aborted", None)]
    qa, states = came_of(items, rows)
    assert (qa, [(s["stage"], s["state"]) for s in states]) == ([], [("filter", "failed")] * 2)


def test_a_reply_is_written_down_before_it_is_used_and_a_later_attempt_asks_for_the_rest(tmp_path):
    items = documents(2)
    run = lay(tmp_path, items)

    def dies_at_the_checks(body):
        if "grounded" in body["response_format"]["json_schema"]["schema"]["properties"]:
            return "not json"
        return chain_model.answer(body)

    with StubServer(says=dies_at_the_checks) as server:
        rows = convert(run, server)
        written = list(recorded(run.store, ("s0",)))
        # Each check was asked a second time, because the first reply could not be read.
        assert Counter((row["stage"], row["reask"]) for row in written) == {
            ("filter", 0): 2, ("identify", 0): 2, ("generate", 0): 4, ("check", 0): 4, ("check", 1): 4,
        }  # fmt: skip
        assert stable(rows) == stable(written)
        assert [s["reason"] for s in came_of(items, rows)[1] if s["stage"] == "check"] == ["reply:malformed"] * 4
        before = len(server.calls)
        assert stable(convert(run, server, attempt=2)) == stable(rows)
        assert len(server.calls) == before
    # A line that a death cut is no reply: that call alone is asked again.
    name = replies_name("s0", 1)
    run.store.put(name, run.store.read(name)[:-20])
    with StubServer(says=dies_at_the_checks) as server:
        convert(run, server, attempt=3)
        assert len(server.calls) == 1


def test_an_item_that_is_given_up_keeps_what_was_paid_for_it(tmp_path):
    items = documents(1)
    run = lay(tmp_path, items)
    with StubServer(says=chain_model.answer) as server:
        convert(run, server)
        program = build_program(run, {"base_url": server.url}, lambda: NOW)
        rows = program.failed(run.shard_items("s0").to_pylist()[0], Origin("w", 2, "s0"), "poison", "it killed two attempts").rows
    assert Counter(row["failure_class"] for row in rows) == {None: CALLS, "poison": 1}


@pytest.mark.parametrize("bad", ["429:0.01", "500", "reset", "cut", "garbage", "twice", "same id", "close", "late"])
def test_a_server_that_misbehaves_every_third_time_is_paid_once_a_call(tmp_path, bad):
    items = documents(6)
    with StubServer(lambda n, _: bad if n % 3 == 0 else "ok", says=chain_model.answer) as server:
        rows = convert(lay(tmp_path, items), server)
        paid = Counter(server.answered)
    assert len(rows) == 6 * CALLS
    assert not [row for row in rows if row["failure_class"]]
    # The second answer to a call is no second call; and where two replies cannot be told apart, the later one is asked for again.
    if bad not in ("twice", "same id"):
        assert set(paid.values()) == {1}
    assert len(paid) == 6 * CALLS
    qa, _ = came_of(items, rows)
    assert Counter(row["filter_reason"] for row in qa) == {None: 12}


def test_a_call_that_the_server_refuses_fails_and_the_others_go_on(tmp_path):
    items = documents(3)
    with StubServer(lambda _, body: "400" if "Arden1 " in body["messages"][-1]["content"] else "ok", says=chain_model.answer) as server:
        rows = convert(lay(tmp_path, items), server)
    assert [(row["doc_id"], row["stage"], row["failure_class"]) for row in rows if row["failure_class"]] == [
        ("d1", "filter", "prompt_invalid")
    ]
    assert {s["doc_id"]: s["state"] for s in came_of(items, rows)[1] if s["stage"] == "filter"} == {
        "d0": "passed",
        "d1": "failed",
        "d2": "passed",
    }


class TestBudget:
    """Prices of 1,000 a million tokens: a token costs 10^-3. The stub counts 3 prompt tokens (1 of them cached) and a token a byte of reply."""

    PRICES = {"stub": {"prompt": 1000.0, "cached": 100.0, "completion": 1000.0}}  # noqa: RUF012

    def laid(self, folder, money, n=6):
        run = lay(folder, documents(n), prices=self.PRICES)
        run.store.put(BUDGET, to_bytes(Allowance(epoch="e", nanos=round(money * 1e9))))
        return run

    def test_prices_are_of_what_the_server_told(self, tmp_path):
        run = self.laid(tmp_path, 1e6, n=1)
        with StubServer(says=chain_model.answer) as server:
            rows = convert(run, server)
        for row in rows:
            # 2 tokens at 10^-3, 1 at 10^-4, and a token a byte of the reply
            assert row["price"] == pytest.approx(0.002 + 0.0001 + len(row["reply"].encode()) / 1000, abs=1e-12)
        _, states = came_of(documents(1), rows, **self.PRICES)
        assert sum(s["price_nanos"] for s in states) == round(sum(row["price"] for row in rows) * 1e9)
        # Another table prices the same replies anew.
        _, dearer = came_of(documents(1), rows, stub={"prompt": 2000.0, "cached": 200.0, "completion": 2000.0})
        assert sum(s["price_nanos"] for s in dearer) == 2 * sum(s["price_nanos"] for s in states)

    def test_no_call_begins_that_the_budget_may_not_cover_and_what_was_paid_is_kept(self, tmp_path):
        # A call may cost 1,024 tokens of reply and a token a byte of prompt: some 3 to 5 at these prices.
        run = self.laid(tmp_path / "small", 4.0)
        with StubServer(says=chain_model.answer) as server:
            rows = convert(run, server)
            asked = len(server.calls)
        spent = sum(row["price"] for row in rows)
        assert 0 < asked < 6 * CALLS
        assert 0.0 < spent <= 4.0
        assert {row["failure_class"] for row in rows} == {None, "budget"}
        assert stable(row for row in rows if row["model"]) == stable(recorded(run.store))
        qa, states = came_of(documents(6), rows)
        assert {s["state"] for s in states} >= {"unasked"}
        assert {s["doc_id"] for s in states} == {f"d{k}" for k in range(6)}
        # With more money the rest is asked, and nothing twice.
        items = [
            {**item, "earlier": as_earlier([r for r in rows if r["doc_id"] == item["doc_id"] and r["model"]])} for item in documents(6)
        ]
        more = lay(tmp_path / "more", items, prices=self.PRICES)
        with StubServer(says=chain_model.answer) as server:
            whole = convert(more, server)
            assert len(server.calls) == 6 * CALLS - asked
        assert Counter(row["failure_class"] for row in whole) == {None: 6 * CALLS}
        assert len(came_of(documents(6), whole)[0]) == 12 > len(qa)

    def test_two_workers_never_spend_a_slice_twice(self, tmp_path):
        from concurrent.futures import ThreadPoolExecutor

        run = self.laid(tmp_path, 20.0)
        with StubServer(says=chain_model.answer, delay=0.002) as server, ThreadPoolExecutor(2) as pool:
            # The same shard, as two attempts that do not know of each other: every call may be asked by both.
            both = list(pool.map(lambda attempt: convert(run, server, attempt), (1, 2)))
        assert sum(row["price"] for rows in both for row in rows) <= 20.0

    def test_an_allowance_is_cut_without_remainder(self):
        allowance = Allowance(epoch="e", nanos=1_000_003)
        assert sum(map(allowance.slice_nanos, range(256))) == 1_000_003
