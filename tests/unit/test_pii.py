"""Finders of personal data: what is masked, what stays, and that no text takes long. Numbers are made up or belong to documentation of their kind."""

from __future__ import annotations

import json
import random
import time

import pyarrow as pa
import pytest

from udfs.pii.find import find_pii
from udfs.pii.kinds import PLACEHOLDERS, Span
from udfs.pii.mask import PII, decode_spans, encode_spans, mask, masked_texts, pii_columns, source_span
from udfs.pii.numbers import luhn

# Text with the find between guillemets, and its kind.
FOUND = [
    ("Write to \u00abann.lee@harbour-office.org\u00bb.", "email"),
    ("<\u00abAnn_Lee+news@mail.co.uk\u00bb>, thanks", "email"),
    ("mailto \u00aba1@b2.de\u00bb; or", "email"),
    ("(\u00abfirst.last@sub.uni-town.edu\u00bb)", "email"),
    ("'\u00abjoe@post.ch\u00bb'", "email"),
    ("\u00abjoe@post.ch\u00bb.Then a sentence without a blank.", "email"),
    ("He called \u00ab+44 20 7946 0018\u00bb at noon.", "phone"),
    ("\u00ab+49 (30) 901820\u00bb", "phone"),
    ("\u00ab+1-617-542-5942\u00bb", "phone"),
    ("\u00ab(617) 542-5942\u00bb", "phone"),
    ("Boston \u00ab617-542-5942\u00bb.", "phone"),
    ("fax \u00ab617.542.2652\u00bb", "phone"),
    ("Tel.: \u00ab030 901820\u00bb", "phone"),
    ("Phone number: \u00ab020 7946 0018\u00bb", "phone"),
    ("from \u00ab93.184.216.34\u00bb to", "ip"),
    ("host=\u00ab72.14.234.100\u00bb:443", "ip"),
    ("at \u00ab2a00:1450:4001:81b::200e\u00bb.", "ip"),
    ("paid with \u00ab4111 1111 1111 1111\u00bb.", "card"),
    ("paid with \u00ab4012888888881881\u00bb", "card"),
    ("Amex \u00ab3782-822463-10005\u00bb", "card"),
    ("key \u00abAKIA2E0A8F3B244C9986\u00bb", None),  # 0, 1, 8, 9 are not in the alphabet of AWS
    ("key \u00abAKIAQYLPMN5HHHFPZAM2\u00bb", "key"),
    ("\u00abghp_16C7e42F292c6912E7710c838347Ae178B4a\u00bb", "key"),
    ("xo \u00abxoxb-2893483948-abcdefABCDEF1234\u00bb", "key"),
    ("\u00abeyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U\u00bb", "key"),
    ("\u00absk_live_4eC39HqLyjWDarjtT1zdp7dc\u00bb", "key"),
    ("x\n\u00ab-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7bq\n" * 6 + "-----END RSA PRIVATE KEY-----\u00bb\ny", "key"),
]

