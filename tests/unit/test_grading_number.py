from __future__ import annotations

import pytest

from schemas.contract import AnswerContract
from udfs.grading import grade


def verdict(gold, answer, **latitude):
    return grade(AnswerContract(type="number", gold=gold, **latitude), answer).verdict


# Right by the value alone; several rows are cases that published verifiers get wrong (R§3.1, R§3.2).
SAME = [
    ("1/2", "0.5"), ("50%", "0.5"), ("0.5", "50%"), ("1000", "1,000"), ("1000", "1 000"), ("1000", "1'000"), ("1000", "1_000"), ("1234567", "12,34,567"),
    ("1234567.8", "1.234.567,8"), ("1500", r"1.5\times 10^3"), ("1.5e3", "1500"), ("1500", "1.5×10³"), ("1000", "10^3"), ("0.001", "1e-3"), ("18", "18.0"),
    ("18", "18."), ("18", "**18**"), ("18", "`18`"), ("18", "$18$"), ("1000", r"1\,000"), ("7", "+7"), ("29", "$29.00"), ("16", "016"), ("-5", "\u22125"),
    ("-5", "minus 5"), ("0.5", "½"), ("2.5", "2½"), ("2.5", "2 1/2"), ("0.5", r"\frac{1}{2}"), ("2000000", "2 million"), ("3", "6/2"), ("18", "eighteen"),
    ("21", "twenty-one"), ("3", "3rd"), ("18", "She makes $18 every day."), ("5", "５"), ("5", "٥"), ("5 cm", "5"), ("16 eggs", "16 duck eggs"),
    ("340282366920938463463374607431768211456", "340282366920938463463374607431768211456"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer"), SAME)
def test_same_number_in_another_spelling_is_correct(gold, answer):
    assert verdict(gold, answer) == "correct"


OTHER = [
    ("1.5", "1.5e3"), ("5 cm", "5 m"), ("0.3", "0.30000000000000004"), ("18", "- 18"), ("1939", "1938"), ("9", "99"), ("1", "0.1"), ("-1", "1"),
    ("340282366920938463463374607431768211456", "340282366920938463463374607431768211455"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer"), OTHER)
def test_other_number_is_incorrect(gold, answer):
    assert verdict(gold, answer) == "incorrect"


UNREADABLE = [
    "3=4", "3:30", "5 or 6", "4-5", "not 4", "<4", "at least 4", "more than 4", "1,4", "4^2", "4k", "9^{9^9}", "1e99999999999", "4/0", "four or five", "4.4.4",
    "", "none", "__import__('os').getpid()", "4" * 500, "±4", "2 + 2", "10**4**4",
]  # fmt: skip


@pytest.mark.parametrize("answer", UNREADABLE)
def test_what_is_no_one_number_is_the_candidates_fault(answer):
    grade_ = grade(AnswerContract(type="number", gold="4"), answer)
    assert (grade_.verdict, grade_.reward) == ("unparsable_pred", 0.0)


UNITS = [
    ("km", "12 km", "correct"), ("km", "12", "correct"), ("km", "12 kilometres", "correct"), ("km", "12 kilometers long", "correct"), ("km", "12km", "correct"),
    ("km", "12 m", "incorrect"), ("km", "12 km/h", "incorrect"), ("km", "12 km per hour", "incorrect"), ("km", "12 km^2", "incorrect"), ("km", "12 km²", "incorrect"),
    ("km", "12 miles", "incorrect"), ("km", "12 apples", "incorrect"), ("km", "12 square km", "incorrect"), ("km2", "12 square kilometres", "correct"),
    ("km/h", "12 kilometres per hour", "correct"), ("km/h", "12 km/h", "correct"), ("km/h", "12 km", "incorrect"), ("dollars", "$12", "correct"), ("dollars", "€12", "incorrect"),
    ("%", "12%", "correct"), ("percent", "12 per cent", "correct"), ("%", "0.12", "correct"), ("%", "12", "correct"), ("in", "12 inches", "correct"),
    ("°C", "12 degrees Celsius", "correct"), ("°C", "12 °F", "incorrect"), ("MW", "12 mW", "incorrect"), ("people", "12 people", "correct"), ("people", "12 km", "incorrect"),
]  # fmt: skip


@pytest.mark.parametrize(("unit", "answer", "expected"), UNITS)
def test_a_unit_may_be_left_out_never_contradicted(unit, answer, expected):
    got = grade(AnswerContract(type="number", gold="12", unit=unit), answer)
    assert got.verdict == expected
    assert ("unit_mismatch" in got.flags) == (expected == "incorrect")


def test_a_contradicting_unit_inside_the_gold_is_our_fault():
    got = grade(AnswerContract(type="number", gold="12 m", unit="km"), "12 km")
    assert (got.verdict, got.reward) == ("unparsable_gold", None)


def test_tolerance_is_absolute_and_exact_at_its_edge():
    # |3.1 - 3.14| = 0.04 and |3.19 - 3.14| = 0.05, exactly as decimals; in binary floats the latter exceeds 0.05.
    for answer, expected in (
        ("3.1", "correct"),
        ("3.19", "correct"),
        ("3.1900001", "incorrect"),
        ("3.09", "correct"),
        ("3.0899", "incorrect"),
    ):
        assert verdict("3.14", answer, tolerance=0.05) == expected


@pytest.mark.parametrize("gold", ["about ten", "1/0", "3 or 4", "\u00a0"])
def test_gold_that_is_no_number_gives_null(gold):
    got = grade(AnswerContract(type="number", gold=gold), "10")
    assert (got.verdict, got.reward) == ("unparsable_gold", None)
