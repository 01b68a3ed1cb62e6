"""Passages of long documents."""

from __future__ import annotations

from itertools import pairwise

import pytest

from udfs.conversion.windows import head_window, spread_windows

TEXTS = {
    "words": "word " * 5000,
    "paragraphs": "A sentence of a paragraph, and more.\n\n" * 500,
    "CRLF": "A line of text.\r\n\r\n" * 900,
    "no spaces": "東京都" * 5000,
    "accents": "e\u0301" * 8000,
    "one word": "x" * 20_000,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_passages_are_bounded_spread_and_cut_between_characters(text, n):
    windows = spread_windows(text, n, 1000)
    assert len(windows) == n
    assert windows[0] == head_window(text, 1000)
    for window in windows:
        assert 700 < len(window.text) <= 1000
        assert text[window.offset : window.offset + len(window.text)] == window.text
        assert window.text[0] not in "\u0301\n "
        assert text[window.offset + len(window.text) :][:1] != "\u0301"
    if n > 1:
        last = windows[-1]
        assert last.offset + len(last.text) == len(text)
        gaps = {b.offset - a.offset for a, b in pairwise(windows)}
        assert max(gaps) - min(gaps) <= 1000 // 8 + 2


@pytest.mark.parametrize("text", ["", "short", "x" * 1000], ids=["empty", "short", "as long as a passage"])
def test_what_fits_is_shown_whole_to_everybody(text):
    assert [(w.text, w.offset) for w in spread_windows(text, 3, 1000)] == [(text, 0)] * 3


def test_a_passage_ends_where_a_paragraph_does():
    text = "a" * 80 + "\n\n" + "b" * 10 + " c\n" + "d" * 200
    assert head_window(text, 85).text == "a" * 80
    assert head_window(text, 97).text == "a" * 80 + "\n\n" + "b" * 10 + " c"
