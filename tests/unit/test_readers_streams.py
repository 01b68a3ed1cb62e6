"""Compressed streams, files that break, and how a format is recognised."""

import gzip
import os
import random
import subprocess
import sys
import zlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from schemas.conf import Ingest
from udfs.readers.read import read
from udfs.readers.record import Record, Reject
from udfs.readers.sniff import Format, classify, sniff

CONF = Ingest(
    text_field="text", id_field="id", uri_field="url", title_field="title", licence_field="license", text_unit="file",
    max_document_bytes=1 << 26, html_text="main", http_status=("2xx",), split_mb=1,
)  # fmt: skip


def lines(n, start=0):
    """JSONL of n lines that do not pack well, so that faults fall between them."""
    rng = random.Random(start)
    return b"".join(b'{"text": "%d %x"}\n' % (i, rng.getrandbits(400)) for i in range(start, start + n))


def read_bytes(tmp_path, data, **changes):
    path = tmp_path / "data.bin"
    path.write_bytes(data)
    return list(read(path, CONF.model_copy(update=changes)))


ZIPPERS = {
    "none": lambda data: data,
    "gzip": gzip.compress,
    "gzip members": lambda data: b"".join(gzip.compress(data[i : i + 1000]) for i in range(0, len(data), 1000)),
    "gzip padded": lambda data: gzip.compress(data) + b"\0" * 500,
    "gzip empty member": lambda data: gzip.compress(b"") + gzip.compress(data) + gzip.compress(b""),
    "zstd": zstandard.compress,
    "zstd frames": lambda data: b"".join(zstandard.compress(data[i : i + 1000]) for i in range(0, len(data), 1000)),
    "zstd skippable": lambda data: b"\x50\x2a\x4d\x18\x04\0\0\0skip" + zstandard.compress(data),
    "zstd unsized": lambda data: zstandard.ZstdCompressor(write_content_size=False, write_checksum=True).compress(data),
}


@pytest.mark.parametrize("zipper", ZIPPERS)
@pytest.mark.parametrize("n", [1, 3000])
def test_every_compression_gives_the_same_records(tmp_path, zipper, n):
    data = lines(n)
    items = read_bytes(tmp_path, ZIPPERS[zipper](data))
    assert [i.position for i in items] == list(range(1, n + 1))
    assert items == read_bytes(tmp_path, data)


@pytest.mark.parametrize(("zipper", "reason"), [("gzip", "truncated_gzip"), ("zstd", "truncated_zstd")])
@pytest.mark.parametrize("keep", [0.999, 0.7])
def test_truncated_stream_gives_what_came_before(tmp_path, zipper, reason, keep):
    data = lines(6000)  # about 700 KB: several blocks of zstd
    packed = ZIPPERS[zipper](data)
    *records, fault = read_bytes(tmp_path, packed[: int(len(packed) * keep)])
    assert all(isinstance(r, Record) for r in records)
    assert len(records) >= 6000 * (keep - 0.25)  # a block of zstd is all or nothing: 128 of 700 KB
    assert (fault.reason, fault.position) == (reason, len(records) + 1)
    assert records == read_bytes(tmp_path, data)[: len(records)]


def test_truncated_gzip_gives_every_whole_line_to_the_byte(tmp_path):
    data = lines(40)
    packed = gzip.compress(data)[:-500]
    whole = zlib.decompressobj(31).decompress(packed)  # the reference: all that zlib itself can give
    *records, fault = read_bytes(tmp_path, packed)
    assert len(records) == whole.count(b"\n") > 10
    assert fault.first_bytes == whole[whole.rindex(b"\n") + 1 :][:200]


def test_only_the_trailer_missing_keeps_every_record(tmp_path):
    *records, fault = read_bytes(tmp_path, gzip.compress(lines(50))[:-8])
    assert len(records) == 50
    assert (fault.reason, fault.position, fault.first_bytes) == ("truncated_gzip", 51, b"")


def test_corrupt_gzip_in_the_middle(tmp_path):
    packed = bytearray(gzip.compress(lines(400)))
    middle = len(packed) // 2
    packed[middle : middle + 40] = b"\xff" * 40
    *records, fault = read_bytes(tmp_path, bytes(packed))
    assert fault.reason == "corrupt_gzip"
    assert len(records) > 100
    good = read_bytes(tmp_path, lines(400))
    taken = [r for r in records if isinstance(r, Record)]
    assert taken[:100] == good[:100]


def test_wrong_checksum_is_reported(tmp_path):
    packed = bytearray(gzip.compress(lines(30)))
    packed[-6] ^= 1
    *records, fault = read_bytes(tmp_path, bytes(packed))
    assert len(records) == 30
    assert fault.reason == "corrupt_gzip"


