from __future__ import annotations

import pytest

from schemas.contract import AnswerContract
from udfs.grading import grade
from udfs.grading.dates import parse_date

DATES = [
    ("1939-09-03", "1939-09-03"), ("3 September 1939", "1939-09-03"), ("3rd of Sept. 1939", "1939-09-03"), ("September 3, 1939", "1939-09-03"),
    ("Sep 3rd 1939", "1939-09-03"), ("on Sunday, 3 September 1939.", "1939-09-03"), ("1939/09/03", "1939-09-03"), ("19390903", "1939-09-03"),
    ("13/03/1939", "1939-03-13"), ("03/13/1939", "1939-03-13"), ("03/03/1939", "1939-03-03"), ("13.3.1939", "1939-03-13"), ("September 1939", "1939-09"),
    ("1939-09", "1939-09"), ("1939", "1939"), ("in 1939", "1939"), ("44 BC", "-0044"), ("15 March 44 BC", "-0044-03-15"), ("AD 79", "0079"), ("3 September", "--09-03"),
    ("29 February 2024", "2024-02-29"),
    # day and month cannot be told apart; no day of the calendar; no one date; guesses
    ("04/03/1939", None), ("29 February 2023", None), ("31 April 2020", None), ("13/13/2020", None), ("1939 or 1940", None), ("1939-1945", None), ("3 September 39", None),
    ("circa 1939", None), ("", None), ("Paris", None), ("0000", None), ("9" * 64, None), ("1939" * 100, None), ("12345", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "iso"), DATES)
def test_dates_are_read_into_one_spelling(text, iso):
    assert parse_date(text) == iso


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        ("3 September 1939", "1939-09-03", "correct"),
        ("1939-09-03", "September 3rd, 1939", "correct"),
        ("2024-03-05", "2024", "incorrect"),  # less than was asked for (a published verifier accepts it, R§3.2)
        ("1939", "3 September 1939", "incorrect"),
        ("1939-03-04", "04/03/1939", "unparsable_pred"),
        ("some day", "1939", "unparsable_gold"),
        ("04/03/1939", "1939-03-04", "unparsable_gold"),
    ],
)
def test_date_verdicts(gold, answer, expected):
    got = grade(AnswerContract(type="date", gold=gold), answer)
    assert got.verdict == expected
    assert got.reward == {"correct": 1.0, "unparsable_gold": None}.get(expected, 0.0)


