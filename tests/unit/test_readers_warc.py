"""Web archives: every record a document or a reject at its place, whatever is broken around it."""

from __future__ import annotations

import gzip
import io
import json
import random
import zlib

import pytest
import zstandard
from fastwarc.stream_io import BrotliWriter
from fastwarc.warc import ArchiveIterator

from jobs.config import load_config
from tests.warc_files import PACKINGS, conversion, crawl, damaged, http, page, record, response, texts
from udfs.readers.parts import Reached, cut, joined
from udfs.readers.read import read, splits
from udfs.readers.record import REASONS, Record, Reject
from udfs.readers.sniff import sniff

CONF = load_config().ingest


def read_bytes(tmp_path, data, **changes):
    path = tmp_path / "data.bin"
    path.write_bytes(data)
    return list(read(path, CONF.model_copy(update=changes), relative="d/data"))


def one(tmp_path, data, **changes):
    (item,) = read_bytes(tmp_path, data, **changes)
    return item


@pytest.mark.parametrize("packing", PACKINGS)
def test_every_packing_gives_the_same_documents(tmp_path, packing):
    items = read_bytes(tmp_path, PACKINGS[packing](crawl(7)))
    documents = [item for item in items if isinstance(item, Record)]
    assert [item.uri for item in documents] == [f"http://example.org/{at}" for at in range(7)]
    assert [item.title for item in documents] == [f"Title {at}" for at in range(7)]
    assert all(item.text.startswith(f"Page {at}. word") for at, item in enumerate(documents))
    assert [item.reason for item in items if isinstance(item, Reject)] == ["not_document"] * 15  # warcinfo, 7 requests, 7 metadata
    positions = [item.position for item in items]
    assert positions == sorted(set(positions))


def test_a_position_is_the_offset_of_the_record_or_of_its_member(tmp_path):
    records = crawl(3)
    for packing, packed in (("plain", records), ("gzip each", [gzip.compress(item, mtime=0) for item in records])):
        starts = [sum(map(len, packed[:at])) for at in range(len(packed))]
        assert [item.position for item in read_bytes(tmp_path, PACKINGS[packing](records))] == starts
    # In one member: its offset plus the ordinal.
    assert [item.position for item in read_bytes(tmp_path, PACKINGS["one gzip"](records))] == list(range(10))


@pytest.mark.parametrize("packing", ["plain", "gzip each", "one gzip"])
def test_frames_are_those_of_fastwarc(tmp_path, packing):
    from udfs.readers.warc.frames import Archive

    path = tmp_path / "x"
    path.write_bytes(PACKINGS[packing](crawl(20)))
    with path.open("rb") as file:
        ours = [
            (frame.headers["warc-type"], frame.headers.get("warc-target-uri"), frame.block) for frame in Archive(file, 1 << 20).frames()
        ]
    with path.open("rb") as file:
        theirs = [
            (str(found.record_type), found.headers.get("WARC-Target-URI"), found.reader.read())
            for found in ArchiveIterator(file, parse_http=False)
        ]
    assert ours == theirs


def test_what_is_kept_of_a_record(tmp_path):
    data = record(
        "response", http(page("Words.", "A  title\n here"), Content_Language="en"), "<http://x/>",
        Content_Type="application/http; msgtype=response", WARC_Payload_Digest="sha1:ABC",
    )  # fmt: skip
    item = one(tmp_path, data)
    assert (item.position, item.uri, item.title, item.text, item.licence) == (0, "http://x/", "A title here", "Words.", None)
    facts = json.loads(item.metadata)
    assert facts.pop("record_id").startswith("<urn:uuid:response-")
    assert facts == {
        "charset": "utf-8", "charset_from": "header", "date": "2026-01-02T03:04:05Z", "extracted": "main", "http_status": 200,
        "language": "en", "mime": "text/html", "payload_digest": "sha1:ABC", "warc_type": "response",
    }  # fmt: skip


def test_a_wet_record_is_its_text(tmp_path):
    item = one(tmp_path, conversion("http://x/", "Zeile eins\n\nZwei: <b>kein HTML</b> äöü"))
    assert (item.uri, item.title, item.text) == ("http://x/", None, "Zeile eins\n\nZwei: <b>kein HTML</b> äöü")