def test_garbage_after_a_member_is_reported(tmp_path):
    *records, fault = read_bytes(tmp_path, gzip.compress(lines(30)) + b"garbage")
    assert len(records) == 30
    assert fault.reason == "corrupt_gzip"


def test_corrupt_second_frame(tmp_path):
    second = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(lines(30, 30)))
    second[len(second) // 2] ^= 0xFF
    *records, fault = read_bytes(tmp_path, zstandard.compress(lines(30)) + bytes(second))
    assert len([r for r in records if isinstance(r, Record)]) >= 30
    assert fault.reason == "corrupt_zstd"


@pytest.mark.parametrize("zipper", ["gzip", "zstd"])
def test_truncated_text_file_is_no_document(tmp_path, zipper):
    packed = ZIPPERS[zipper](b"Prose without records.\n" + os.urandom(3000).hex().encode())
    (item,) = read_bytes(tmp_path, packed[:-20])
    assert item.reason == f"truncated_{zipper}"


BOMB = """
import resource, sys
from schemas.conf import Ingest
from udfs.readers.read import read
conf = Ingest(text_field="text", id_field="id", uri_field="url", title_field="title", licence_field="license", text_unit="file",
              max_document_bytes=1 << 20, html_text="main", http_status=("2xx",), split_mb=1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
items = list(read(sys.argv[1], conf))
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print([(i.position, getattr(i, "reason", "record")) for i in items], grown)
"""


@pytest.mark.parametrize("zipper", ["gzip", "zstd"])
def test_a_bomb_ends_early_and_in_little_memory(tmp_path, zipper):
    # One line of 120 MiB of spaces behind a good record: 120 KB (gzip), 12 KB (zstd).
    path = tmp_path / "bomb"
    pieces = [lines(1), *[b" " * (1 << 20)] * 120]
    if zipper == "gzip":
        with gzip.open(path, "wb") as file:
            file.writelines(pieces)
    else:
        with path.open("wb") as raw, zstandard.ZstdCompressor().stream_writer(raw) as file:
            for piece in pieces:
                file.write(piece)
    done = subprocess.run([sys.executable, "-c", BOMB, str(path)], check=True, capture_output=True, text=True)
    items, _, grown = done.stdout.strip().rpartition(" ")
    assert items == "[(1, 'record'), (2, 'compression_bomb')]"
    assert int(grown) < 48 * 1024  # KiB; the line alone would be 120 MiB


class TestParquet:
    def write(self, tmp_path, table, **options):
        path = tmp_path / "x"
        pq.write_table(table, path, **options)
        return path

    def test_rows(self, tmp_path):
        table = pa.table(
            {
                "text": ["a", None, "", "b"],
                "id": pa.array([1, 2, 3, None], pa.int64()),
                "when": pa.array([0, 1, 2, 3], pa.timestamp("us", tz="UTC")),
                "x": [float("nan"), 1.5, 1.0, float("inf")],
                "blob": [b"\xff", b"", b"", None],
                "tags": [["t"], [], [], None],
            }
        )
        first, null, empty, last = read(self.write(tmp_path, table, row_group_size=2), CONF, relative="p/x")
        assert (first.position, first.uri, first.text) == (0, "1", "a")
        assert first.metadata == '{"blob":"ff","tags":["t"],"when":"1970-01-01T00:00:00+00:00","x":"NaN"}'
        assert (null.position, null.reason) == (1, "null_text")
        assert (empty.position, empty.reason) == (2, "empty_text")
        assert (last.position, last.uri) == (3, "p/x#row3")
        assert last.metadata == '{"blob":null,"id":null,"tags":null,"when":"1970-01-01T00:00:00.000003+00:00","x":"Infinity"}'

    @pytest.mark.parametrize(
        ("table", "reason"),
        [
            (pa.table({"body": ["a"]}), "no_text_column"),
            (pa.table({"text": pa.array([], pa.string())}), "empty_file"),
            (pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"]), "duplicate_key"),
        ],
    )
    def test_one_reject_for_the_file(self, tmp_path, table, reason):
        (item,) = read(self.write(tmp_path, table), CONF)
        assert (item.position, item.reason) == (-1, reason)

    @pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.binary()])
    def test_kinds_of_strings(self, tmp_path, kind):
        table = pa.table({"text": pa.array(["a", "é"]).cast(kind) if kind != pa.binary() else pa.array([b"a", "é".encode()])})
        assert [r.text for r in read(self.write(tmp_path, table), CONF)] == ["a", "é"]

    def test_text_that_is_no_string(self, tmp_path):
        items = list(read(self.write(tmp_path, pa.table({"text": [1, 2]})), CONF))
        assert [(i.position, i.reason) for i in items] == [(0, "text_not_string"), (1, "text_not_string")]

    def test_strings_that_are_not_utf8(self, tmp_path):
        bad = pa.array([b"ok", b"caf\xe9", b"fine"]).view(pa.string())
        items = list(read(self.write(tmp_path, pa.table({"text": bad, "n": [1, 2, 3]})), CONF))
        assert [getattr(i, "reason", None) for i in items] == [None, "invalid_utf8", None]
        items = list(read(self.write(tmp_path, pa.table({"text": ["a", "b", "c"], "note": bad})), CONF))
        assert [getattr(i, "reason", None) for i in items] == [None, "invalid_utf8", None]

    def test_truncated(self, tmp_path):
        path = self.write(tmp_path, pa.table({"text": ["a"] * 1000}))
        path.write_bytes(path.read_bytes()[:-30])
        (item,) = read(path, CONF)
        assert (item.position, item.reason) == (-1, "truncated_parquet")

    def test_a_broken_row_group_costs_only_its_own_rows(self, tmp_path):
        rng = random.Random(1)
        texts = [f"{rng.getrandbits(256):x}" for _ in range(30)]
        path = self.write(tmp_path, pa.table({"text": texts}), row_group_size=10, compression="zstd", use_dictionary=False)
        meta = pq.ParquetFile(path).metadata.row_group(1).column(0)
        data = bytearray(path.read_bytes())
        at = meta.data_page_offset + meta.total_compressed_size // 2
        data[at : at + 64] = b"\0" * 64
        path.write_bytes(bytes(data))
        items = list(read(path, CONF))
        assert [i.position for i in items] == [*range(10), 10, *range(20, 30)]
        assert isinstance(items[10], Reject)
        assert items[10].reason == "corrupt_parquet"
        assert "rows 10 to 19" in items[10].detail

    def test_values_out_of_the_calendar(self, tmp_path):
        far = pa.array([0, 2**55], pa.int64()).cast(pa.timestamp("ms"))
        items = list(read(self.write(tmp_path, pa.table({"text": ["a", "b"], "t": far})), CONF))
        assert [getattr(i, "reason", None) for i in items] == [None, "bad_value"]


