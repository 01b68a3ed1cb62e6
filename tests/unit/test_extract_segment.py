from __future__ import annotations

import pytest

from udfs.extract.outline import outline
from udfs.extract.segment import blocks_of, sentences_of
from udfs.extract.signature import signature_at


def _sentences(text):
    return [text[start:end] for block in blocks_of(text) for start, end in sentences_of(text, block)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One is here. Two is there.", ["One is here.", "Two is there."]),
        ("Dr. Who met J. R. Brown. They sang.", ["Dr. Who met J. R. Brown.", "They sang."]),
        ("It costs 3.5 crowns. Fine!", ["It costs 3.5 crowns.", "Fine!"]),
        ("A wrapped\nsentence ends.  Next one.", ["A wrapped\nsentence ends.", "Next one."]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("Spaced tokens end . Another one .", ["Spaced tokens end .", "Another one ."]),
        ("* First point.\n* Second point.", ["First point.", "Second point."]),
        ("e.g. this one stays. Yes.", ["e.g. this one stays.", "Yes."]),
        ("No end", []),
        ("```\nCode. Is skipped.\n```\nText is not.", ["Text is not."]),
    ],
)
def test_sentences(text, sentences):
    assert _sentences(text) == sentences


def test_blocks_part_at_blank_lines_indentation_bullets_and_headings():
    text = "# Title\nPara one\nstill one\n   indented\n\n- item\n  hanging\n- item two\n = Wiki = \nend\n"
    found = [(text[block.start : block.end], block.heading, block.bullet) for block in blocks_of(text)]
    assert found == [
        ("# Title", 1, False),
        ("Para one\nstill one", 0, False),
        ("indented", 0, False),
        ("- item\n  hanging", 0, True),
        ("- item two", 0, True),
        ("= Wiki =", 1, False),
        ("end", 0, False),
    ]


@pytest.mark.parametrize(
    ("text", "name", "parameters"),
    [
        ("a.b(x, y='q', *z, k=(1, 2), **w)", "a.b", [("x", None), ("y", "'q'"), ("*z", None), ("k", "(1, 2)"), ("**w", None)]),
        ("class a.B(n: int = 3) -> None", "a.B", [("n", "3")]),
        ("f(a, /, b, *, c=',')", "f", [("a", None), ("b", None), ("c", "','")]),
        ("f(s=')', t={'k': [1]})", "f", [("s", "')'"), ("t", "{'k': [1]}")]),
        ("f(a='x',\n  b=2)", "f", [("a", "'x'"), ("b", "2")]),
        ("class a.Empty", "a.Empty", []),
    ],
)
def test_signatures(text, name, parameters):
    found = signature_at(text, 0, len(text))
    assert found is not None
    assert found.name == name
    assert [(item.name, text[slice(*item.default)] if item.default else None) for item in found.parameters] == parameters


@pytest.mark.parametrize(
    "text", ["f('abc')", "f(1, 2)", "f(a.b)", "f(a) does it", "f(a", "f(a]", "word", "x = f(a)", "def f(a):", "if f(a=1):"]
)
def test_calls_and_prose_are_no_signatures(text):
    assert signature_at(text, 0, len(text)) is None


def test_topics_come_from_title_heading_or_first_line():
    text = " = Alpha = \n\nOne.\n\n = = Part = = \n\nTwo.\n\n = Beta = \n\nThree.\n"
    assert [item.topic for item in outline(text, None).passages] == ["Alpha", "Alpha", "Beta"]
    assert {item.topic for item in outline(text, "Given").passages} == {"Given"}
    assert {item.topic for item in outline("A Heading\n=========\n\nText is here.\n", None).passages} == {"A Heading"}


def test_a_wrapped_signature_is_explained_by_what_follows_it():
    text = (
        "Methods of pumps\n\npump.run(speed='slow',\n         depth=3)\n\n   Let it go on for some time.\n\n   More of it.\n\nAfterwards.\n"
    )
    doc = outline(text, "Methods of pumps")
    (definition,) = doc.definitions
    assert text[definition.body.start : definition.body.end] == "Let it go on for some time."
    assert [(item.definition.name if item.definition else None) for item in doc.passages][1:] == ["pump.run", "pump.run", None]