def test_a_record_without_an_address_has_its_place(tmp_path):
    assert one(tmp_path, record("conversion", b"text", None, Content_Type="text/plain")).uri == "d/data#W0"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (response("http://x/", b"{}", "application/json"), "not_text"),
        (response("http://x/", b"body { }", "text/css"), "not_text"),
        (response("http://x/", b"\x89PNG\r\n\x1a\n123", "image/png"), "not_text"),
        (response("http://x/", b"\x89PNG\r\n\x1a\n123", "text/html"), "not_text"),
        (response("http://x/", b"%PDF-1.4 ...", "text/plain"), "not_text"),
        (response("http://x/", b"<p>looks like HTML", "application/octet-stream"), "not_text"),
        (response("http://x/", b"no type at all", None), "not_text"),
        (response("http://x/", page("gone"), status="404 Not Found"), "http_status"),
        (response("http://x/", b"", status="301 Moved", Location="http://y/"), "http_status"),
        (response("http://x/", b""), "empty_text"),
        (response("http://x/", b"<html><script>1</script></html>"), "empty_text"),
        (record("response", b"not HTTP", "http://x/", Content_Type="application/http"), "bad_http"),
        (record("response", b"200 OK", "dns:x", Content_Type="text/dns"), "not_text"),
        (response("http://x/", b"no chunks", Transfer_Encoding="chunked"), "bad_chunking"),
        (response("http://x/", b"5\r\nhello\r\n", Transfer_Encoding="chunked"), "bad_chunking"),
        (response("http://x/", b"ff\r\nhello\r\n0\r\n\r\n", Transfer_Encoding="chunked"), "bad_chunking"),
        (response("http://x/", b"3\r\nhello\r\n0\r\n\r\n", Transfer_Encoding="chunked"), "bad_chunking"),
        (response("http://x/", page("plain"), Content_Encoding="gzip"), "bad_encoding"),
        (response("http://x/", gzip.compress(page("cut"), mtime=0)[:-12], Content_Encoding="gzip"), "bad_encoding"),
        (response("http://x/", b"...", Content_Encoding="nonesuch"), "bad_encoding"),
        (response("http://x/", bytes(range(128, 256)) * 20, "text/plain; charset=utf-8"), "bad_charset"),
        (response("http://x/", b"text \0 with NUL", "text/plain"), "nul_bytes"),
        (record("metadata", b"{}", "http://x/", Content_Type="application/json"), "not_document"),
        (record("revisit", http(b""), "http://x/"), "not_document"),
    ],
)  # fmt: skip
def test_what_is_no_document_is_one_reject_and_the_next_record_is_read(tmp_path, data, reason):
    assert reason in REASONS
    for pack in (PACKINGS["plain"], PACKINGS["gzip each"], PACKINGS["one zstd"]):
        bad, good = read_bytes(tmp_path, pack([data, conversion("http://y/", "the next one")]))
        assert (bad.position, getattr(bad, "reason", bad)) == (0, reason)
        assert bad.detail
        assert good.text == "the next one"


def test_statuses_are_a_setting(tmp_path):
    data = response("http://x/", page("gone"), status="404 Not Found")
    assert one(tmp_path, data, http_status=("2xx", "404")).text == "gone"
    assert one(tmp_path, response("http://x/", page("created"), status="201 Created"), http_status=("200",)).reason == "http_status"


def test_all_of_a_page_is_a_setting(tmp_path):
    item = one(tmp_path, response("http://x/", page("Body.")), html_text="page")
    assert (item.text.split(), json.loads(item.metadata)["extracted"]) == (["Home", "Body."], "page")


def brotli(data):
    out = io.BytesIO()
    with BrotliWriter(out) as writer:
        writer.write(data)
    return out.getvalue()


