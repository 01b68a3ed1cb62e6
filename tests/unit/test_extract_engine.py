from __future__ import annotations

import json
import time

import pytest

from schemas.contract import AnswerContract
from schemas.ids import text_hash
from schemas.silver.qa import QA
from udfs.extract import extract, patterns

PAGE = """pumps.Pump

Class of module pumps.

class pumps.Pump(size, *, mode='slow', depth=None, port=8080, limit=_HIDDEN, table={})
Bases: engines.rotary.Rotor

Parameters:
  size
  mode (default: 'slow')

Moves water uphill by turning quickly.

Raises KeyError if the depth is unknown to the gauge.

Attributes:
  pumps.Pump.speed = 7

See also: pumps.Valve, pumps.Tank
"""
PROSE = """The old bridge of Arnheim was opened on 3 May 1871. However, it was closed in 1902. The river Lenne rises 40 metres in spring.
The bridge of Arnheim spans 210 metres (689 ft). Arnheim received a first town hall of stone in 1655."""


def _items(title, text, *, all_of_them=False, max_items=12):
    rows = extract("d", "s", "u", title, text, "{}", max_items=max_items)
    return [row for row in rows if all_of_them or row["filter_reason"] is None]


def _one(rows, kind, **fields):
    (row,) = [row for row in rows if row["kind"] == kind and all(row[key] == value for key, value in fields.items())]
    return row


@pytest.mark.parametrize(
    ("kind", "question", "answer"),
    [
        ("param_default", "What is the default value of the parameter `mode` of `pumps.Pump`?", "'slow'"),
        ("param_default", "What is the default value of the parameter `depth` of `pumps.Pump`?", "None"),
        ("param_default", "What is the default value of the parameter `port` of `pumps.Pump`?", "8080"),
        ("base_class", "Which class is the direct base class of `pumps.Pump`?", "Rotor"),
        ("constant_value", "What is the initial value of the class attribute `pumps.Pump.speed`?", "7"),
        ("docstring_name", "Which class of `pumps` is documented as follows? “Moves water uphill by turning quickly.”", None),  # leaks
        (
            "exception_raised",
            "`pumps.Pump`: which exception fills the blank? “Raises ____ if the depth is unknown to the gauge.”",
            "KeyError",
        ),
    ],
)
def test_a_documentation_page_gives_structured_questions(kind, question, answer):
    rows = [row for row in _items("pumps.Pump", PAGE) if row["kind"] == kind and row["question"] == question]
    assert [row["answer"] for row in rows] == ([] if answer is None else [answer])


def test_contracts_say_what_else_is_right():
    rows = _items("pumps.Pump", PAGE)
    assert json.loads(_one(rows, "param_default", answer="'slow'")["contract"])["aliases"] == ["slow", '"slow"']
    assert json.loads(_one(rows, "param_default", answer="8080")["contract"])["type"] == "number"
    assert json.loads(_one(rows, "base_class")["contract"])["aliases"] == ["engines.rotary.Rotor"]


def test_filters_leave_their_name():
    reasons = {row["answer"]: row["filter_reason"] for row in _items("pumps.Pump", PAGE, all_of_them=True)}
    assert reasons["_HIDDEN"] == "default_not_simple"
    assert reasons["{}"] == "default_not_simple"
    assert reasons["Pump"] == "leak" or reasons["Pump"] == "length"


def test_prose_gives_clozes_that_begin_with_the_title():
    rows = _items("Arnheim", PROSE.replace("\n", " "))
    date = _one(rows, "cloze_date")
    assert (date["question"], date["answer"]) == ("Arnheim: The old bridge of Arnheim was opened on ____.", "3 May 1871")
    assert json.loads(date["contract"])["type"] == "date"
    year = _one(rows, "cloze_year")
    assert (year["question"], year["answer"]) == ("Arnheim: Arnheim received a first town hall of stone in ____.", "1655")


def test_a_conversion_is_no_twin_of_the_blank():
    text = "The long bridge of Arnheim over the Lenne spans 210 metres (689 ft)."
    row = _one(_items("Arnheim", text), "cloze_number")
    assert row["question"] == "Arnheim: The long bridge of Arnheim over the Lenne spans ____ metres."
    assert (row["answer"], json.loads(row["contract"])["unit"]) == ("210", "metres")


def test_tokenised_numbers_keep_their_place_and_get_a_plain_gold():
    text = "The town of Arnheim on the Lenne lost about 1 @,@ 500 people ."
    row = _one(_items("Arnheim", text), "cloze_number")
    assert row["answer"] == "1 @,@ 500"
    assert json.loads(row["contract"])["gold"] == "1500"
    assert row["question"].endswith("lost about ____ people.")


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("However, the bridge of Arnheim was opened on 3 May 1871.", "deixis"),
        ("It was opened by the town of Arnheim on 3 May 1871.", "early_pronoun"),
        ("The bridge of Arnheim, which burned, was opened on 3 May 1871.", "subordinate"),
        ("The bridge of Arnheim was built on 1 May 1870 and opened on 3 May 1871.", "several_candidates"),
        ("Arnheim opened on 3 May 1871.", "length"),
        ("The <unk> bridge of Arnheim was opened on 3 May 1871.", "unreadable"),
        ('The "bridge of Arnheim was opened to all on 3 May 1871.', "unbalanced"),
        ("The old stone bridge was opened to people on 3 May 1871.", "too_few_anchors"),
        ("In 1871 the bridge of Arnheim was opened on 3 May 1871.", "leak"),
    ],
)
def test_sentences_that_a_filter_rejects(sentence, reason):
    rows = [row for row in _items("Arnheim", sentence, all_of_them=True) if row["kind"] == "cloze_date"]
    assert {row["filter_reason"] for row in rows} == {reason}


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        ("Changed in version 4.1: Valves may now be closed by name.", "`Valve rules`: in which version was this changed? “Valves may now be closed by name.”", "4.1"),
        ("valve.shut(name)\n\n   Close it.\n\n   New in version 4.2.\n", "In which version was `valve.shut` added?", "4.2"),
    ],
)  # fmt: skip
def test_versions(text, question, answer):
    row = _one(_items("Valve rules", f"Valve rules\n\n{text}"), "version_changed")
    assert (row["question"], row["answer"]) == (question, answer)