class TestSniff:
    @pytest.mark.parametrize(
        ("head", "kind"),
        [
            (b'{"text": "a"}\n', "jsonl"),
            (b'\xef\xbb\xbf{"text": "a"}', "jsonl"),
            (b'\n\n  {"text": "a"}\n', "jsonl"),
            (b'{"text": "cut by the end of the head', "jsonl"),
            (b'broken\n{"text": "a"}\n', "jsonl"),
            (b'broken\n{"text": "a"}\n{"text": "b"}\nalso broken\n', "jsonl"),
            (b'Prose.\nMore prose.\nEven more.\n{"a": 1}\nand the end.\n', "text"),
            (b"[Illustration]\n\nThe play begins.\n", "text"),
            (b"{{Infobox}}\nAn article.\n", "text"),
            (b"42\n", "text"),
            (b"{\n  int x;\n}\n", "text"),
            ("日本語の文章。".encode() * 40, "text"),
            (b"\x7fELF\x02\x01\x01" + bytes(60) + bytes(range(128, 200)), "binary"),
        ],
    )
    def test_by_content(self, head, kind):
        assert classify(head, whole=True).kind == kind

    def test_name_is_never_asked(self, tmp_path):
        for name, data, found in [
            ("x.txt", gzip.compress(b'{"text": "a"}', mtime=0), Format("jsonl", "gzip")),
            ("x.jsonl.gz", b'{"text": "a"}', Format("jsonl")),
            ("x.jsonl", b"Just prose.", Format("text")),
            ("x.parquet", zstandard.compress(b"prose"), Format("text", "zstd")),
        ]:
            (tmp_path / name).write_bytes(data)
            assert sniff(tmp_path / name) == found

    def test_a_head_that_ends_within_a_character_is_text(self):
        assert classify(("é" * 40000).encode()[:65535], whole=False).kind == "text"


def test_a_pipe_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (item,) = read(tmp_path / "pipe", CONF)
    assert (item.position, item.reason) == (-1, "unreadable")


def test_a_missing_file_is_a_reject(tmp_path):
    (item,) = read(tmp_path / "gone", CONF)
    assert (item.position, item.reason, item.detail) == (-1, "unreadable", "No such file or directory")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_forbidden_file_is_a_reject(tmp_path):
    path = tmp_path / "secret"
    path.write_bytes(b"a")
    path.chmod(0)
    (item,) = read(path, CONF)
    assert item.reason == "unreadable"
