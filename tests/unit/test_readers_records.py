"""JSONL and plain text: what becomes of each line or block."""

import gzip
import json

import pytest
import zstandard

from schemas.conf import Ingest
from udfs.readers.read import read
from udfs.readers.record import Record, Reject


def conf(**changes):
    base = {
        "text_field": "text", "id_field": "id", "uri_field": "url", "title_field": "title", "licence_field": "license",
        "text_unit": "file", "max_document_bytes": 1 << 20, "html_text": "main", "http_status": ("2xx",), "split_mb": 1,
    }  # fmt: skip
    return Ingest(**{**base, **changes})


def read_bytes(tmp_path, data, name="data", **changes):
    path = tmp_path / name
    path.write_bytes(data)
    return list(read(path, conf(**changes), relative="d/data"))


GOOD = b'{"text": "a good line"}'

BAD_LINES = [
    (b"not json at all", "not_json"),
    (b'{"text": "cut', "not_json"),
    (b'{"text": "a"} trailing', "not_json"),
    (b'[{"text": "a"}]', "not_object"),
    (b"null", "not_object"),
    (b"17", "not_object"),
    (b'"text"', "not_object"),
    (b"true", "not_object"),
    (b"NaN", "not_object"),
    (b'{"body": "a"}', "no_text"),
    (b"{}", "no_text"),
    (b'{"text": null}', "null_text"),
    (b'{"text": ""}', "empty_text"),
    (b'{"text": " \\t\\n\\u00a0"}', "empty_text"),
    (b'{"text": 5}', "text_not_string"),
    (b'{"text": ["a"]}', "text_not_string"),
    (b'{"text": {"a": 1}}', "text_not_string"),
    (b'{"text": "caf\xe9"}', "invalid_utf8"),
    (b'{"text": "\xc0\xaf overlong"}', "invalid_utf8"),
    (b'{"text": "\xed\xa0\x80 encoded surrogate"}', "invalid_utf8"),
    (b'{"text": "half \\ud83d pair"}', "lone_surrogate"),
    (b'{"text": "a", "title": "\\udc00"}', "lone_surrogate"),
    (b'{"text": "a", "id": "\\ud800"}', "lone_surrogate"),
    (b'{"text": "a", "deep": {"x": ["\\ud800"]}}', "lone_surrogate"),
    (b'{"text": "a\\u0000b"}', "nul_bytes"),
    (b'{"text": "a\x00b"}', "nul_bytes"),
    (b'{"text": "a", "text": "b"}', "duplicate_key"),
    (b'{"text": "a", "m": {"k": 1, "k": 2}}', "duplicate_key"),
    (b'{"text": "a", "m": ' + b"[" * 101 + b"]" * 101 + b"}", "too_deep"),
    (b'{"text": "a", "m": ' + b'{"k":' * 5000 + b"1" + b"}" * 5000 + b"}", "too_deep"),
    (b'{"text": "a", "m": ' + b"[" * 200_000 + b"}", "too_deep"),
]


@pytest.mark.parametrize(("line", "reason"), BAD_LINES)
def test_a_bad_line_is_rejected_and_its_neighbours_go_in(tmp_path, line, reason):
    before, bad, after = read_bytes(tmp_path, GOOD + b"\n" + line + b"\n" + GOOD + b"\n")
    assert isinstance(before, Record)
    assert (before.position, before.uri, before.text) == (1, "d/data#L1", "a good line")
    assert isinstance(bad, Reject)
    assert (bad.position, bad.reason, bad.first_bytes) == (2, reason, line[:200])
    assert bad.detail
    assert isinstance(after, Record)
    assert after.position == 3


def test_nan_as_text_is_a_number_not_a_document(tmp_path):
    # NaN becomes the string "NaN" only in metadata; as a text it would invent a document.
    items = read_bytes(tmp_path, GOOD + b'\n{"text": NaN}\n{"text": -Infinity}\n{"text": 1e999}\n')
    assert [getattr(i, "reason", None) for i in items] == [None, "text_not_string", "text_not_string", "text_not_string"]