def test_names_by_description_and_special_methods():
    text = "Valve rules\n\nvalve.shut(name)\n\n   Stop the flow of water for good.\n\nobject.__flow__(self)\n\n   Called when water begins to pass through here.\n"
    rows = _items("Valve rules", text)
    assert (
        _one(rows, "docstring_name")["question"]
        == "Which function or method of `valve` is documented as follows? “Stop the flow of water for good.”"
    )
    assert _one(rows, "docstring_name")["subject"] == "valve"  # the subject must not give the answer away
    assert _one(rows, "special_method", answer="__flow__")["filter_reason"] is None


@pytest.mark.parametrize(("title", "text"), [("pumps.Pump", PAGE), ("Arnheim", PROSE), (None, " = Arnheim = \n\n" + PROSE)])
def test_rows_have_the_columns_and_the_evidence_stands_where_they_say(title, text):
    rows = _items(title, text, all_of_them=True)
    assert any(row["filter_reason"] is None for row in rows)
    known = patterns(text, title)
    for row in rows:
        assert set(row) <= set(QA.schema.names)
        assert text[row["answer_start"] : row["answer_end"]] == row["answer"]
        assert row["evidence_start"] <= row["answer_start"] < row["answer_end"] <= row["evidence_end"]
        assert row["evidence_hash"] == text_hash(text[row["evidence_start"] : row["evidence_end"]])
        assert AnswerContract.model_validate_json(row["contract"]).canonical() == row["contract"]
        assert row["pattern"] in {pattern for pattern, _ in known}
        assert isinstance(json.loads(row["distractors"]), list)
    assert [row["evidence_start"] for row in rows] == sorted(row["evidence_start"] for row in rows)
    assert rows == _items(title, text, all_of_them=True)


def test_patterns_show_that_a_sentence_stands_elsewhere_with_another_answer():
    row = _one(_items("Arnheim", "The old bridge of Arnheim was opened on 3 May 1871."), "cloze_date")
    twin = dict(patterns("However true.\n\nThe old bridge of Arnheim was opened on 9 June 1901.", "Elsewhere"))
    assert twin[row["pattern"]] == "9 june 1901"
    default = _one(_items("pumps.Pump", PAGE), "param_default", answer="'slow'")
    assert dict(patterns(PAGE.replace("'slow'", "'fast'"), "pumps.Pump"))[default["pattern"]] == "fast"


def test_two_sentences_of_a_document_with_unequal_answers_are_ambiguous():
    text = "The bridge of Arnheim was closed on 3 May 1871.\n\nThe bridge of Arnheim was closed on 4 May 1872."
    rows = [row for row in _items("Arnheim", text, all_of_them=True) if row["kind"] == "cloze_date"]
    assert [row["filter_reason"] for row in rows] == ["ambiguous_in_document"]


def test_the_quota_is_shared_among_kinds_and_the_rest_is_told():
    rows = _items("pumps.Pump", PAGE, all_of_them=True, max_items=3)
    kept = [row["kind"] for row in rows if row["filter_reason"] is None]
    assert sorted(kept) == ["base_class", "constant_value", "exception_raised"]
    assert len(rows) == 6


def test_domain_comes_from_metadata_else_from_the_source():
    assert extract("d", "src", "u", "pumps.Pump", PAGE, '{"domain":"water"}', max_items=1)[0]["domain"] == "water"
    for metadata in ("{}", "", "no json", "[1]", '{"domain":3}'):
        assert extract("d", "src", "u", "pumps.Pump", PAGE, metadata, max_items=1)[0]["domain"] == "src"


HOSTILE = {
    "one long line": "a" * 5_000_000,
    "five million words": "word " * 5_000_000,
    "open brackets": "f(" * 100_000,
    "bracketed lines": "f(\n\n" * 20_000,
    "nesting": "f(" + "[" * 500_000,
    "stops": "A. " * 100_000,
    "quotes": '"`' * 100_000,
    "dotted": "a." * 200_000,
    "class lines": "class x\n" * 20_000,
    "long signatures": ("f(" + "a=1," * 700 + ")\n\n   Do x.\n\n") * 20,
    "white space": " " * 1_000_000 + "x",
    "controls": "\0\x1b\r" * 100_000,
    "surrogates": "\ud800 The End is near in 1999. " * 2_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_takes_bounded_time(name):
    # The bound is a hundred times what these take here: it catches a quadratic scan (minutes), not a slow machine.
    before = time.process_time()
    extract("d", "s", "u", "foo", HOSTILE[name], "{}", max_items=12)
    patterns(HOSTILE[name], "foo")
    assert time.process_time() - before < 30
