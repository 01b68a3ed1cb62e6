"""ingest_corpus: what lands in bronze, once, whatever the order, the place and the number of tasks."""

from __future__ import annotations

import gzip
import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from jobs import ingest_corpus
from jobs.ingest import manifest as manifest_module
from jobs.ingest.manifest import NothingReadableError
from schemas.bronze.documents import DOCUMENTS
from schemas.bronze.rejects import REJECTS
from schemas.errors import InputRefusedError
from schemas.ids import content_id

pytestmark = pytest.mark.spark


def jsonl(*rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.fixture
def corpus(tmp_path):
    """Every format once, some records broken, one record in two files."""
    root = tmp_path / "in" / "corpus"
    (root / "sub").mkdir(parents=True)
    (root / "a.jsonl").write_bytes(
        jsonl({"text": "first", "id": "1", "title": "T", "k": 1}) + b"broken\n" + jsonl({"text": "first", "id": "1"}, {"text": "third"})
    )
    (root / "b.bin").write_bytes(gzip.compress(jsonl({"text": "zipped"})) + gzip.compress(jsonl({"text": "first", "id": "1"})))
    (root / "sub" / "c.zst").write_bytes(zstandard.compress(jsonl({"text": "packed " * 50, "license": "MIT"})))
    (root / "sub" / "cut.gz").write_bytes(gzip.compress(jsonl({"text": "x"}))[:-9])
    pq.write_table(pa.table({"text": ["row", None]}), root / "d.parquet")
    (root / "e.txt").write_text("prose\n")
    (root / "empty").touch()
    return root


def rows(ctx, table):
    return ctx.lake.delta(table).to_pyarrow_table().to_pylist()


def test_every_record_is_a_document_or_a_reject(make_context, corpus, now):
    ctx = make_context()
    report = ingest_corpus.run(ctx, [corpus], source="s")
    docs = {(r["path"], r["position"]): r for r in rows(ctx, DOCUMENTS)}
    refused = {(r["path"], r["position"]): r["reason"] for r in rows(ctx, REJECTS)}
    assert sorted(docs) == [
        ("a.jsonl", 1),
        ("a.jsonl", 4),
        ("b.bin", 1),
        ("d.parquet", 0),
        ("e.txt", 0),
        ("sub/c.zst", 1),
        ("sub/cut.gz", 1),
    ]
    assert refused == {
        ("a.jsonl", 2): "not_json",
        ("a.jsonl", 3): "duplicate_record",
        ("b.bin", 2): "duplicate_record",
        ("d.parquet", 1): "null_text",
        ("empty", -1): "empty_file",
        # Its one line is whole and goes in; the checksum behind it is missing.
        ("sub/cut.gz", 2): "truncated_gzip",
    }
    assert report.counts == {
        "input": 13, "documents": 7, "files": 7,
        "rejects": {"duplicate_record": 2, "empty_file": 1, "not_json": 1, "null_text": 1, "truncated_gzip": 1},
    }  # fmt: skip
    ingest_id = report.scope.removeprefix("ingest=")
    assert docs["a.jsonl", 1] == {
        "doc_id": content_id("s", "1", "first"), "ingest_id": ingest_id, "ingest_seq": 1, "source": "s", "uri": "1", "title": "T",
        "text": "first", "licence": None, "metadata": '{"k":1}', "path": "a.jsonl", "position": 1, "fetched_at": now,
    }  # fmt: skip
    again = next(r for r in rows(ctx, REJECTS) if r["path"] == "b.bin")
    assert again["detail"] == "equal source, uri and text at a.jsonl, position 1"
    assert again["first_bytes"] == b"first"


def test_running_it_again_elsewhere_or_in_another_order_is_nothing_to_do(make_context, corpus, tmp_path):
    ctx = make_context()
    first = ingest_corpus.run(ctx, [corpus / "a.jsonl", corpus / "sub"])
    versions = [ctx.lake.delta(t).version() for t in (DOCUMENTS, REJECTS)]
    shutil.copytree(corpus, tmp_path / "moved" / "corpus")
    # No session: a repeated ingest starts no JVM.
    idle = make_context(with_spark=False)
    again = ingest_corpus.run(idle, [tmp_path / "moved" / "corpus" / "sub", tmp_path / "moved" / "corpus" / "a.jsonl"])
    assert (first.did, again.did, again.scope, again.counts) == (True, False, first.scope, first.counts)
    assert "spark" not in vars(idle)
    assert [ctx.lake.delta(t).version() for t in (DOCUMENTS, REJECTS)] == versions


def test_a_second_ingest_counts_on_and_repeats_nothing(make_context, corpus):
    ctx = make_context()
    first = ingest_corpus.run(ctx, [corpus / "a.jsonl"])
    (corpus / "a.jsonl").write_bytes((corpus / "a.jsonl").read_bytes() + jsonl({"text": "new"}))
    second = ingest_corpus.run(ctx, [corpus / "a.jsonl"])
    assert second.counts == {"input": 5, "documents": 1, "files": 1, "rejects": {"duplicate_record": 3, "not_json": 1}}
    seqs = {r["ingest_id"]: r["ingest_seq"] for r in rows(ctx, DOCUMENTS)}
    assert seqs == {first.scope.removeprefix("ingest="): 1, second.scope.removeprefix("ingest="): 2}
    keys = [r["doc_id"] for r in rows(ctx, DOCUMENTS)]
    assert len(keys) == len(set(keys)) == 3
    (detail,) = {r["detail"] for r in rows(ctx, REJECTS) if r["reason"] == "duplicate_record" and r["position"] == 4}
    assert detail == f"equal source, uri and text in ingest {first.scope.removeprefix('ingest=')}"
    assert manifest_module.ordinal_of(ctx.lake, first.scope.removeprefix("ingest=")) == 1


def test_hashing_on_the_executors_gives_the_same_id(make_context, corpus, monkeypatch):
    ctx = make_context()
    here = manifest_module.build_manifest(ctx, [str(corpus)], None)
    monkeypatch.setattr(manifest_module, "DRIVER_BYTES", 0)
    assert manifest_module.build_manifest(ctx, [str(corpus)], None) == here


class TestRefused:
    def test_a_missing_path(self, make_context, tmp_path):
        with pytest.raises(InputRefusedError, match="no such file"):
            ingest_corpus.run(make_context(with_spark=False), [tmp_path / "gone"])

    @pytest.mark.parametrize("probed", [True, False])
    def test_nothing_readable(self, make_context, tmp_path, monkeypatch, probed):
        (tmp_path / "x.jsonl").write_bytes(b'{"body": "a"}\n{"body": "b"}\n')
        ctx = make_context(with_spark=not probed)
        if not probed:
            monkeypatch.setattr(manifest_module, "PROBE_BYTES", -1)
        with pytest.raises(
            NothingReadableError, match=r"no_text \(2\).*x\.jsonl, position 1: no field 'text'; there are: 'body'"
        ) as caught:
            ingest_corpus.run(ctx, [tmp_path / "x.jsonl"])
        assert caught.value.exit_code == 3
        assert ctx.lake.commits(DOCUMENTS) == []
        assert probed is not ctx.lake.exists()

    def test_an_empty_directory(self, make_context, tmp_path):
        (tmp_path / "d" / ".hidden").mkdir(parents=True)
        with pytest.raises(NothingReadableError, match="no files in"):
            ingest_corpus.run(make_context(with_spark=False), [tmp_path / "d"])

    def test_a_file_that_changes_while_it_is_read(self, make_context, corpus, monkeypatch):
        ctx = make_context()
        build = ingest_corpus.build_manifest

        def then_change(*args):
            built = build(*args)
            (corpus / "a.jsonl").write_bytes(jsonl({"text": "other"}))
            return built

        monkeypatch.setattr(ingest_corpus, "build_manifest", then_change)
        with pytest.raises(InputRefusedError, match=r"a\.jsonl: has changed since the ingest listed it"):
            ingest_corpus.run(ctx, [corpus])
        assert ctx.lake.commits(DOCUMENTS) == []
