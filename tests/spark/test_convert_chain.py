"""convert_corpus with a model: the real hand-off, workers as processes, a server on loopback that answers as a model would."""

from __future__ import annotations

import json
from collections import Counter

import pyarrow as pa
import pytest

from jobs import convert_corpus
from jobs.config import load_config
from jobs.context import JobContext
from jobs.convert.audits import AuditFileError
from jobs.convert.budget import BudgetReachedError
from jobs.views.conversion import conversion_costs
from jobs.views.funnel import read_funnel
from schemas.bronze.documents import DOCUMENTS as RECEIVED
from schemas.bronze.replies import REPLIES
from schemas.ids import content_id
from schemas.silver.conversions import CONVERSIONS
from schemas.silver.documents import DOCUMENTS
from schemas.silver.judge_audits import JUDGE_AUDITS
from schemas.silver.qa import QA
from tests import chain_model
from tests.conftest import NOW
from tests.lake_rows import filled as filled_row
from tests.openai_server import StubServer
from tests.spark.test_handoff_jobs import checksums, fill, rows, the_run

pytestmark = pytest.mark.spark

#: Of five documents one is junk, and one has questions that the checker finds lacking.
WORDS = ["", "", chain_model.JUNK, chain_model.DOUBTFUL, ""]
CALLS = 4 * 6 + 1


def documents():
    return [
        {
            "doc_id": content_id("bridge", k), "ingest_id": "one", "source": "bridges", "uri": f"u{k}", "title": None, "text": chain_model.bridge(k, word),
            "metadata": "{}", "cluster_id": content_id("bridge", k), "split": "train",
        }
        for k, word in enumerate(WORDS)
    ]  # fmt: skip


@pytest.fixture
def server():
    with StubServer(says=chain_model.answer) as stub:
        yield stub


def settings(server, *overrides):
    options = f'{{ openai = {{ base_url = "{server.url}", in_flight = 8 }} }}'
    return ["convert.engine=openai", "convert.model=stub", f"work.engine_options={options}", *overrides]


def filled(make_context, server, *overrides, name="ws", order=1):
    """A context on a lake with the documents of one ingest."""
    ctx = make_context(*settings(server, *overrides), name=name)
    shared = [{name: document[name] for name in ("doc_id", "ingest_id", "source", "uri", "text")} for document in documents()]
    received = pa.Table.from_pylist([filled_row(RECEIVED, **document) for document in shared], schema=RECEIVED.schema)
    with ctx.open("seed.received", "slice=one", reads={}, writes={RECEIVED: "one"}) as job:
        job.write(RECEIVED, lambda: ctx.spark.createDataFrame(received))
    fill(ctx, DOCUMENTS, "one", documents()[::order])
    return ctx


def again(ctx, *overrides):
    """The same lake under other settings."""
    return JobContext(ctx.workspace, load_config(ctx.workspace.root, overrides=overrides), now=NOW, session=ctx.spark)


