"""Where answers stand: offsets in code points, other spellings, parts of longer numbers and words."""

from __future__ import annotations

import unicodedata

import pytest

from udfs.probes.evidence import locate

TEXT = (
    "\ufeffIn 1939 there were 1,500 men and twenty-four women; Ａ１２, Straße, caf" + unicodedata.normalize("NFD", "é") + " 1939 parties."
)


@pytest.mark.parametrize(
    ("answer", "span", "match", "occurrences"),
    [
        ("1939", "1939", "exact", 2), ("1500", "1,500", "number", 1), ("24", "twenty-four", "number", 1), ("A12", "Ａ１２", "folded", 1), ("STRASSE", "Straße", "folded", 1),
        ("café", "cafe\u0301", "folded", 1), ("٢٤", "twenty-four", "number", 1),
    ],
)  # fmt: skip
def test_an_answer_is_searched_in_other_spellings(answer, span, match, occurrences):
    found = locate(TEXT, answer, None, "en")
    assert found.evidence is not None
    assert (TEXT[found.evidence.start : found.evidence.end], found.evidence.match) == (span, match)
    assert (found.occurrences, found.evidence.inside_word) == (occurrences, False)


@pytest.mark.parametrize("answer", ["500", "193", "39", "twenty-five", "caf", "3 women", "\u0301"])
def test_what_is_only_a_part_or_nowhere_is_not_found(answer):
    found = locate(TEXT, answer, None, "en").evidence
    assert found is None or found.inside_word  # a part of a word is a doubt, a part of a number is none of it


@pytest.mark.parametrize(
    ("answer", "start", "holds"),
    [
        ("1939", 4, True), ("1939", 3, False),  # the byte order mark is a code point: offsets without it are wrong
        ("In", 1, True), ("In", 0, False), ("there", 9, True), ("there", 8, False), ("1500", 20, True), ("1500", 19, False), ("500", 22, False),
        ("24", 34, True), ("24", 33, False), ("1939", -1, False), ("1939", 10_000, False), ("IN", 1, True),
    ],
)  # fmt: skip
def test_an_offset_holds_to_the_code_point(answer, start, holds):
    assert (locate(TEXT, answer, start, "en").evidence is not None) is holds


def test_a_wrong_offset_is_told_where_the_answer_stands():
    found = locate(TEXT, "1939", 60, "en")
    assert (found.evidence, found.nearest, found.occurrences) == (None, TEXT.rindex("1939"), 2)
    assert locate(TEXT, "1940", 60, "en").nearest is None


@pytest.mark.parametrize(
    ("context", "answer", "inside"),
    [
        ("The Broncos won.", "Bronco", True), ("وقال يوسف ليوسف", "يوسف", False), ("كتب للمدينة وليوسف", "مدينة", False),  # proclitics are no part of the word
        ("관장은 한서윤이었다.", "한서윤", False), ("Donaudampfschiff", "dampf", True), ("沈知秋开店", "知秋", False),
    ],
)  # fmt: skip
def test_a_part_of_a_word_is_marked(context, answer, inside):
    found = locate(context, answer, context.index(answer), None).evidence
    assert found is not None
    assert found.inside_word is inside


def test_a_long_context_costs_no_more_than_its_length():
    """Ten thousand words without the number: each is looked at once, not as the start of many spellings."""
    context = "der alte Mann ging langsam heim " * 2_000
    assert locate(context, "308", None, "de").evidence is None
    assert locate(context + "mit dreihundertacht Schritten", "308", None, "de").evidence is not None
