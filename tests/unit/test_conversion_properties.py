"""Random texts and expressions beside independent ways to say what must come out."""

from __future__ import annotations

import json
import unicodedata
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs.conversion.arithmetic import ArithmeticRefusedError, evaluate
from udfs.conversion.escapes import restored
from udfs.conversion.passage import Passage, fold
from udfs.replies.strict import read_object

LETTERS = st.sampled_from(
    [
        *"abz AZ09.,-",
        "é",
        "e\u0301",
        "ậ",
        "\u00ad",
        "\u200b",
        "\r\n",
        "\t",
        "  ",
        "—",
        "“",
        "”",
        "’",
        "…",
        "ﬁ",
        "𝒳",
        "🌍",
        "한",
        "語",
        "ก",
        "ß",
    ]
)
TEXTS = st.lists(LETTERS, min_size=1, max_size=60).map("".join)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(TEXTS, st.integers(0, 59), st.integers(1, 59), st.sampled_from(["NFC", "NFD"]))
def test_what_was_copied_with_another_look_is_found_again(text, start, length, form):
    """A copy that a model typed in another normal form, with plain quotes and single spaces, is found, and what is found looks the same."""
    copied = text[start : start + length]
    if text[start + length : start + length + 1] and unicodedata.combining(text[start + length]):
        return  # cut within a character
    typed = " ".join(unicodedata.normalize(form, copied).split()).translate(str.maketrans("“”’—", '""\'-'))
    span = Passage(text).find_quote(typed)
    if not fold(typed)[0].strip():
        assert span is None
    else:
        assert span is not None
        assert fold(text[slice(*span)])[0].strip() == fold(typed)[0].strip()


# The eight that an expression of this depth holds multiply to less than the largest magnitude.
QUOTED = [Fraction(3), Fraction(1280), Fraction(7, 2), Fraction(1991)]
NUMBERS = st.sampled_from(QUOTED)


@st.composite
def expressions(draw, depth: int = 3):
    """An expression over ``NUMBERS`` with its value; None where that is undefined."""
    kind = draw(st.sampled_from(["number"] * 2 + ["+", "-", "*", "/", "neg", "%", "max"] if depth else ["number"]))
    if kind == "number":
        value = draw(NUMBERS)
        return (f"{value.numerator}" if value.denominator == 1 else "3.5"), value
    text, value = draw(expressions(depth=depth - 1))
    if kind in ("neg", "%"):
        return (f"-({text})" if kind == "neg" else f"({text})%"), None if value is None else -value if kind == "neg" else value / 100
    other, second = draw(expressions(depth=depth - 1))
    shown = f"max({text}, {other})" if kind == "max" else f"({text}) {kind} ({other})"
    if value is None or second is None or (kind == "/" and not second):
        return shown, None
    values = {"+": value + second, "-": value - second, "*": value * second, "max": max(value, second)}
    return shown, values[kind] if kind in values else value / second


@settings(max_examples=150, deadline=None, derandomize=True)
@given(expressions())
def test_values_are_those_of_exact_fractions(made):
    text, value = made
    if len(text) > 200:
        value, refused = None, "too_large"
    else:
        refused = "undefined"
    if value is None:
        with pytest.raises(ArithmeticRefusedError, match=refused):
            evaluate(text, QUOTED)
    else:
        assert evaluate(text, QUOTED).value == value


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.dictionaries(st.text(max_size=8), st.text(max_size=20) | st.booleans() | st.none() | st.lists(st.integers(), max_size=3), max_size=5)
)
def test_strict_reading_gives_back_what_was_written(value):
    try:
        written = json.dumps(value, ensure_ascii=False)
        written.encode()
    except UnicodeEncodeError:
        return
    assert read_object(f" {written}\n") == value
    assert read_object(f"{written} {written}") is None


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from([r"\nu", r"\frac{a}{b}", r"\times", r"\beta", r"\rho", " = ", "x", " + "]), min_size=1, max_size=8).map(
        "".join
    )
)
def test_lost_backslashes_come_back_where_the_passage_has_them(formula):
    passage = f"It holds that {formula} is so."
    lost = formula.replace(r"\n", "\n").replace(r"\f", "\f").replace(r"\t", "\t").replace(r"\b", "\b").replace(r"\r", "\r")
    assert restored(lost, passage) == formula
    assert restored(formula, passage) == formula
