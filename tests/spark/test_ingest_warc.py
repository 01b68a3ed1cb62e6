"""ingest_corpus on web archives and large files: the same documents whatever the number of tasks."""

from __future__ import annotations

import json

import pytest

from jobs import ingest_corpus
from jobs.ingest import manifest as manifest_module
from jobs.ingest import ranges as ranges_module
from schemas.bronze.documents import DOCUMENTS
from schemas.bronze.rejects import REJECTS
from tests.warc_files import PACKINGS, conversion, crawl, page, response
from udfs.readers.parts import cut

pytestmark = pytest.mark.spark


@pytest.fixture
def archives(tmp_path):
    """A crawl plain and packed, one with damage in the middle, one that holds an archive, and JSONL."""
    root = tmp_path / "web"
    root.mkdir()
    (root / "a.warc").write_bytes(PACKINGS["plain"](crawl(15)))
    (root / "b.warc.gz").write_bytes(PACKINGS["gzip each"](crawl(15, 1)))
    broken = bytearray(PACKINGS["gzip each"](crawl(15, 2)))
    broken[len(broken) // 2 : len(broken) // 2 + 50] = bytes(50)
    (root / "broken.warc.gz").write_bytes(bytes(broken))
    inner = response("http://inner/", b"".join(conversion(f"http://inner/{at}", f"inner {at}") for at in range(60)), "application/warc")
    (root / "nested.warc").write_bytes(b"".join([response("http://n/0", page("before")), inner, response("http://n/1", page("after"))]))
    (root / "lines.jsonl").write_bytes(b"".join(json.dumps({"text": f"line {at}", "k": at}).encode() + b"\n" for at in range(300)) + b"x\n")
    return root


def content(ctx):
    """Everything of both tables but the clock."""
    return [
        sorted((tuple(sorted(row.items(), key=str)) for row in ctx.lake.delta(table).to_pyarrow_table().to_pylist()), key=str)
        for table in (DOCUMENTS, REJECTS)
    ]


def test_the_size_of_a_split_changes_nothing(make_context, archives, monkeypatch, caplog):
    whole = make_context(name="whole")
    first = ingest_corpus.run(whole, [archives])
    split = make_context("ingest.split_mb=1", name="split")
    seen = []

    def in_small_ranges(size, _step):
        seen.append(size)
        return cut(size, 6000)

    # A mebibyte is the smallest setting, and far too much for a test: here everything is larger than a split, and a split is 6 kB.
    monkeypatch.setattr(ranges_module, "cut", in_small_ranges)
    monkeypatch.setattr(ranges_module, "MEBIBYTE", 1)
    second = ingest_corpus.run(split, [archives])
    assert len(seen) >= 5
    assert first.scope == second.scope
    assert first.counts == second.counts
    assert content(whole) == content(split)
    assert "nested.warc" in caplog.text
    assert "read whole" in caplog.text
    reasons = second.counts["rejects"]
    assert reasons["not_text"] == 1
    assert reasons["corrupt_gzip"] >= 1
    assert reasons["not_json"] == 1
    assert first.counts["documents"] + sum(reasons.values()) == first.counts["input"]


def test_the_split_is_no_part_of_the_id(make_context):
    one, other = (make_context(f"ingest.split_mb={size}", name=f"w{size}", with_spark=False) for size in (1, 512))
    assert manifest_module.ingest_id_of([], [], one.config.ingest) == manifest_module.ingest_id_of([], [], other.config.ingest)


def test_every_archive_beside_the_checkout(make_context, shared_data):
    ctx = make_context()
    report = ingest_corpus.run(ctx, [shared_data / "warc"])
    rows = ctx.lake.delta(DOCUMENTS).to_pyarrow_table().to_pylist()
    # Of pages that two archives hold under one address, and of the WET text that comes plain and packed, the first one is kept.
    assert sorted({row["uri"] for row in rows}) == [
        "http://example.com/", "http://example.com?example=1", "http://www.iana.org/", "https://an.wikipedia.org/wiki/Escopete",
    ]  # fmt: skip
    assert report.counts["input"] == report.counts["documents"] + sum(report.counts["rejects"].values())
    # 4 + 2 + 3 + 5 + 3 + 3 of the six WARC files, 2 of WAT, 1 + 1 of WET: warcinfo, request, metadata, revisit.
    assert report.counts["rejects"] == {"bad_encoding": 1, "duplicate_record": 2, "http_status": 1, "not_document": 24}
    assert all(json.loads(row["metadata"])["warc_type"] in ("response", "conversion") for row in rows)