def test_every_document_and_candidate_has_one_state_a_stage_and_nothing_is_paid_twice(make_context, server):
    ctx = filled(make_context, server, "convert.docs_per_shard=2")
    report = convert_corpus.run(ctx, "one")
    assert len(server.calls) == CALLS == len(rows(ctx, REPLIES))
    assert {name: report.counts[name] for name in ("input", "with_items", "without_items", "failed", "waiting", "items")} == {
        "input": 5, "with_items": 4, "without_items": 1, "failed": 0, "waiting": 0, "items": 8,
    }  # fmt: skip
    assert report.counts["item_states"] == {"not_grounded": 2, "passed": 6}
    states = Counter((row["stage"], row["state"]) for row in rows(ctx, CONVERSIONS))
    assert states == {
        ("filter", "passed"): 4, ("filter", "rejected"): 1, ("identify", "passed"): 4, ("generate", "passed"): 8, ("evidence", "passed"): 8,
        ("check", "passed"): 6, ("check", "rejected"): 2,
    }  # fmt: skip
    funnel = read_funnel(ctx.workspace)
    assert [s.station for s in funnel.sums if s.station.startswith("convert") and s.holds] == [
        "convert: filter", "convert: identify", "convert: generate", "convert: evidence", "convert: check",
    ]  # fmt: skip
    assert not convert_corpus.run(ctx, "one").did
    # Another workspace with other shards, one worker: the same rows. What bronze.replies holds of the clock aside.
    other = filled(make_context, server, "work.workers=1", name="other", order=-1)
    convert_corpus.run(other, "one")
    assert checksums(ctx, REPLIES, QA, CONVERSIONS) == checksums(other, REPLIES, QA, CONVERSIONS)
    # A checker of another name is asked anew; filter, identify and generate are not.
    before = len(server.calls)
    convert_corpus.run(again(ctx, *settings(server, 'convert.models={ check = "careful" }')), "one")
    assert Counter(call["model"] for call in server.calls[before:]) == {"careful": 8}
    assert len(rows(ctx, REPLIES)) == CALLS + 8


def test_replay_comes_to_the_same_bytes_without_a_server_and_prices_change_without_calls(make_context, server):
    ctx = filled(make_context, server)
    convert_corpus.run(ctx, "one")
    made = checksums(ctx, QA, CONVERSIONS)
    asked = len(server.calls)
    replay = again(ctx, "convert.engine=replay", "convert.model=stub")
    assert convert_corpus.run(replay, "one").did
    assert checksums(replay, QA, CONVERSIONS) == made
    assert conversion_costs(ctx.workspace).price == 0.0
    # The stub counts 3 prompt tokens a call, one of them cached, and a token a byte of its reply.
    priced = again(ctx, *settings(server, "convert.prices={ stub = { prompt = 2.0, cached = 1.0, completion = 3.0 } }"))
    convert_corpus.run(priced, "one")
    replied = sum(len(row["reply"].encode()) for row in rows(ctx, REPLIES))
    assert conversion_costs(ctx.workspace).price == pytest.approx((CALLS * (2 * 2.0 + 1 * 1.0) + replied * 3.0) / 1e6, abs=1e-12)
    assert checksums(ctx, QA) == made[:1]
    assert len(server.calls) == asked


def test_a_spent_budget_takes_in_what_was_paid_and_a_larger_one_goes_on(make_context, server):
    prices = "convert.prices={ stub = { prompt = 1000.0, completion = 1000.0 } }"
    small = filled(make_context, server, prices, "convert.budget=3.5", "work.workers=1")
    with pytest.raises(BudgetReachedError, match=r"is spent; [1-5] documents wait") as told:
        convert_corpus.run(small, "one")
    assert told.value.exit_code == 4
    asked = len(server.calls)
    assert 0 < asked < CALLS
    held = rows(small, REPLIES)
    assert len(held) == asked
    assert sum(row["price"] for row in held) <= 3.5
    assert {row["doc_id"] for row in rows(small, CONVERSIONS)} == {content_id("bridge", k) for k in range(5)}
    with pytest.raises(BudgetReachedError):  # saying it again asks nothing
        convert_corpus.run(small, "one")
    assert len(server.calls) == asked
    report = convert_corpus.run(again(small, *settings(server, prices, "convert.budget=100.0")), "one")
    assert (report.counts["waiting"], report.counts["items"]) == (0, 8)
    assert len(server.calls) == CALLS == len(rows(small, REPLIES))