@pytest.mark.parametrize(
    ("fields", "payload"),
    [
        ({"Transfer_Encoding": "chunked"}, b"6;ext=1\r\n<p>The\r\n7\n words.\r\n0\r\nTrailer: x\r\n\r\n"),
        ({"Content_Encoding": "gzip"}, gzip.compress(b"<p>The words.", mtime=0)),
        ({"Content_Encoding": "deflate"}, zlib.compress(b"<p>The words.")),
        ({"Content_Encoding": "deflate"}, zlib.compress(b"<p>The words.")[2:-4]),
        ({"Content_Encoding": "zstd"}, zstandard.compress(b"<p>The words.")),
        ({"Content_Encoding": "br"}, brotli(b"<p>The words.")),
        ({"Content_Encoding": "deflate, gzip"}, gzip.compress(zlib.compress(b"<p>The words."), mtime=0)),
    ],
)
def test_encodings_of_http(tmp_path, fields, payload):
    assert one(tmp_path, response("http://x/", payload, **fields)).text == "The words."


def test_a_payload_that_the_crawler_cut_is_taken_as_far_as_it_goes(tmp_path):
    block = http(b"ff\r\n<p>The words", Transfer_Encoding="chunked")
    item = one(tmp_path, record("response", block, "http://x/", Content_Type="application/http", WARC_Truncated="length"))
    assert (item.text, json.loads(item.metadata)["truncated"]) == ("The words", "length")