STAYS = [
    "There are 1,234,567 people and 12345678901234 grains; pi is 3.14159265358979323846 and e 2.718281828459045.",
    "On 2024-05-06, 06/05/2024 or 6.5.2024 at 12:34:56 or 2024-05-06T12:34:56+01:00, timestamp 1714998896123.",
    "ISBN 978-3-16-148410-0, ISBN-10 0-306-40615-2, ISSN 2049-3630, DOI 10.1000/182, arXiv 2406.17557.",
    "Python 3.11.9, version 1.12.13.14, v10.12.13.14, Linux 2.6.32.71, >=1.17.10.14, Chrome/91.10.44.72, section 12.11.10.14.",
    "Listen on 127.0.0.1:8080, 0.0.0.0, 10.12.13.14, 192.168.100.200, 172.16.10.20, 255.255.255.0, 224.10.10.10.",
    "Documentation says 192.0.2.10, 198.51.100.23, 203.0.113.77, 2001:db8::8a2e:370:7334 and ::1.",
    "OID 1.3.6.1.4.1.311.21.20 and 1.2.840.113549.1.1.11; bad 256.300.10.20, 01.02.03.004.",
    "a[1::2], std::vector, ::std::string, x[::2], aa:bb:cc:dd:ee:ff, 2023:10:11, dead:beef, 3:45:00.",
    "@dataclass\n@app.route('/x')\ndef f(): pass\n@pytest.mark.slow\n@ 5 pm, c = a@b.T, y = A@x.mean(), z = x@self.weight",
    "user@localhost, root@host, me@example.com, you@mail.example.org, a@b.test, name@2x.png, npm i left-pad@1.3.0, x@y.py",
    "git clone git@github.com:owner/repo.git and ssh://git@host.org/repo; https://user@host.org/path; foo@@bar.com",
    "555-0123, (617) 555-0123, 617-555-0199; score 21-14, 100-200-3000, 2000-2010, 867 530 9000, 200.300.4000",
    "+1000000, +10 000 000, x +12345, 5+1234567890123456, C++11, +0100, ++i",
    "Cards 4111 1111 1111 1112 (check digit), 0000 0000 0000 0000, 1234567812345670 (no issuer).",
    "uuid 550e8400-e29b-41d4-a716-446655440000, sha 9f86d081884c7d659a2feaa0c55ad015, 0x4012888888881881, id=4012888888881881",
    "AKIAIOSFODNN7EXAMPLE is from a manual; ghp_short; sk-learn-is-a-very-nice-library-for-everyone-here; hf_hub_download; eyJub3Q",
    "-----BEGIN RSA PRIVATE KEY----- is how a key begins; -----BEGIN CERTIFICATE-----",
    "Call me at five; phone 3 of them; the tel 12 bus; mobile 4 and fax 2024-05-06.",
]


@pytest.mark.parametrize(("marked", "kind"), FOUND)
def test_what_is_found_is_found_whole_and_alone(marked, kind):
    text = marked.replace("\u00ab", "").replace("\u00bb", "")
    wanted = [Span(marked.index("\u00ab"), marked.index("\u00bb") - 1, kind)] if kind else []
    assert find_pii(text) == wanted, [text[s.start : s.end] for s in find_pii(text)]


@pytest.mark.parametrize("text", STAYS)
def test_plain_numbers_versions_examples_and_code_stay(text):
    assert [(s.kind, text[s.start : s.end]) for s in find_pii(text)] == []


def test_luhn_by_the_example_of_the_standard():
    # ISO/IEC 7812-1: the check digit of 7992739871 is 3, and no other
    assert [d for d in "0123456789" if luhn("7992739871" + d)] == ["3"]


def test_finds_do_not_overlap_and_the_surer_kind_wins():
    # within a key block everything is key
    block = "-----BEGIN PRIVATE KEY-----\nann@post.ch 4111111111111111 " + "A" * 64 + "\n-----END PRIVATE KEY-----"
    assert [s.kind for s in find_pii(block)] == ["key"]
    inside = "-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + " AKIAQYLPMN5HHHFPZAM2\n-----END PRIVATE KEY----- AKIAQYLPMN5HHHFPZAM2"
    assert mask(inside, find_pii(inside)) == "[KEY] [KEY]"
    both = "ann@post.ch, bob@post.ch and 93.184.216.34"
    assert mask(both, find_pii(both)) == "[EMAIL], [EMAIL] and [IP]"