TEXTS = [
    ("Winston Churchill", "winston  churchill.", True), ("The Beatles", "beatles", True), ("Beatles", "The Beatles", True), ("Zürich", "Zu\u0308rich", True),
    ("Straße", "STRASSE", True), ("Jack o' Lantern", "Jack o\u2019 Lantern", True), ("1914\u201318 war", "1914-18 war", True), ("Paris", "“Paris”", True),
    ("Paris", "The answer is Paris", True), ("McDonald", "mcdonald", True), ("NASA", "nasa", True), ("Washington, D.C.", "washington, d.c.", True),
    ("Paris", "London", False), ("Paris", "Paris or London", False), ("Paris", "Pariss", False), ("New York City", "New York", False), ("Zürich", "Zurich", False),
    # code keeps its case and its punctuation
    ("None", "None", True), ("None", "none", False), ("True", "true", False), ("ValueError", "ValueError", True), ("ValueError", "valueerror", False),
    ("__init__", "__init__", True), ("__init__", "init", False), ("__init__", "`__init__`", True), ("__init__", "**__init__**", True), ("'single'", "single", True),
    ("'single'", "'single'", True), ("'single'", '"single"', True), ("'single'", "Single", False), ("(1, 2)", "(1,2)", True), ("(1, 2)", "(2, 1)", False), ("-1", "-1", True),
    ("-1", "1", False), ("os.path.join", "os.path.join.", True), ("os.path.join", "join", False), ("os.path.join", "os.path.join()", True), ("''", "''", True), ("''", '""', True),
    ("''", "' '", False), ("()", "()", True), ("()", "[]", False), ("*args", "*args", True), ("*args", "**args", False), ("b", "B", False), ("utf8", "UTF8", False), ("-v", "-V", False),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer", "correct"), TEXTS)
def test_text_is_compared_as_words_or_as_code(gold, answer, correct):
    got = grade(AnswerContract(type="text", gold=gold), f"Answer: {answer}")
    assert (got.verdict, got.reward) == (("correct", 1.0) if correct else ("incorrect", 0.0))


def test_aliases_are_further_right_answers_each_by_its_own_rules():
    contract = AnswerContract(type="text", gold="United Kingdom", aliases=("the U.K.", "UK_GB"))
    assert [grade(contract, a).reward for a in ("u.k", "uk_gb", "UK_GB", "united kingdom", "England")] == [1.0, 0.0, 1.0, 1.0, 0.0]


OPTIONS = ("list", "list of int", "The tuple", "None")
CHOICES = [
    ("B", "correct"), ("b", "correct"), ("(B)", "correct"), ("B.", "correct"), ("B)", "correct"), ("B. list of int", "correct"), ("(B) list of int", "correct"),
    ("option B", "correct"), ("list of int", "correct"), ("`list of int`", "correct"), ("It is B, because of the loop.", "correct"), ("B because it counts", "correct"),
    ("A", "incorrect"), ("list", "incorrect"), ("D. None", "incorrect"), ("tuple", "incorrect"),
    ("A and B", "incorrect"), ("A or B", "incorrect"), ("A/B", "incorrect"), ("(A) (B)", "incorrect"), ("B, not A", "incorrect"), ("tuple or None", "incorrect"),
    ("B. list", "incorrect"), ("E", "unparsable_pred"), ("", "unparsable_pred"), ("set", "unparsable_pred"), ("not B", "unparsable_pred"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "expected"), CHOICES)
def test_choice_by_letter_or_text(answer, expected):
    got = grade(AnswerContract(type="choice", gold="B", options=OPTIONS), f"Answer: {answer}" if answer else "")
    assert got.verdict == expected


def test_naming_two_or_contradicting_oneself_is_flagged():
    contract = AnswerContract(type="choice", gold="B", options=OPTIONS)
    assert "multiple_options" in grade(contract, "A and B").flags
    assert "contradictory" in grade(contract, "Answer: B. list").flags


def test_a_leading_letter_a_is_no_answer_marker_of_a_choice():
    contract = AnswerContract(type="choice", gold="B", options=("18", "20"))
    assert grade(contract, "A: 18").verdict == "incorrect"


@pytest.mark.parametrize(("gold", "options"), [("C", ("x", "y")), ("x", ("x", "y")), ("A", ("x", "The X")), ("AB", ())])
def test_choice_that_cannot_be_decided_is_our_fault(gold, options):
    got = grade(AnswerContract(type="choice", gold=gold, options=options), "A")
    assert (got.verdict, got.reward) == ("unparsable_gold", None)


# What stands around an answer says nothing of it, whatever its type (verifier 3).
AROUND = (
    "The answer is {}.",
    "The final answer is **{}**.",
    "It was {}.",
    "\u201c{}\u201d",
    "\\({}\\)",
    "\\[{}\\]",
    "$${}$$",
    "```\n{}\n```",
    "**{}**.",
)


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(
    ("kind", "gold", "wrong"),
    [
        ("number", "120", "12"), ("date", "3 September 1939", "4 September 1939"), ("text", "the Treaty of Paris", "Treaty"), ("text", "OrderedDict", "ordereddict"),
        ("expression", "x^2+1", "x^2-1"), ("set", r"\{1,2\}", r"\{1,3\}"), ("interval", "(1,2]", "[1,2]"), ("list", "3, 1, 2", "1, 3, 2"),
    ],
)  # fmt: skip
def test_what_stands_around_an_answer_is_left_out(around, kind, gold, wrong):
    contract = AnswerContract(type=kind, gold=gold)
    assert grade(contract, around.replace("{}", gold)).verdict == "correct"
    assert grade(contract, around.replace("{}", wrong)).reward == 0.0


@pytest.mark.parametrize(
    ("answer", "verdict", "flag"),
    [
        ("A (123)", "incorrect", "contradictory"),  # the letter A with the text of B
        ("A (because 123 is prime)", "incorrect", "contradictory"),
        ("A 123", "incorrect", "contradictory"),
        ("B (123)", "correct", None),
        ("B 123", "correct", None),
        ("123", "correct", None),
    ],
)
def test_a_letter_before_a_bracket_or_a_number_is_no_article(answer, verdict, flag):
    contract = AnswerContract(type="choice", gold="B", options=("12", "123", "a dog"))
    got = grade(contract, answer)
    assert (got.verdict, flag is None or flag in got.flags) == (verdict, True)
    assert grade(AnswerContract(type="choice", gold="C", options=("12", "123", "dog")), "A dog").verdict == "correct"
    assert grade(AnswerContract(type="text", gold="It Is Written"), "It is written").verdict == "correct"