class TestDamage:
    GOOD = staticmethod(lambda at: conversion(f"http://x/{at}", f"record {at}"))

    @pytest.mark.parametrize(
        ("length", "reason"),
        [(3, "bad_length"), (500, "bad_length"), (10**12, "bad_length"), (10**30, "bad_header"), (-1, "bad_header")],
    )
    @pytest.mark.parametrize("packing", ["plain", "one gzip", "gzip each"])
    def test_a_wrong_length_costs_one_record(self, tmp_path, length, reason, packing):
        bad = record("conversion", b"twelve bytes", "http://bad/", length=length, Content_Type="text/plain")
        items = read_bytes(tmp_path, PACKINGS[packing]([self.GOOD(0), bad, self.GOOD(2), self.GOOD(3)]))
        if length == 10**12 and packing != "plain":
            # Inside one stream such a record cannot be passed over and come back to: it is told as too long.
            assert texts(items)[:2] == ["record 0", "too_long"]
            assert texts(items)[2:] == ([] if packing == "one gzip" else ["record 2", "record 3"])
            return
        if packing == "gzip each" and length == 500:
            reason = "truncated_record"  # nothing else lies in its member
        assert texts(items) == ["record 0", reason, "record 2", "record 3"]
        assert items[1].first_bytes == bad[:200]

    def test_a_length_that_eats_only_line_ends_is_forgiven(self, tmp_path):
        sloppy = record("conversion", b"text", "http://x/", length=6, Content_Type="text/plain")
        assert [text.strip() for text in texts(read_bytes(tmp_path, sloppy + self.GOOD(1)))] == ["text", "record 1"]

    def test_no_line_ends_between_records_are_forgiven(self, tmp_path):
        data = b"".join(self.GOOD(at).removesuffix(b"\r\n\r\n") for at in range(3))
        assert texts(read_bytes(tmp_path, data)) == ["record 0", "record 1", "record 2"]

    @pytest.mark.parametrize("packing", ["plain", "gzip each", "zstd each"])
    def test_noise_between_records_is_one_reject(self, tmp_path, packing):
        pack = PACKINGS[packing]
        data = pack([self.GOOD(0)]) + b"noise, no record\n" * 30 + b"\n" + pack([self.GOOD(1)])
        items = read_bytes(tmp_path, data)
        assert texts(items) == ["record 0", "corrupt_warc", "record 1"]
        assert items[1].position == len(pack([self.GOOD(0)]))

    def test_a_header_without_end_is_bounded(self, tmp_path):
        endless = b"WARC/1.0\r\nWARC-Type: response\r\n" + b"X: y\r\n" * 100_000 + b"\r\n\r\n"
        assert texts(read_bytes(tmp_path, self.GOOD(0) + endless + self.GOOD(1))) == ["record 0", "bad_header", "record 1"]

    @pytest.mark.parametrize("packing", ["plain", "gzip each", "zstd each"])
    def test_a_cut_archive_gives_every_record_before_the_cut(self, tmp_path, packing):
        records = [self.GOOD(at) for at in range(4)]
        whole = PACKINGS[packing](records)
        last = len(PACKINGS[packing](records[:3]))
        for keep in range(last + 20, len(whole) - 4, 7):
            items = read_bytes(tmp_path, whole[:keep])
            assert texts(items[:3]) == ["record 0", "record 1", "record 2"]
            (cut_off,) = items[3:]
            assert cut_off.position == last
            assert cut_off.reason == {"plain": "truncated_record", "gzip each": "truncated_gzip", "zstd each": "truncated_zstd"}[packing]

    @pytest.mark.parametrize("at", range(5))
    def test_a_damaged_member_costs_one_record(self, tmp_path, at):
        members = [bytearray(gzip.compress(self.GOOD(n), mtime=0)) for n in range(5)]
        members[at][len(members[at]) // 2] ^= 0xFF
        items = read_bytes(tmp_path, b"".join(members))
        assert texts(items) == [("corrupt_gzip" if n == at else f"record {n}") for n in range(5)]
        assert items[at].position == sum(map(len, members[:at]))

    def test_a_wrong_checksum_costs_one_record(self, tmp_path):
        members = [bytearray(gzip.compress(self.GOOD(n), mtime=0)) for n in range(3)]
        members[1][-6] ^= 1
        assert texts(read_bytes(tmp_path, b"".join(members))) == ["record 0", "corrupt_gzip", "record 2"]

    def test_one_damaged_stream_gives_what_came_before(self, tmp_path):
        data = bytearray(PACKINGS["one gzip"](crawl(100)))
        data[len(data) // 2] ^= 0xFF
        items = read_bytes(tmp_path, bytes(data))
        assert items[-1].reason in ("corrupt_gzip", "truncated_gzip", "bad_length", "corrupt_warc")
        assert sum(isinstance(item, Record) for item in items) > 40

    def test_an_archive_without_its_front(self, tmp_path):
        data = self.GOOD(0) + self.GOOD(1) + self.GOOD(2)
        assert texts(read_bytes(tmp_path, data[20:])) == ["corrupt_warc", "record 1", "record 2"]
        packed = PACKINGS["gzip each"]([self.GOOD(at) for at in range(3)])
        assert texts(read_bytes(tmp_path, packed[:30] + packed[40:])) == ["corrupt_gzip", "record 1", "record 2"]

    def test_a_zstd_archive_with_its_dictionary(self, tmp_path):
        samples = [conversion(f"http://x/{at}", f"sample {at} " * 20) for at in range(200)]
        dictionary = zstandard.train_dictionary(2048, samples)
        raw = dictionary.as_bytes()
        packer = zstandard.ZstdCompressor(dict_data=dictionary)
        data = b"\x5d\x2a\x4d\x18" + len(raw).to_bytes(4, "little") + raw + b"".join(packer.compress(self.GOOD(at)) for at in range(3))
        assert texts(read_bytes(tmp_path, data)) == ["record 0", "record 1", "record 2"]


class TestBounds:
    @pytest.mark.parametrize("packing", ["plain", "gzip each", "one gzip", "zstd each"])
    def test_a_record_over_the_limit_is_passed_over(self, tmp_path, packing):
        records = [conversion("http://x/0", "a"), conversion("http://x/1", "b" * 100_000), conversion("http://x/2", "c")]
        items = read_bytes(tmp_path, PACKINGS[packing](records), max_document_bytes=50_000)
        assert texts(items) == ["a", "too_long", "c"]

    def test_a_payload_that_unpacks_to_more_than_the_limit(self, tmp_path):
        bomb = gzip.compress(bytes(50 << 20))
        for fields in ({"Content_Encoding": "gzip"}, {"Content_Encoding": "gzip, gzip"}):
            payload = bomb if fields["Content_Encoding"] == "gzip" else gzip.compress(bomb)
            items = read_bytes(
                tmp_path, response("http://x/", payload, **fields) + conversion("http://y/", "next"), max_document_bytes=1 << 20
            )
            assert texts(items) == ["too_long", "next"]


def in_parts(path, step):
    size = path.stat().st_size
    items, reached = [], []
    for part in cut(size, step):
        items.extend(read(path, CONF, relative="x", part=part, told=reached.append))
    return items, joined(reached, size)


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("step", [41, 1000, 20_000])
def test_parts_give_what_the_whole_gives(tmp_path, packing, step):
    path = tmp_path / "x"
    path.write_bytes(PACKINGS[packing](crawl(8)))
    assert splits(path) == "records"
    items, fit = in_parts(path, step)
    # In a mixed file a record may follow a packed one without a line end: the parts may be told not to fit, but never differ unseen.
    assert fit or packing == "mixed"
    assert not fit or items == list(read(path, CONF, relative="x"))


@pytest.mark.parametrize("seed", range(12))
def test_parts_of_damaged_archives_give_the_same_or_are_told_not_to_fit(tmp_path, seed):
    rng = random.Random(seed)
    path = tmp_path / "x"
    for packing in ("plain", "gzip each", "gzip by three", "zstd each"):
        path.write_bytes(damaged(PACKINGS[packing](crawl(8, seed)), rng))
        if splits(path) != "records":
            continue
        whole = list(read(path, CONF, relative="x"))
        assert any(isinstance(item, Record) for item in whole)
        positions = [item.position for item in whole]
        assert positions == sorted(set(positions))
        for step in (97, 3000):
            items, fit = in_parts(path, step)
            assert not fit or items == whole, packing


def test_an_archive_within_the_archive_is_told_not_to_fit(tmp_path):
    # Stored, not packed: the inner records look like records, but belong to one payload.
    inner = b"".join(crawl(30, 7))
    path = tmp_path / "x"
    path.write_bytes(b"".join([*crawl(2), response("http://x/inner.warc", inner, "application/warc"), *crawl(2, 5)]))
    whole = texts(read(path, CONF, relative="x"))
    assert whole.count("not_text") == 1
    assert len(whole) == 15
    items, fit = in_parts(path, 4000)
    assert len(items) > 15
    assert not fit


def test_parts_fit_only_where_each_ends_where_the_next_begins():
    assert joined([Reached(0, 50, 30), Reached(None, None, -1), Reached(50, 90, 70)], 90)
    assert not joined([Reached(0, 50, 30), Reached(60, 90, 70)], 90)
    assert not joined([Reached(0, 50, 30), Reached(50, 80, 70)], 90)
    assert not joined([Reached(0, 50, 55), Reached(50, 90, 70)], 90)
    assert joined([], 0)


class TestSniff:
    def test_by_content_not_by_name(self, tmp_path):
        for packing in PACKINGS:
            path = tmp_path / "pages.jsonl"
            path.write_bytes(PACKINGS[packing](crawl(2)))
            assert sniff(path).kind == "warc", packing

    def test_prose_about_archives_is_prose(self, tmp_path):
        path = tmp_path / "x.warc"
        path.write_bytes(b"How a record begins:\n\nWARC/1.0\nWARC-Type: response\nContent-Length: 3\n\nand so on.\n")
        assert sniff(path).kind == "text"


def test_every_archive_beside_the_checkout(shared_data):
    found = {}
    for path in sorted((shared_data / "warc").iterdir()):
        items = list(read(path, CONF))
        assert list(map(type, items)).count(Record) + list(map(type, items)).count(Reject) == len(items)
        found[path.name] = [item.text[:14] if isinstance(item, Record) else item.reason for item in items]
    other = "not_document"
    assert found == {
        "example-bad.warc.gz.bad": [other, "Example Domain", other, other, other, "http_status"],
        "example-iana.org-chunked.warc": [other, "Internet Assig", other],
        # Two bytes of its packed page are missing.
        "example-trunc.warc": [other, other, "bad_encoding", other],
        "example.warc.gz": [other, other, "Example Domain", other, other, other],
        "whirlwind.warc": [other, other, "Escopete\n\nDe B", other],
        "whirlwind.warc.gz": [other, other, "Escopete\n\nDe B", other],
        "whirlwind.warc.wat.gz": [other, other],
        "whirlwind.warc.wet": [other, "Escopete - Biq"],
        "whirlwind.warc.wet.gz": [other, "Escopete - Biq"],
    }
