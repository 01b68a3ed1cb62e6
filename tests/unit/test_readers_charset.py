"""Charsets of the web: which evidence counts, and what happens where it is wrong."""

from __future__ import annotations

import random

import pytest

from udfs.readers.charset import decode

RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 20
GERMAN = "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. " * 20
JAPANESE = "いろはにほへと ちりぬるを わかよたれそ つねならむ。" * 20


@pytest.mark.parametrize(
    ("data", "declared", "text", "charset", "how"),
    [
        (GERMAN.encode(), "utf-8", GERMAN, "utf-8", "header"),
        (GERMAN.encode("cp1252"), "iso-8859-1", GERMAN, "cp1252", "header"),
        # UTF-8 under another name: the bytes are believed, not the header.
        (GERMAN.encode(), "iso-8859-1", GERMAN, "utf-8", "content"),
        (GERMAN.encode(), None, GERMAN, "utf-8", "content"),
        (b"plain ASCII", None, "plain ASCII", "utf-8", "detected"),
        (b"plain ASCII", "us-ascii", "plain ASCII", "cp1252", "header"),
        ("\ufeff".encode() + GERMAN.encode(), "windows-1251", GERMAN, "utf-8", "bom"),
        (b"\xff\xfe" + GERMAN.encode("utf-16-le"), "utf-8", GERMAN, "utf-16-le", "bom"),
        (b"\xfe\xff" + GERMAN.encode("utf-16-be"), None, GERMAN, "utf-16-be", "bom"),
        (RUSSIAN.encode("koi8-r"), "koi8-r", RUSSIAN, "koi8-r", "header"),
        (JAPANESE.encode("euc-jp"), "euc-jp", JAPANESE, "euc_jp", "header"),
        (JAPANESE.encode("shift_jis"), "x-sjis", JAPANESE, "shift_jis", "header"),
        # Neither UTF-8, as the header says, nor named anywhere else.
        (RUSSIAN.encode("cp1251"), "utf-8", RUSSIAN, "cp1251", "detected"),
        (RUSSIAN.encode("koi8-r"), None, RUSSIAN, "koi8-r", "detected"),
        (JAPANESE.encode("euc-jp"), "nonesuch", JAPANESE, "euc_jp", "detected"),
    ],
)
def test_evidence_in_its_order(data, declared, text, charset, how):
    found = decode(data, declared, html=False)
    assert (found.text, found.charset, found.how, found.broken) == (text, charset, how, 0)


def test_a_meta_element_counts_in_html_alone():
    data = b'<html><head><meta charset="windows-1251"></head>' + RUSSIAN.encode("cp1251")
    found = decode(data, None, html=True)
    assert (found.charset, found.how) == ("cp1251", "meta")
    assert RUSSIAN in found.text
    assert decode(data, None, html=False).how == "detected"
    old = b'<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">' + RUSSIAN.encode("koi8-r")
    assert decode(old, None, html=True).charset == "koi8-r"


def test_few_broken_bytes_are_marked_and_counted():
    data = bytearray(RUSSIAN.encode())
    data[100] = 0xFF
    data[500] = 0xFF
    found = decode(bytes(data), "utf-8", html=False)
    assert (found.charset, found.how) == ("utf-8", "header")
    assert 2 <= found.broken <= 6
    assert found.text.count("мягких") >= 18


@pytest.mark.parametrize("declared", ["utf-8", "euc-jp", None])
def test_noise_is_no_text(declared):
    assert decode(random.Random(1).randbytes(5000), declared, html=False) is None


@pytest.mark.parametrize("name", ["hex", "zip", "rot13", "idna", "unicode_escape", "../../etc", "\x00", "utf-8" * 50])
def test_what_is_no_charset_is_passed_over(name):
    assert decode(GERMAN.encode("cp1252"), name, html=False).text == GERMAN
