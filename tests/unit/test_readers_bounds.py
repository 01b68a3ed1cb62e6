"""Huge and strange input: a verdict for each, in bounded time and memory."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.config import load_config
from tests.warc_files import conversion, http, page, record, response, texts
from udfs.readers.html import MAX_TAGS, TooManyTagsError, extract
from udfs.readers.read import read

CONF = load_config().ingest

MEASURED = """
import resource, sys, time
from jobs.config import load_config
from udfs.readers.read import read
conf = load_config().ingest
list(read(sys.argv[2], conf))
before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
items = list(read(sys.argv[1], conf))
print([getattr(i, "reason", "record") for i in items], time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def measured(path):
    """Reasons, seconds of one core, and by how many MiB a process of its own grew."""
    small = path.with_name("small")
    small.write_bytes(response("http://x/", page("words")))
    done = subprocess.run([sys.executable, "-c", MEASURED, str(path), str(small)], check=True, capture_output=True, text=True, timeout=120)
    reasons, seconds, grown = done.stdout.strip().rsplit(" ", 2)
    return reasons, float(seconds), int(grown) // 1024


def zeros(gigabytes, head):
    """A gzip member of ``head`` and so many gigabytes of zeros: one packed piece, repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    piece = packer.compress(bytes(1 << 26)) + packer.flush(zlib.Z_FULL_FLUSH)
    # The checksum behind it is wrong, which whoever stops in time does not see.
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + start + piece * (16 * gigabytes) + zlib.compressobj(9, zlib.DEFLATED, -15).flush() + bytes(8)


@pytest.mark.parametrize("length", [10 << 30, 1000])
def test_a_member_of_ten_gigabytes_of_zeros_ends_early_and_the_next_record_is_read(tmp_path, length):
    head = record("conversion", b"", "http://bomb/", length=length, Content_Type="text/plain").removesuffix(b"\r\n\r\n")
    path = tmp_path / "x"
    path.write_bytes(b"".join([gzip.compress(conversion("http://a/", "a")), zeros(10, head), gzip.compress(conversion("http://b/", "b"))]))
    reasons, seconds, grown = measured(path)
    # The short length is right as far as anyone can see: a thousand zeros, and zeros behind them.
    bomb = ["too_long"] if length > 1000 else ["nul_bytes", "compression_bomb"]
    assert reasons == str(["record", *bomb, "record"])
    assert grown < 64
    assert seconds < 10


@pytest.mark.parametrize("head", [b"", b"<html><body>"])
def test_a_page_that_http_packs_a_thousandfold_is_bounded(tmp_path, head):
    payload = gzip.compress(head + bytes(100 << 20))
    path = tmp_path / "x"
    path.write_bytes(response("http://bomb/", payload, Content_Encoding="gzip") + conversion("http://b/", "b"))
    reasons, _, grown = measured(path)
    assert reasons == "['too_long', 'record']"
    assert grown < 300  # twice the limit of 64 MiB, and the buffer's growth


@pytest.mark.parametrize("tag", ["div", "b", "table", "article", "x-y"])
def test_a_page_nested_a_hundred_thousand_deep_takes_no_longer_than_its_size(tag):
    opened = f"<{tag}>x " * 100_000
    found = extract(f"<title>T</title>{opened}", "main")
    assert found.title == "T"
    assert found.text.replace("\n", " ").split().count("x") == 100_000 if tag != "table" else found.text


def test_a_page_of_too_many_elements_is_refused():
    with pytest.raises(TooManyTagsError):
        extract("<p>" * (MAX_TAGS + 1), "main")


def test_five_million_words_are_a_document_as_page_text_line_and_wet(tmp_path):
    words = "word " * 5_000_000
    files = {
        "page.warc": response("http://x/", b"<html><p>" + words.encode() + b"</p></html>"),
        "text.wet": conversion("http://x/", words),
        "line.jsonl": json.dumps({"text": words}).encode(),
        "prose.txt": words.encode(),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        (item,) = read(tmp_path / name, CONF)
        assert len(item.text.split()) == 5_000_000, name


def test_one_line_of_fifty_megabytes(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"text": "' + b"x" * (50 << 20) + b'"}\n{"text": "next"}\n')
    long, after = read(path, CONF)
    assert (len(long.text), after.text, after.position) == (50 << 20, "next", 2)
    small = CONF.model_copy(update={"max_document_bytes": 1 << 20})
    long, after = read(path, small)
    assert (long.reason, len(long.first_bytes), after.text) == ("too_long", 200, "next")


def test_files_of_nul_bytes(tmp_path):
    path = tmp_path / "x"
    for data in (bytes(1 << 20), gzip.compress(bytes(1 << 20)), bytes(100)):
        path.write_bytes(data)
        (item,) = read(path, CONF)
        assert item.reason in ("binary", "nul_bytes")
    path.write_bytes(conversion("http://a/", "a") + bytes(1 << 20) + conversion("http://b/", "b"))
    assert texts(read(path, CONF)) == ["a", "b"]  # zeros between records are padding


def test_ten_thousand_empty_documents(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b'{"text": ""}\n' * 10_000)
    assert [item.reason for item in read(path, CONF)] == ["empty_text"] * 10_000
    pq.write_table(pa.table({"text": [""] * 5000 + [None] * 5000}), path)
    assert [item.reason for item in read(path, CONF)] == ["empty_text"] * 5000 + ["null_text"] * 5000
    empty = conversion("http://x/", "")
    for data in (empty * 10_000, gzip.compress(empty) * 10_000, gzip.compress(empty * 10_000)):
        path.write_bytes(data)
        items = list(read(path, CONF))
        assert [item.reason for item in items] == ["empty_text"] * 10_000
        assert len({item.position for item in items}) == 10_000


def test_a_parquet_file_with_a_text_column_of_nothing(tmp_path):
    path = tmp_path / "x"
    pq.write_table(pa.table({"text": pa.array([None, None], pa.null()), "id": [1, 2]}), path)
    assert [item.reason for item in read(path, CONF)] == ["null_text", "null_text"]


def test_many_records_that_claim_too_much_cost_no_more_than_they_hold(tmp_path):
    # Each claims the megabyte behind it. Were each block copied before it is seen to be wrong, this would take minutes.
    def claiming(at, length):
        return record("conversion", b"x" * 50, f"http://x/{at:04d}", length=length, Content_Type="text/plain")

    # All of the same size, so that no claim happens to end where a record does.
    length = 4000 * len(claiming(0, 1_000_000)) + 7
    claims = b"".join(claiming(at, length) for at in range(5000))
    path = tmp_path / "x"
    path.write_bytes(claims + conversion("http://y/", "last"))
    items = list(read(path, CONF))
    assert texts(items) == ["bad_length"] * 5000 + ["last"]


def test_a_header_line_of_megabytes_is_bounded(tmp_path):
    path = tmp_path / "x"
    long = b"WARC/1.0\r\nWARC-Type: conversion\r\nX: " + b"y" * (5 << 20) + b"\r\nContent-Length: 1\r\n\r\nz\r\n\r\n"
    block = http(b"<p>z", X="y" * (1 << 17))
    path.write_bytes(long + record("response", block, "http://x/", Content_Type="application/http") + conversion("http://y/", "last"))
    assert texts(read(path, CONF)) == ["bad_header", "bad_http", "last"]
