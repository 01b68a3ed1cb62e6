r"""Backslashes in replies: doubled ones stay, lost ones are restored from the passage or refused; never is a formula corrupted silently."""

from __future__ import annotations

import json

import pytest

from tests.conversions import document, generated, run, script, states
from udfs.conversion.escapes import restored

FORMULAS = r"""We have $\frac{a}{b} \times \beta = \nu$ and $\theta \neq \rho$; hence \begin{matrix} 1 \\ 2 \end{matrix}.
use of \alpha is free."""


@pytest.mark.parametrize(
    ("text", "passage", "meant"),
    [
        pytest.param(r"\frac{a}{b} \times \beta", FORMULAS, r"\frac{a}{b} \times \beta", id="sound"),
        pytest.param("\x0crac{a}{b} \times \x08eta", FORMULAS, r"\frac{a}{b} \times \beta", id="form feed, tab, backspace"),
        pytest.param("\nu", FORMULAS, r"\nu", id="nu, though a line of the passage begins with u"),
        pytest.param("\theta \neq \rho", FORMULAS, r"\theta \neq \rho", id="tab, line feed, carriage return"),
        pytest.param("\\\\frac{a}{b}", FORMULAS, r"\frac{a}{b}", id="doubled twice"),
        pytest.param(r"1 \\ 2", FORMULAS, r"1 \\ 2", id="a line break of LaTeX"),
        pytest.param("\x0crac{a}{b}", "no formula", None, id="form feed, nothing to go by"),
        pytest.param("\times", "no formula", None, id="tab, nothing to go by"),
        pytest.param("x \neq y", "x is not y", None, id="line feed, nothing to go by"),
        pytest.param("\x0cPage 2", "end\x0cPage 2", "\x0cPage 2", id="a form feed of the passage"),
        pytest.param("a\nb c", "a\nb c", "a\nb c", id="a line break of the passage"),
        pytest.param(
            "first line\nand the second", "it is the first line and the second", "first line\nand the second", id="wrapped elsewhere"
        ),
        pytest.param("one\ttwo", "nothing alike", "one\ttwo", id="white space that is no command"),
        pytest.param("pane e vino, pesce\ne pane", "pane e vino, pesce\r\ne pane", "pane e vino, pesce\ne pane", id="an Italian and"),
        pytest.param("a\x00b", "a b", None, id="NUL"),
        pytest.param("naïve café", "", "naïve café", id="letters beyond ASCII"),
    ],
)
def test_what_was_meant(text, passage, meant):
    assert restored(text, passage) == meant


def single(reply: str) -> str:
    """The reply as by a model that does not double its backslashes."""
    return reply.replace("\\\\", "\\")


def convert_formula(reply: str, *, passage: str = FORMULAS, again: str | None = None):
    replies = script(reply) | ({("generate", 0, 1): again} if again is not None else {})
    return run(replies, document(passage, title=None))[0]


def test_a_formula_survives_with_and_without_doubled_backslashes():
    reply = generated(
        evidence=[r"$\frac{a}{b} \times \beta = \nu$"],
        question=r"What equals \frac{a}{b} \times \beta?",
        answer=r"\nu",
        answer_type="expression",
    )
    (sound,) = convert_formula(reply).items
    assert sound["answer"] == r"\nu"
    assert sound["question"] == r"What equals \frac{a}{b} \times \beta?"
    assert FORMULAS[sound["answer_start"] : sound["answer_end"]] == r"\nu"
    assert json.loads(sound["contract"])["gold"] == r"\nu"
    assert json.loads(single(reply))["answer"] == "\nu"  # sound JSON that says something else
    assert convert_formula(single(reply)).items == (sound,)


def test_a_formula_that_cannot_be_restored_is_no_reply():
    reply = generated(evidence=["hence"], question=r"What is \frac{1}{2} of four?", answer="2", answer_type="number")
    assert states(convert_formula(single(reply), passage="hence 2", again=single(reply)))[-1] == "generate 0 failed reply:malformed"
    # Backslashes that no JSON string may hold make the whole reply none: \alpha.
    assert json.loads(reply)
    odd = generated(evidence=[r"use of \alpha"], question="Which letter is free?", answer=r"\alpha", answer_type="expression")
    with pytest.raises(ValueError, match="escape"):
        json.loads(single(odd))
    assert states(convert_formula(single(odd), again=odd))[-1] == "check 0 passed"