def test_numbers_that_json_cannot_carry_are_quoted(tmp_path):
    line = b'{"text": "a", "x": [NaN, Infinity, -Infinity, 1e999, -1e999], "n": ' + b"9" * 5000 + b', "t": 0.1}\n'
    (record,) = read_bytes(tmp_path, line)
    assert json.loads(record.metadata) == {"n": "9" * 5000, "t": 0.1, "x": ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"]}


def test_nesting_up_to_the_bound_goes_in(tmp_path):
    line = b'{"text": "a", "m": ' + b"[" * 99 + b"]" * 99 + b"}\n"
    (record,) = read_bytes(tmp_path, line)
    assert isinstance(record, Record)


def test_fields_and_metadata(tmp_path):
    row = {"id": 7, "url": "http://x/", "title": "T", "license": "MIT", "text": "é\r\n", "b": 1, "a": [True, None]}
    (record,) = read_bytes(tmp_path, json.dumps(row).encode())
    assert record == Record(1, "7", "T", "é\r\n", "MIT", '{"a":[true,null],"b":1,"url":"http://x/"}')


@pytest.mark.parametrize(
    ("row", "uri", "metadata"),
    [
        ({"id": None, "url": "http://x/"}, "http://x/", '{"id":null}'),
        ({"id": "", "url": ["x"]}, "d/data#L1", '{"id":"","url":["x"]}'),
        ({"id": True}, "d/data#L1", '{"id":true}'),
        ({"id": 1.5}, "1.5", "{}"),
        ({"title": 3}, "d/data#L1", '{"title":3}'),
    ],
)
def test_a_named_field_that_cannot_be_used_stays_in_the_metadata(tmp_path, row, uri, metadata):
    (record,) = read_bytes(tmp_path, json.dumps({"text": "a", **row}).encode())
    assert (record.uri, record.title, record.metadata) == (uri, None, metadata)


def test_field_names_are_configurable(tmp_path):
    names = {"text_field": "body", "id_field": "key", "uri_field": "", "title_field": "head", "licence_field": "terms"}
    (record,) = read_bytes(tmp_path, b'{"body": "b", "key": "k", "head": "h", "terms": "t", "text": "other", "": "x"}', **names)
    assert record == Record(1, "k", "h", "b", "t", '{"":"x","text":"other"}')


def test_bom_blank_lines_and_carriage_returns(tmp_path):
    items = read_bytes(tmp_path, b'\xef\xbb\xbf{"text": "a"}\r\n\r\n   \n{"text": "b"}')
    assert [(i.position, i.text) for i in items] == [(1, "a"), (4, "b")]


def test_line_separators_of_unicode_do_not_split(tmp_path):
    (record,) = read_bytes(tmp_path, '{"text": "a\u2028b\u0085c"}\n'.encode())
    assert record.text == "a\u2028b\u0085c"


def test_a_line_over_the_limit_is_skipped(tmp_path):
    long = b'{"text": "' + b"x" * 300 + b'"}'
    items = read_bytes(tmp_path, GOOD + b"\n" + long + b"\n" + GOOD, max_document_bytes=100)
    assert [(i.position, getattr(i, "reason", "")) for i in items] == [(1, ""), (2, "too_long"), (3, "")]
    assert items[1].first_bytes == long[:200]
    assert "312 bytes" in items[1].detail  # 10 + 300 + 2


def test_the_limit_counts_bytes_not_code_points(tmp_path):
    # 40 code points of 3 bytes: the escaped line is 240 bytes + frame, the text 120 bytes.
    line = json.dumps({"text": "字" * 40}).encode()
    assert isinstance(read_bytes(tmp_path, line, max_document_bytes=300)[0], Record)
    (over,) = read_bytes(tmp_path, json.dumps({"text": "字" * 40}, ensure_ascii=False).encode(), max_document_bytes=119)
    assert over.reason == "too_long"


@pytest.mark.parametrize("size", [100, (1 << 16) - 1, 1 << 16, (1 << 16) + 1, 200_000])
def test_lines_longer_than_a_piece(tmp_path, size):
    text = "y" * size
    items = read_bytes(tmp_path, b'{"text": "' + text.encode() + b'"}\n' + GOOD)
    assert [i.text for i in items] == [text, "a good line"]


class TestPlainText:
    def test_one_file_one_document(self, tmp_path):
        (record,) = read_bytes(tmp_path, b"\xef\xbb\xbfTitle\r\n\r\nBody.\n")
        assert record == Record(0, "d/data#block0", None, "Title\r\n\r\nBody.\n", None, "{}")

    def test_paragraphs(self, tmp_path):
        items = read_bytes(tmp_path, b"\n\nfirst\nblock\r\n \t\r\nsecond\n\n\n\xff\n\nlast", text_unit="paragraph")
        assert [(i.position, getattr(i, "text", None) or i.reason) for i in items] == [
            (0, "first\nblock"), (1, "second"), (2, "invalid_utf8"), (3, "last"),
        ]  # fmt: skip

    def test_paragraph_over_the_limit(self, tmp_path):
        items = read_bytes(tmp_path, b"a\n\n" + b"line\n" * 50 + b"\nb", text_unit="paragraph", max_document_bytes=100)
        assert [(i.position, getattr(i, "text", None) or i.reason) for i in items] == [(0, "a"), (1, "too_long"), (2, "b")]

    @pytest.mark.parametrize(
        ("data", "position", "reason"),
        [
            (b"", -1, "empty_file"),
            (b" \n\t\n", -1, "empty_file"),
            (b"\xef\xbb\xbf", -1, "empty_file"),
            (b"caf\xe9 in latin-1, as prose is", 0, "invalid_utf8"),
            (b"text with a NUL \x00 inside", 0, "nul_bytes"),
            (bytes(range(256)) * 8, -1, "binary"),
            (b"x" * 2000, 0, "too_long"),
            ("text".encode("utf-16"), -1, "unsupported_format"),
            (b"PK\x03\x04....", -1, "unsupported_format"),
            (b"filedesc://x.arc 0.0.0.0 20080430204825", -1, "unsupported_format"),
            (b"WARC/1.0\r\n", 0, "truncated_record"),
            (b'[\n  {"text": "a"},\n  {"text": "b"}\n]\n', -1, "unsupported_format"),
            (gzip.compress(b"", mtime=0), -1, "empty_file"),
            (gzip.compress(gzip.compress(b"a", mtime=0), mtime=0), -1, "unsupported_format"),
            (zstandard.compress(b"PAR1...."), -1, "unsupported_format"),
        ],
    )
    def test_a_file_that_is_no_document_is_one_reject(self, tmp_path, data, position, reason):
        (item,) = read_bytes(tmp_path, data, max_document_bytes=1999)
        assert isinstance(item, Reject)
        assert (item.position, item.reason) == (position, reason)
        assert item.detail
