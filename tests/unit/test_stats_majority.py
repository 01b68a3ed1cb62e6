"""Majority votes: gold's spellings are one answer, ties, unicode, silence."""

from __future__ import annotations

import itertools

import pytest

from udfs.stats.majority import Majority, majority_answer, normal_answer


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([], Majority(None, 0, None)),
        ([(None, False), ("", False), ("  ", False)], Majority(None, 0, None)),
        ([("Paris", False), ("paris ", False), ("Rome", True)], Majority("paris", 2, is_gold=False)),
        # the gold's spellings count together: 3 against 2, though "4" is the commonest text
        ([("3", True), ("3.0", True), ("three", True), ("4", False), ("4", False)], Majority("3", 3, is_gold=True)),
        ([("b", False), ("a", False)], Majority("a", 1, is_gold=False)),  # ties by text
        ([("z", True), ("a", False)], Majority("z", 1, is_gold=True)),  # a tie doubts nothing
        ([(None, True)], Majority(None, 1, is_gold=True)),
    ],
)
def test_votes(answers, expected):
    assert majority_answer(answers) == expected
    assert {majority_answer(order) for order in itertools.permutations(answers)} == {expected}


@pytest.mark.parametrize(
    ("text", "normal"),
    [("Straße", "strasse"), ("ﬁn", "fin"), ("\u00c5", "\u00e5"), ("A\u030a", "\u00e5"), ("１２", "12"), (" a\t b\n", "a b"), ("ΑΣ", "ασ")],
)
def test_normal_answer(text, normal):
    assert normal_answer(text) == normal
    assert normal_answer(normal) == normal