def test_replies_of_a_run_that_was_never_taken_in_are_not_paid_again(make_context, server, monkeypatch):
    ctx = filled(make_context, server)

    class DiedError(Exception):
        pass

    def dies(*_):
        raise DiedError

    with monkeypatch.context() as patch:
        patch.setattr(convert_corpus, "delivered", dies)
        with pytest.raises(DiedError):
            convert_corpus.run(ctx, "one")
    assert (len(server.calls), len(rows(ctx, REPLIES))) == (CALLS, 0)
    run = the_run(ctx, "convert")
    # Another recipe is another run; of the first one only its files know.
    report = convert_corpus.run(again(ctx, *settings(server, "convert.chain.max_personas=1")), "one")
    identified = 4  # the prompt says how many readers are wanted
    assert len(server.calls) == CALLS + identified
    assert report.counts["items"] == 4
    assert run.plan.run_id not in {row["run_id"] for row in rows(ctx, REPLIES)}
    assert len(rows(ctx, REPLIES)) == 5 + identified + 4 * 2


def test_the_checker_is_audited_blind_in_every_conversion(make_context, server, tmp_path):
    passage = chain_model.bridge(70)
    good = {
        "question": "How long is the main span of the Arden70 Bridge?",
        "answer": "270 metres",
        "passage": passage,
        "label": "good",
        "domain": "technology",
    }
    bad = {
        "question": "Which river does it cross?",
        "answer": "Sel70",
        "passage": chain_model.bridge(71, chain_model.DOUBTFUL),
        "label": "bad",
        "domain": "technology",
    }
    path = tmp_path / "audit.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in (good, bad)), "utf-8")
    ctx = filled(make_context, server, f'convert.audit="{path}"', "convert.audit_share=0.4")
    convert_corpus.run(ctx, "one")
    # Two labelled ones, and 0.4 x 5 spoiled twins of the good one; the model of the test calls bad only what is doubtful.
    audits = rows(ctx, JUDGE_AUDITS)
    assert Counter((row["label"], row["verdict"]) for row in audits) == {
        ("good", "passed"): 1,
        ("bad", "rejected"): 1,
        ("bad", "passed"): 2,
    }
    assert {row["flaw"] for row in audits} <= {None, "labelled", "answer_altered", "answer_verbatim", "answer_swapped"}
    assert {row["model"] for row in audits} == {"stub@"}
    asked = [call for call in server.calls if passage.split("\n")[0] in call["messages"][-1]["content"]]
    real = [call for call in server.calls if chain_model.bridge(0).split("\n")[0] in call["messages"][-1]["content"]]
    shapes = {
        json.dumps({**call, "messages": [m["content"].split("```")[0] for m in call["messages"]], "seed": 0}, sort_keys=True)
        for call in real
    }
    assert len(asked) == 3
    for call in asked:  # in form a check like any other
        assert (
            json.dumps({**call, "messages": [m["content"].split("```")[0] for m in call["messages"]], "seed": 0}, sort_keys=True) in shapes
        )
    # They are no documents: neither candidates nor states speak of them.
    assert len(rows(ctx, QA)) == 8
    assert {row["doc_id"] for row in rows(ctx, CONVERSIONS)} == {content_id("bridge", k) for k in range(5)}
    before = len(server.calls)
    assert not convert_corpus.run(ctx, "one").did
    fill(
        ctx, DOCUMENTS, "two", [{**documents()[4], "doc_id": content_id("bridge", 90), "ingest_id": "two", "text": chain_model.bridge(90)}]
    )
    convert_corpus.run(ctx, "two")
    assert len(server.calls) == before + 6 + 3
    assert Counter(row["ingest_id"] for row in rows(ctx, JUDGE_AUDITS)) == {"one": 4, "two": 3}


def test_a_file_of_audits_is_refused_with_every_wrong_line(make_context, server, tmp_path):
    path = tmp_path / "audit.jsonl"
    path.write_text('{"question": "q"}\nnot json\n{"question": "q", "answer": "a", "passage": "p", "label": "fine"}\n', "utf-8")
    ctx = filled(make_context, server, f'convert.audit="{path}"')
    with pytest.raises(AuditFileError, match=r"line 1: .*line 2: .*line 3: ") as told:
        convert_corpus.run(ctx, "one")
    assert told.value.exit_code == 2
    assert server.calls == []