def test_masking_and_the_way_back():
    text = "\U0001f600 ann@post.ch and bob@post.ch: 93.184.216.34 end"
    spans = find_pii(text)
    masked = mask(text, spans)
    assert masked == "\U0001f600 [EMAIL] and [EMAIL]: [IP] end"
    for word in ("\U0001f600", "and", "end"):
        start = masked.index(word)
        assert text[slice(*source_span(spans, start, start + len(word)))] == word
    assert text[slice(*source_span(spans, masked.index("[IP]"), masked.index("[IP]") + 4))] == "93.184.216.34"
    # from within one placeholder to within the next: both whole
    assert text[slice(*source_span(spans, 4, 16))] == "ann@post.ch and bob@post.ch"
    # ends before a placeholder that begins there
    assert text[slice(*source_span(spans, 0, 2))] == "\U0001f600 "
    assert source_span([], 3, 5) == (3, 5)
    assert decode_spans(encode_spans(spans)) == spans
    assert decode_spans(None) == []


def test_every_piece_of_a_masked_text_leads_back_to_where_it_came_from():
    rng = random.Random(3)
    for _ in range(200):
        pieces = [rng.choice(["abc ", "x", " \u4f60", "Q"]) for _ in range(12)]
        kinds = {at: rng.choice(list(PLACEHOLDERS)) for at in rng.sample(range(12), 4)}
        text, spans, places = "", [], []
        for at, piece in enumerate(pieces):
            if at in kinds:
                spans.append(Span(len(text), len(text) + len(piece), kinds[at]))
            places.append((len(text), len(text) + len(piece), at in kinds))
            text += piece
        masked, offset = mask(text, spans), 0
        for at, (start, end, hidden) in enumerate(places):
            size = len(PLACEHOLDERS[kinds[at]]) if hidden else end - start
            assert source_span(spans, offset, offset + size) == (start, end)
            offset += size
        assert offset == len(masked)


def test_columns_count_by_kind_and_null_counts_as_empty():
    texts = pa.array(["ann@post.ch bob@post.ch 93.184.216.34", None, "nothing", ""])
    found = pii_columns(texts)
    assert found.schema == PII
    assert found.to_pylist()[0] == {"n_card": 0, "n_email": 2, "n_ip": 1, "n_key": 0, "n_phone": 0, "pii_spans": '[[0,11,"email"],[12,23,"email"],[24,37,"ip"]]'}  # fmt: skip
    assert [row["pii_spans"] for row in found.to_pylist()[1:]] == ["[]"] * 3
    spans = pa.array([found.column("pii_spans")[0].as_py(), None, "[]", None])
    assert masked_texts(texts, spans).to_pylist() == ["[EMAIL] [EMAIL] [IP]", None, "nothing", ""]
    assert json.loads(pii_columns(pa.array([b"\xff ann@post.ch"], pa.binary())).to_pylist()[0]["pii_spans"]) == [[2, 13, "email"]]


#: Pieces that, repeated, make careless patterns backtrack.
NASTY = [
    "a@", "a", "a.", "a@b.", "1", "1 ", "12.", "+1 ", "(2", "2001:", "2abc", "phone ", " ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "eyJ", "eyJaaaaaaaaaaaa.",
    "sk-", "_live_", "\0", "4111 ", "tel 1 ", "]", "[1", "xoxb-", "-----BEGIN PRIVATE KEY-----" + "A" * 64 + "-----END PRIVATE KEY----- AKIAQYLPMN5HHHFPZAM2 ",
]  # fmt: skip


def seconds(text):
    """Processor time of the quicker of two runs."""
    times = []
    for _ in range(2):
        start = time.process_time()
        find_pii(text)
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize("piece", NASTY)
def test_ten_times_the_text_takes_about_ten_times_as_long(piece):
    long, short = (piece * (size // len(piece)) for size in (300_000, 30_000))
    for before in ("", "tel", "sk-a", "eyJ", "@"):
        whole, part = seconds(before + long), seconds(before + short)
        assert whole < 30 * part + 0.2, (before, whole, part)  # a quadratic finder takes a hundred times


@pytest.mark.timeout(120)
def test_five_megabytes_of_at_signs_take_bounded_time():
    assert find_pii("a@" * 2_500_000) == []
