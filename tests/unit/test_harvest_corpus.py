from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import zstandard

from schemas.errors import InputRefusedError
from udfs.harvest.corpus import harvest

LIMIT = 25
FILES = ("python_reference.jsonl.gz", "stdlib_api.jsonl.zst", "licences.parquet")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    summary = harvest(folder, limit=LIMIT)
    return folder, summary


def _rows(folder: Path) -> dict[str, list[dict]]:
    gz = gzip.decompress((folder / FILES[0]).read_bytes()).decode().splitlines()
    zst = zstandard.ZstdDecompressor().decompressobj().decompress((folder / FILES[1]).read_bytes()).decode().splitlines()
    return {
        FILES[0]: list(map(json.loads, gz)),
        FILES[1]: list(map(json.loads, zst)),
        FILES[2]: pq.read_table(folder / FILES[2]).to_pylist(),
    }


def test_every_file_opens_and_holds_what_the_summary_says(corpus):
    folder, summary = corpus
    rows = _rows(folder)
    assert {name: len(items) for name, items in rows.items()} == summary.documents
    assert summary.documents[FILES[0]] == LIMIT
    assert summary.total == sum(summary.documents.values())
    for items in rows.values():
        assert len({item["id"] for item in items}) == len(items)
        assert [item["id"] for item in items] == sorted(item["id"] for item in items)
        assert all(item["text"].strip() and item["title"] and item["license"] for item in items)


def test_a_second_harvest_gives_the_same_bytes(corpus, tmp_path):
    folder, _ = corpus
    harvest(tmp_path / "again", limit=LIMIT)
    for name in FILES:
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_a_file_in_the_way_is_refused(tmp_path):
    target = tmp_path / "corpus"
    target.write_text("x")
    with pytest.raises(InputRefusedError, match="is a file"):
        harvest(target)
