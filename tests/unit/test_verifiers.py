"""Verifiers by name: what a row gets, and how a line is read; each with the right value."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.contract import AnswerContract
from udfs.verifiers.lines import read_line
from udfs.verifiers.registry import grade_fields, verifiers
from udfs.verifiers.rows import RESULTS, RowError

TABLE = verifiers()


def got(**fields):
    graded = grade_fields(fields, TABLE)
    return graded.verdict, graded.reward


CORRECT, INCORRECT, NO_ANSWER, NO_GOLD = ("correct", 1.0), ("incorrect", 0.0), ("unparsable_pred", 0.0), ("unparsable_gold", None)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"verifier": "number", "gold": "18", "answer": "16 + 2 = 18.\n#### 18"}, CORRECT),
        ({"verifier": "number", "gold": "18", "answer": "19"}, INCORRECT),
        ({"verifier": "number", "gold": "18", "answer": ""}, NO_ANSWER),
        ({"verifier": "number", "gold": "eel", "answer": "18"}, NO_GOLD),
        ({"verifier": "number", "gold": 0.5, "answer": 0.5}, CORRECT),  # a number of the file stands for its spelling
        ({"verifier": "number", "gold": "5", "unit": "km", "answer": "5 miles"}, INCORRECT),
        ({"verifier": "number", "gold": "5", "unit": "km", "tolerance": 0.1, "answer": "5.05 km"}, CORRECT),
        ({"verifier": "choice", "gold": "b", "options": ["Rome", "Paris"], "answer": "(B)"}, CORRECT),
        ({"verifier": "choice", "gold": "Paris", "options": ["Rome", "Paris"], "answer": "A"}, INCORRECT),
        ({"verifier": "choice", "gold": "Oslo", "options": ["Rome", "Paris"], "answer": "A"}, NO_GOLD),
        ({"verifier": "text", "gold": "New York", "aliases": ["NYC"], "answer": "Answer: nyc."}, CORRECT),
        ({"verifier": "text", "gold": "New York", "answer": "York"}, INCORRECT),
        ({"verifier": "date", "gold": "1939-09-03", "answer": "3 September 1939"}, CORRECT),
        ({"verifier": "date", "gold": "1939-09-03", "answer": "04/03/1939"}, NO_ANSWER),
        ({"verifier": "math", "gold": "1/2", "answer": "0.5"}, CORRECT),
        ({"verifier": "math", "gold": "\\frac{1}{2}", "answer": "the result is \\boxed{\\dfrac12}"}, CORRECT),
        ({"verifier": "math", "gold": "x^2-1", "answer": "(x-1)(x+1)"}, CORRECT),
        ({"verifier": "math", "gold": "x^2-1", "answer": "x^2+1"}, INCORRECT),
        ({"verifier": "set", "gold": "\\{1,2\\}", "answer": "{2, 1}"}, CORRECT),
        ({"verifier": "set", "gold": ["1", "2"], "answer": "{1, 3}"}, INCORRECT),
        ({"verifier": "list", "gold": [1, 2], "answer": "1, 2"}, CORRECT),
        ({"verifier": "list", "gold": ["Rome", "Paris"], "answer": "Answer: Paris, Rome"}, INCORRECT),
        ({"verifier": "interval", "gold": "(0,1]", "answer": "0 < x \\le 1"}, CORRECT),
        ({"verifier": "interval", "gold": "(0,1]", "answer": "[0,1]"}, INCORRECT),
    ],
)
def test_each_verifier_grades_its_rows(fields, expected):
    assert got(**fields) == expected


@pytest.mark.parametrize(
    ("gold", "answer", "by"),
    [
        ("18", "A: 18", "number"),
        ("1,000", "1000.", "number"),
        ("1/2", "0.5", "number"),
        ("1/2", "\\frac12", "expression"),
        ("1,2", "2,1", "expression"),  # two numbers are not a plain one
        ("x=5", "5", "expression"),
        ("50%", "0.5", "expression"),
        ("\\sqrt2", "1.414", "expression"),
    ],
)
def test_math_is_number_where_both_are_plain_numbers(gold, answer, by):
    graded = grade_fields({"verifier": "math", "gold": gold, "answer": answer}, TABLE)
    assert graded.by is not None
    assert graded.by.partition("@")[0] == by


def test_a_list_of_items_is_the_same_gold_as_its_spelling():
    for kind, items, text in (("list", ["1", "1/2"], "1, 1/2"), ("set", ["(1,2)", "(3,4)"], "(1,2), (3,4)")):
        answer = "Answer: " + text
        assert grade_fields({"verifier": kind, "gold": items, "answer": answer}, TABLE) == grade_fields(
            {"verifier": kind, "gold": text, "answer": answer}, TABLE
        )
        assert got(verifier=kind, gold=items, answer=answer) == CORRECT


@pytest.mark.parametrize(
    ("fields", "flags"),
    [
        ({}, ("missing_verifier",)),
        ({"verifier": None, "gold": "1", "answer": "1"}, ("missing_verifier",)),
        ({"verifier": "eel", "gold": "1", "answer": "1"}, ("unknown_verifier",)),
        ({"verifier": ["number"], "gold": "1", "answer": "1"}, ("unknown_verifier",)),
        ({"verifier": "number", "answer": "1"}, ("missing_gold",)),
        ({"verifier": "number", "gold": "", "answer": "1"}, ("missing_gold",)),
        ({"verifier": "number", "gold": "1"}, ("missing_answer",)),
        ({"verifier": "number", "gold": "1", "answer": None}, ("missing_answer",)),
        ({"verifier": "number", "gold": True, "answer": {"a": 1}}, ("wrong_type_answer", "wrong_type_gold")),
        ({"verifier": "number", "gold": ["1"], "answer": "1"}, ("wrong_type_gold",)),
        ({"verifier": "number", "gold": "1", "answer": "1", "tolerance": -1}, ("wrong_type_tolerance",)),
        ({"verifier": "number", "gold": "1", "answer": "1", "tolerance": float("nan")}, ("wrong_type_tolerance",)),
        ({"verifier": "number", "gold": "1", "answer": "1", "unit": ["km"]}, ("wrong_type_unit",)),
        ({"verifier": "text", "gold": "a", "answer": "a", "aliases": "b"}, ("wrong_type_aliases",)),
        ({"verifier": "choice", "gold": "A", "answer": "A", "options": {"A": "x"}}, ("wrong_type_options",)),
        ({"verifier": "text", "gold": "\ud800", "answer": "a"}, ("wrong_gold",)),  # half a surrogate pair is no text
        ({"verifier": "set", "gold": ["Paris, Texas", "Rome"], "answer": "a"}, ("gold_item_with_comma",)),
        ({"verifier": "code", "answer": "pass"}, ("missing_tests",)),
        ({"verifier": "code", "tests": "[1]", "answer": "pass"}, ("wrong_type_tests",)),
    ],
)
def test_a_row_that_cannot_be_read_is_an_error_with_its_reasons(fields, flags):
    graded = grade_fields(fields, TABLE)
    assert (graded.verdict, graded.reward, graded.flags) == ("error", None, flags)


def test_a_verifier_that_fails_costs_its_row_alone(monkeypatch):
    def broken(row):
        raise ZeroDivisionError(row)

    table = {**TABLE, "number": type(TABLE["number"])("number", "1", broken)}
    graded = grade_fields({"verifier": "number", "gold": "1", "answer": "1"}, table)
    assert (graded.verdict, graded.flags) == ("error", ("ZeroDivisionError", "verifier_failed"))


def test_every_verifier_says_what_it_is():
    assert list(TABLE) == ["number", "math", "choice", "text", "date", "list", "set", "interval", "code"]
    for verifier in TABLE.values():
        assert verifier.version
        assert (verifier.low, verifier.high) == (0.0, 1.0)
        assert verifier.about.endswith(".")
        assert set(verifier.takes) <= {*AnswerContract.model_fields, "prompt"}


CODE = "```python\ndef add(a, b):\n    return a + b\n```"


@pytest.mark.parametrize(
    ("tests", "answer", "expected"),
    [
        ({"kind": "call", "entry_point": "add", "inputs": [[1, 2], ["a", "b"]], "outputs": [3, "ab"]}, CODE, CORRECT),
        ({"kind": "call", "entry_point": "add", "inputs": ["[1, 2]"], "outputs": ["4"]}, CODE, INCORRECT),
        ({"kind": "assert", "entry_point": "add", "code": "assert add(1, 2) == 3"}, CODE, CORRECT),
        ({"kind": "assert", "code": ["assert add(1, 2) == 3", "assert add(0, 0) == 1"]}, CODE, INCORRECT),
        ({"kind": "stdin", "inputs": ["1 2\n"], "outputs": ["3\n"]}, "print(sum(map(int, input().split())))", CORRECT),
        ({"kind": "assert", "code": "assert add(1, 2) == 3"}, "def add(a, b", NO_ANSWER),
        ({"kind": "stdin", "inputs": [], "outputs": []}, "pass", NO_GOLD),
        ({"kind": "eel", "code": "assert 1"}, "pass", NO_GOLD),
        ({"kind": "assert", "code": "assert ("}, "pass", NO_GOLD),
    ],
)
def test_code_rows_of_each_kind(tests, answer, expected):
    table = verifiers(allow_weak_sandbox=True)
    for spelt in (tests, json.dumps(tests)):  # an object, or its JSON text as Parquet files keep it
        graded = grade_fields({"verifier": "code", "tests": spelt, "answer": answer}, table)
        assert (graded.verdict, graded.reward) == expected
        assert (graded.tier is not None) == (expected in (CORRECT, INCORRECT))


# --- lines ---


def test_what_is_carried_keeps_its_spelling():
    line = (
        '{ "x" : 1.10 , "id":7,"\\u0079":[1e400, 123456789012345678901234567890, "\\ud800"],"gold": 1.50,"verdict":"old","z":{"a" : NaN}}'
    )
    fields = read_line(line.encode())
    assert fields.carried == [('"x"', "1.10"), ('"\\u0079"', '[1e400, 123456789012345678901234567890, "\\ud800"]'), ('"z"', '{"a" : NaN}')]
    assert fields.known == {"id": 7, "gold": "1.50"}
    assert fields.texts == {"id": "7", "gold": "1.50"}
    assert fields.flags == []


def test_numbers_beyond_what_python_converts_are_kept():
    digits = "9" * 5000
    fields = read_line(f'{{"gold":{digits},"x":[{digits}]}}'.encode())
    assert fields.known == {"gold": digits}
    assert fields.carried == [('"x"', f"[{digits}]")]


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        (b"", "not_json"),
        (b"eel", "not_json"),
        (b'{"a":1', "not_json"),
        (b'{"a":1}}', "not_json"),
        (b'{"a":1,}', "not_json"),
        (b'{"a" 1}', "not_json"),
        (b"{'a':1}", "not_json"),
        (b'{1:"a"}', "not_json"),
        (b'{"a":1} {"b":2}', "not_json"),
        (b'{"a":01}', "not_json"),
        (b"[1", "not_json"),
        (b"[1]", "not_object"),
        (b'"text"', "not_object"),
        (b"null", "not_object"),
        (b'{"a":"\xff"}', "invalid_utf8"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "too_deep"),
    ],
)
def test_a_line_that_is_no_record_says_why(line, flag):
    with pytest.raises(RowError, match=f"^{flag}$"):
        read_line(line)


@pytest.mark.parametrize("value", [{}, {"a": 1}, {"a": {"b": [1, 2, {"c": None}]}, "d e": '\\"}{,:'}, {"é\u2028": "\x7f"}])
@pytest.mark.parametrize("separators", [(",", ":"), (" , ", "\t:\r\n ")])
def test_lines_are_read_as_the_standard_decoder_reads_them(value, separators):
    fields = read_line(json.dumps(value, separators=separators).encode() + b" \r\n")
    assert {json.loads(name): json.loads(text) for name, text in fields.carried} == value


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v), max_leaves=8
)


@settings(max_examples=300, deadline=None)
@given(
    value=JSON, ascii_only=st.booleans(), cut=st.integers(0, 60), put=st.sampled_from(["", "", "", "{", "}", ",", '"', "\\", "0", " ", ":"])
)
def test_a_line_is_a_record_exactly_where_the_standard_decoder_reads_an_object(value, ascii_only, cut, put):
    text = json.dumps({"a": value, "b": 1}, ensure_ascii=ascii_only)
    data = (text[:cut] + put + text[cut + len(put) :]).encode("utf-8", "replace")
    try:
        expected = json.loads(data.decode())
    except ValueError:
        expected = None
    try:
        fields = read_line(data)
    except RowError:
        assert not isinstance(expected, dict)
        return
    assert isinstance(expected, dict)
    if not fields.flags:
        found = {json.loads(name): json.loads(spelt) for name, spelt in fields.carried} | {
            n: json.loads(t) for n, t in fields.texts.items()
        }
        assert repr(found) == repr({name: part for name, part in expected.items() if name not in RESULTS})


def test_a_name_given_twice_is_ambiguous():
    fields = read_line(b'{"id": 1, "answer": "17", "answer": "18"}')
    assert (fields.flags, fields.known) == (["duplicate_key"], {"id": 1, "answer": "17"})
