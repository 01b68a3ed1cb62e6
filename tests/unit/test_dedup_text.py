from __future__ import annotations

import random

import pyarrow as pa
import pytest

from udfs.text import normalise as normalise_module
from udfs.text.buffers import ascii_rows, normalised_buffer, text_buffer
from udfs.text.normalise import normalise, squeeze
from udfs.text.tokens import token_spans, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello WORLD", "hello world"),
        ("Caf\u00e9", "caf\u00e9"),
        ("Cafe\u0301", "caf\u00e9"),  # decomposed becomes composed
        ("\uff21\uff22\uff11", "ab1"),  # full-width letters and digit
        ("\ufb01ne", "fine"),  # ligature
        ("Stra\u00dfe", "strasse"),  # case folding, not lower-casing
        ("exam\u00adple", "example"),  # soft hyphen
        ("a\u200bb\ufeffc", "abc"),  # zero-width space, byte order mark
        ("e\u200b\u0301", "\u00e9"),  # an invisible code point does not keep a mark from its letter
        ("\u304b\u3099", "\u304c"),  # kana with a combining voicing mark is the voiced kana, never the bare one
        ("", ""),
        ("a\0b", "a\0b"),
    ],
)
def test_normal_form(text: str, expected: str) -> None:
    assert normalise(text) == expected


@pytest.mark.timeout(20)
def test_a_run_of_combining_marks_takes_linear_time() -> None:
    # Canonical ordering of one run of 400,000 marks of two classes takes minutes; cut into runs of 30 it takes a moment.
    assert len(normalise("x" + "\u0316\u0301" * 200_000)) == 400_001


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat, the dog.", ["the", "cat", "the", "dog"]),
        ("don't re-do x_1", ["don", "t", "re", "do", "x", "1"]),
        ("", []),
        (" \n\t...!!", []),
        ("\u6211\u7231\u5317\u4eac\u3002", ["\u6211", "\u7231", "\u5317", "\u4eac"]),  # Chinese: code points; the full stop separates
        ("Python\u662f3\u79cd", ["python", "\u662f", "3", "\u79cd"]),  # mixed
        ("\u0e01\u0e34\u0e19", ["\u0e01", "\u0e34", "\u0e19"]),  # Thai with its vowel sign
        ("\u179f\u17bd \u0eaa\u0eb0 \u1019\u1031", ["\u179f", "\u17bd", "\u0eaa", "\u0eb0", "\u1019", "\u1031"]),  # Khmer, Lao, Myanmar
        ("\u0939\u093f\u0902\u0926\u0940", ["\u0939\u093f\u0902\u0926\u0940"]),  # Hindi keeps its marks inside the word
        ("\ud55c\uad6d \uc5b4", ["\ud55c\uad6d", "\uc5b4"]),  # Korean has spaces
        ("\U0001f600 hi", ["hi"]),  # emoji separate
        ("\U00020000\U00020001", ["\U00020000", "\U00020001"]),  # beyond the basic plane
        ("a\0b", ["a", "b"]),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def test_spans_point_into_the_text_itself() -> None:
    text = "Zwei \u6211\u7231, Caf\u00e9!"
    assert [text[a:b] for a, b in token_spans(text)] == ["Zwei", "\u6211", "\u7231", "Caf\u00e9"]


def test_squeeze() -> None:
    assert squeeze(" a \n\n b\t c\u3000d ") == "a b c d"


ROWS = ["one", None, "", "caf\u00e9", "\u6f22\u5b57 two", "three"]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize(("low", "high"), [(0, 6), (1, 5), (3, 4), (6, 6)])
def test_buffers_read_every_layout(kind: pa.DataType, low: int, high: int) -> None:
    if pa.types.is_dictionary(kind):
        array = pa.array(ROWS).dictionary_encode()
    elif pa.types.is_binary(kind):
        array = pa.array([None if r is None else r.encode() for r in ROWS], kind)
    else:
        array = pa.array(ROWS, kind)
    text = text_buffer(array[low:high])
    wanted = [(r or "").encode() for r in ROWS[low:high]]
    assert [text.data[s:e].tobytes() for s, e in zip(text.starts, text.ends, strict=True)] == wanted
    assert ascii_rows(text).tolist() == [w.isascii() for w in wanted]


def test_buffers_of_chunks_and_of_wrong_types() -> None:
    chunked = pa.chunked_array([["a", "b"], [], ["c"]])
    assert len(text_buffer(chunked)) == 3
    with pytest.raises(TypeError, match="a text column is needed, got list"):
        text_buffer(pa.array([[1]]))


def test_only_rows_beyond_ascii_are_normalised() -> None:
    text = normalised_buffer(text_buffer(pa.array(["Plain ROW", "CAF\u00c9", None])))
    assert [text.data[s:e].tobytes() for s, e in zip(text.starts, text.ends, strict=True)] == [b"Plain ROW", "caf\u00e9".encode(), b""]


def test_bytes_that_are_not_utf8_do_not_stop_a_batch() -> None:
    text = normalised_buffer(text_buffer(pa.array([b"ab\xff\xfe cd", b"ok"], pa.binary())))
    assert text.data[text.starts[0] : text.ends[0]].tobytes().decode() == "ab\ufffd\ufffd cd"


def test_the_table_of_simple_code_points_gives_what_the_whole_procedure_gives() -> None:
    table = normalise_module.simple_folds()
    pool = [chr(cp) for cp in range(0x20000) if table[cp] != 0xFFFFFFFF]
    assert len(pool) > 120_000
    draw = random.Random(5)
    everything = "".join(pool)
    for text in (everything, everything[::-1], *("".join(draw.choices(pool, k=4000)) for _ in range(20))):
        assert normalise(text) == normalise_module._whole(text)


def test_any_mixture_has_one_normal_form() -> None:
    # Letters that compose, marks in disorder, jamo, invisible ones, ligatures, capitals that fold to two, the last of the planes.
    pool = "aE\u00c9\u0301\u0327\u0316\u1100\u1161\u11a8\uac00\u200b\u00ad\ufb03\u00df\u0130\u03a3\u0345\u1f80\u0e33\u0958\U0001f600\U0010ffff "
    draw = random.Random(6)
    for _ in range(3000):
        text = "".join(draw.choices(pool, k=draw.randint(1, 12)))
        assert normalise(text) == normalise_module._whole(text)
        assert normalise(normalise(text)) == normalise(text)
