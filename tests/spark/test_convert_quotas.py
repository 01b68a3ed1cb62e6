"""Quotas of conversion over a real lake: which documents a step asks about, when it ends, and that nothing is asked twice."""

from __future__ import annotations

from collections import Counter

import pytest

from jobs import admit_tasks, convert_corpus
from jobs.rounds import note_state
from jobs.views.funnel import read_funnel
from jobs.views.quotas import CellFill, quota_cells
from jobs.views.reader import LakeReader
from schemas.bronze.documents import DOCUMENTS as RECEIVED
from schemas.ids import content_id
from schemas.silver.conversions import CONVERSIONS
from schemas.silver.documents import DOCUMENTS
from schemas.silver.qa import QA
from tests import chain_model
from tests.openai_server import StubServer
from tests.spark.test_convert_chain import again, settings
from tests.spark.test_handoff_jobs import checksums, fill, rows

pytestmark = pytest.mark.spark

#: Two sources: of the bridges of one we know how long they are, of those of the other since when they stand.
SOURCES = {"spans": slice(0, 1), "openings": slice(1, 2)}
EACH = 6
CELL = "technology/date"


def documents():
    made = []
    for at, (source, facts) in enumerate(SOURCES.items()):
        for k in range(at * EACH, (at + 1) * EACH):
            ident, text = content_id("bridge", k), chain_model.bridge(k, facts=facts)
            made.append({
                "doc_id": ident, "ingest_id": "one", "source": source, "uri": f"u{k}", "title": None, "text": text, "n_chars": len(text), "metadata": "{}",
                "cluster_id": ident, "split": "train",
            })  # fmt: skip
    return made


@pytest.fixture
def server():
    with StubServer(says=chain_model.answer) as stub:
        yield stub


def quotas(server, per_cell, *overrides):
    """At most four documents a step."""
    wished = [
        f"convert.quotas.per_cell={per_cell}",
        "convert.quotas.documents=4",
        f'convert.quotas.cells=["{CELL}"]',
        "work.workers=1",
    ]
    return settings(server, *wished, *overrides)


def filled(make_context, server, per_cell, *overrides, name="ws", order=1):
    ctx = make_context(*quotas(server, per_cell, *overrides), name=name)
    fill(ctx, RECEIVED, "one", documents()[::order])
    fill(ctx, DOCUMENTS, "one", documents()[::order])
    return ctx


def step(ctx, closes=None):
    """One step: conversion and admission, and a round closed before it."""
    if closes is not None:
        note_state(ctx, closes, "closed", policy_id="p", fingerprint=f"f{closes}")
    report = convert_corpus.run(ctx, "one")
    admit_tasks.run(ctx, "one")
    return report


def asked(ctx):
    """Documents asked about so far, by source."""
    sources = {document["doc_id"]: document["source"] for document in documents()}
    passed_over = {row["doc_id"] for row in rows(ctx, CONVERSIONS) if (row["state"], row["reason"]) == ("unasked", "quota")}
    return Counter(source for doc_id, source in sources.items() if doc_id not in passed_over)


class DiedError(Exception):
    """A process that ended in the middle."""


def dies(*_):
    raise DiedError


def test_weak_cells_decide_which_documents_are_asked_about_and_when_it_ends(make_context, server, monkeypatch):
    ctx = filled(make_context, server, 6)
    first = step(ctx)
    # Nothing is known yet: both sources are tried alike. A document of one fact costs four calls.
    assert asked(ctx) == {"spans": 2, "openings": 2}
    assert len(server.calls) == 4 * 4
    assert {name: first.counts[name] for name in ("input", "with_items", "unasked", "waiting", "quota_new")} == {
        "input": 12, "with_items": 4, "unasked": 8, "waiting": 0, "quota_new": 4,
    }  # fmt: skip
    funnel = read_funnel(ctx.workspace)
    assert not [item for item in funnel.sums if item.station.startswith("convert") and not item.holds]
    assert next(item.parts for item in funnel.sums if item.station == "convert: filter") == {"passed": 4, "unasked: quota": 8}
    # The same step again asks nothing.
    assert not step(ctx).did
    assert len(server.calls) == 16
    # Two of six are there; openings yield (2 + 4/2)/(2 + 4) = 2/3 a document, spans (0 + 4/2)/6 = 1/3: of four documents 2.67 and 1.33.
    # The run dies when everything is written and the ledger knows nothing; what it chose is chosen again.
    with monkeypatch.context() as patch:
        patch.setattr(convert_corpus, "_counts", dies)
        with pytest.raises(DiedError):
            step(ctx, closes=1)
    second = step(ctx)
    assert second.counts["quota_lacking"] == {CELL: 4}
    assert asked(ctx) == {"spans": 3, "openings": 5}
    assert len(server.calls) == 16 + 16
    made = checksums(ctx, QA, CONVERSIONS)
    # Five are wished for, and there: whatever rounds are closed, nothing more is asked, and nothing is written.
    enough = again(ctx, *quotas(server, 5))
    report = step(enough, closes=2)
    assert not report.did
    assert (report.counts["quota_new"], report.counts["quota_lacking"]) == (0, {CELL: 0})
    assert (len(server.calls), checksums(enough, QA, CONVERSIONS)) == (32, made)
    cells = quota_cells(LakeReader(ctx.lake), enough.config.convert.quotas, ctx.config.plan.band)
    assert cells == [CellFill(CELL, 5, 5, 0)]
    # Another workspace with other shards, which nothing disturbs: the same rows.
    other = filled(make_context, server, 6, "convert.docs_per_shard=1", name="other", order=-1)
    step(other)
    note_state(other, 1, "closed", policy_id="p", fingerprint="f1")
    convert_corpus.run(other, "one")
    assert checksums(other, QA, CONVERSIONS) == made
