"""Files of lines in ranges: the same records and line numbers, whatever the ranges."""

from __future__ import annotations

import gzip
import json

import pytest

from jobs.config import load_config
from udfs.readers.arrow import line_batches, parts_table
from udfs.readers.files import list_files
from udfs.readers.parts import Part, counted_range, cut, line_feeds, numbered
from udfs.readers.read import read, splits

CONF = load_config().ingest

FILES = {
    "records": b"".join(json.dumps({"text": "x" * at}).encode() + b"\n" for at in range(1, 60)),
    "no line feed at the end": b'{"text": "a"}\n{"text": "b"}',
    "byte order mark": b'\xef\xbb\xbf{"text": "a"}\n{"text": "b"}\n' * 3,
    "blank lines": b'{"text": "a"}\n\n\n   \n\r\n{"text": "b"}\n\n',
    "broken lines": b'{"text": "a"}\nno json\n{"text": "b"\n{"text": "\xff"}\n{"text": "c"}\n',
    "one long line": b'{"text": "' + b"y" * 300 + b'"}\n{"text": "b"}\n',
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("step", [1, 7, 14, 64, 1000])
def test_parts_give_what_the_whole_gives(tmp_path, name, step):
    path = tmp_path / "x"
    path.write_bytes(FILES[name])
    assert splits(path) == "lines"
    parts = cut(len(FILES[name]), step)
    with path.open("rb") as file:
        parts = numbered(parts, [line_feeds(file, *counted_range(part)) for part in parts])
    found = [item for part in parts for item in read(path, CONF, relative="r", part=part)]
    assert found == list(read(path, CONF, relative="r"))


def test_only_archives_and_plain_lines_are_split(tmp_path):
    for data in (gzip.compress(FILES["records"]), b"prose", b"", bytes(100)):
        (tmp_path / "x").write_bytes(data)
        assert splits(tmp_path / "x") is None
    assert splits(tmp_path / "gone") is None


def test_ranges_cover_every_byte_once():
    assert cut(10, 4) == [Part(0, 4), Part(4, 8), Part(8, 10)]
    assert cut(8, 4) == [Part(0, 4), Part(4, 8)]


def test_executors_count_line_feeds(tmp_path):
    (tmp_path / "x").write_bytes(b"a\nb\nc\n")
    (file,) = list_files([tmp_path / "x"])
    (batch,) = line_batches(parts_table([(file, "", part) for part in cut(6, 2)]).to_batches())
    # Bytes 0, 1-2 and 3-4: the line feeds at 1 and 3; the one at 5 ends the last line.
    assert batch["line"].to_pylist() == [0, 1, 1]
