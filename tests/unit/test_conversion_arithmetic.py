"""Arithmetic over quoted numbers, beside exact fractions."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.conversions import document, generated, run, script
from udfs.conversion.arithmetic import ArithmeticRefusedError, evaluate, quoted_numbers, spelled_numbers

DIGITS = [Fraction(1991), Fraction(1280), Fraction(7, 2)]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1,991 - 1,280", Fraction(711)),
        ("$1-$2", Fraction(711)),
        ("1991 × 2 ÷ 4", Fraction(1991, 2)),
        ("(1991 - 1280) / 1280 * 100", Fraction(711 * 100, 1280)),
        ("1991 - 1280 - 3.5", Fraction(1415, 2)),
        ("1991 / 2 / 2", Fraction(1991, 4)),
        ("1991 - (1280 - 3.5)", Fraction(1429, 2)),
        ("-1280 + 1991", Fraction(711)),
        ("1280 * --2", Fraction(2560)),
        ("1991 * 3.5%", Fraction(1991 * 7, 200)),
        ("max(1991, 1280, 2 * 1280) - min(1991, 1280)", Fraction(1280)),
        ("$3 * 1000", Fraction(3500)),
        ("1280 + twelve", None),
        ("1280 + 11", Fraction(1291)),  # eleven, in words
    ],
)
def test_values(expression, value):
    if value is None:
        with pytest.raises(ArithmeticRefusedError, match="unreadable"):
            evaluate(expression, DIGITS)
    else:
        assert evaluate(expression, DIGITS, lambda: [Fraction(11)]).value == value


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("", "unreadable"), ("1991 -", "unreadable"), ("1991 1280", "unreadable"), ("(1991", "unreadable"), ("1991)", "unreadable"),
        ("min(1991)", "unreadable"), ("1991 ** 2", "unreadable"), ("__import__('os').system('id')", "unreadable"), ("1991 if 1 else 2", "unreadable"),
        ("1.2.3", "unreadable"), ("$0", "unreadable"), ("lambda: 1991", "unreadable"), ("1991; 1280", "unreadable"),
        ("2 * 100", "not_quoted"), ("1991 + 41", "not_quoted"), ("$4", "not_quoted"),
        ("1991 / (1280 - 1280)", "undefined"), ("1991 / (2 - 2)", "undefined"),
        ("(" * 40 + "1991" + ")" * 40, "too_large"), ("-" * 60 + "1991", "too_large"), ("1991*" * 60 + "1991", "too_large"),
        ("*".join(["1991"] * 12), "too_large"),
    ],
)  # fmt: skip
def test_refused(expression, reason):
    with pytest.raises(ArithmeticRefusedError) as error:
        evaluate(expression, DIGITS)
    assert error.value.reason == reason


def test_numbers_of_a_text():
    text = "In 1,991 metres, from -3 to 1.5 million or 3-4; version 1.2.3; 5% of 10,000.5 and ١٢."
    assert [n.value for n in quoted_numbers(text)] == [1991, -3, 1_500_000, 3, 4, 5, Fraction(20001, 2), 12]
    assert [text[n.start : n.end] for n in quoted_numbers(text)][:3] == ["1,991", "-3", "1.5 million"]
    # A number that the span cuts is none.
    assert quoted_numbers(text, text.index("991"), text.index("991") + 3) == []
    assert [n.value for n in spelled_numbers("Twenty-one pupils, four of the freighters, zero", 0, 40)] == [21, 4]


SHOP = "The shop sold 240 loaves on Monday and 180 on Tuesday, at 3.50 euros each; twelve were given away. Of 300 buyers 100 came twice."


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({"answer": "420", "computation": "240 + 180"}, "passed", id="a sum"),
        pytest.param({"answer": "420 loaves", "computation": "$1 + $2"}, "passed", id="with its noun"),
        pytest.param({"answer": "1,470", "unit": "euros", "computation": "(240 + 180) * 3.50"}, "passed", id="grouped"),
        pytest.param({"answer": "75", "unit": "%", "computation": "180 / 240"}, "passed", id="a share as a percentage"),
        pytest.param({"answer": "33.3", "unit": "%", "computation": "100 / 300 * 100"}, "passed", id="rounded"),
        pytest.param({"answer": "33", "unit": "%", "computation": "100 / 300 * 100"}, "computation_differs", id="rounded without a place"),
        pytest.param({"answer": "33.4", "unit": "%", "computation": "100 / 300 * 100"}, "computation_differs", id="rounded wrongly"),
        pytest.param({"answer": "408", "computation": "240 + 180 - 12"}, "passed", id="a number word"),
        pytest.param({"answer": "421", "computation": "240 + 180"}, "computation_differs", id="another value"),
        pytest.param({"answer": "430", "computation": "240 + 190"}, "computation_not_quoted", id="a number that is not quoted"),
        pytest.param({"answer": "240", "computation": "$1"}, "passed", id="looked up, not computed"),
        pytest.param({"answer": "many", "answer_type": "text", "computation": "240 + 180"}, "computation_of_no_number", id="no number"),
        pytest.param({"answer": "0", "computation": "240 / (180 - 180)"}, "computation_undefined", id="division by zero"),
        pytest.param({"answer": "0", "computation": "exec('x')"}, "computation_unreadable", id="code"),
    ],
)
def test_the_value_is_the_answer(changes, reason):
    reply = generated(**{"evidence": [SHOP], "question": "How much is it in all?", "answer_type": "number"} | changes)
    conversion, _ = run(script(reply), document(SHOP))
    (state,) = [s for s in conversion.states if s.stage == "evidence"]
    assert state.reason == reason
