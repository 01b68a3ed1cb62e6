"""Sibling leakage: whose answer stands in whose question, and who goes where it rejects."""

from __future__ import annotations

import pyarrow as pa
import pytest

from udfs.admission.batches import sibling_batches
from udfs.admission.siblings import Answered, Sibling, answered, states


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("When did Marie Curie win her second prize?", "Marie Curie", True),
        ("What is the default of `n` of `zipfile.ZipExtFile.peek()`?", "peek", True),
        ("When did Curie win?", "Marie Curie", False),  # not the whole answer
        ("Is it 17 or 18?", "17", False),  # short: by chance
        ("What returns None there?", "None", False),  # common
        ("Who wrote the 1911 report?", "1911", True),
        ("What does `peeking` do?", "peek", False),  # no whole word
    ],
)
def test_a_question_states_an_answer_as_a_whole(question, answer, expected):
    assert states(question, answer) is expected


def sibling(ident, question, answer, order, **rest):
    return Sibling(ident, question, answer, f"text:{answer.casefold()}", order, **rest)


# b's question names a's answer, c's names b's: by hash b comes first and stays, so a and c go.
CHAIN = [
    sibling("a", "Who found radium?", "Marie Curie", "2"),
    sibling("b", "Where was Marie Curie born?", "Warsaw", "1"),
    sibling("c", "Which river runs through Warsaw?", "Vistula", "3"),
]


def test_who_is_answered_and_who_goes():
    assert (
        answered(CHAIN)
        == answered(CHAIN[::-1])
        == [Answered("a", "b", 1, None, True), Answered("b", "c", 1, "a", False), Answered("c", None, 0, "b", True)]
    )


def test_reports_turn_nobody_away_and_tasks_of_the_pool_stay():
    lenient = [Sibling(s.ident, s.question, s.answer, s.answer_key, s.order, strict=False) for s in CHAIN]
    assert [a.refused for a in answered(lenient)] == [False, False, False]
    pool = sibling("t", "Where was Marie Curie born?", "Warsaw", "")
    assert answered([CHAIN[0], pool]) == [Answered("a", "t", 1, None, True)]
    assert answered([sibling("d", "Which town is Warsaw's twin?", "Oslo", "1"), pool]) == [Answered("d", None, 0, "t", True)]


def test_equal_answers_do_not_answer_each_other():
    twins = [sibling("a", "Who was Marie Curie to Pierre?", "His wife", "1"), sibling("b", "Was his wife a chemist?", "his wife", "2")]
    assert answered(twins) == []


@pytest.mark.parametrize(
    ("engine", "reject", "refused"), [("extractive", True, True), ("extractive", False, False), ("adapter", True, False)]
)
def test_groups_are_read_from_batches_and_engines_have_their_rules(engine, reject, refused):
    members = [
        {"qa_id": s.ident, "question": s.question, "answer": s.answer, "answer_key": s.answer_key, "order_key": s.order, "engine": engine}
        for s in CHAIN[:2]
    ]
    (got,) = sibling_batches(iter([pa.RecordBatch.from_pylist([{"members": members}])]), reject=reject)
    assert got.to_pylist() == [
        {"qa_id": "a", "sibling_id": "b", "siblings": 1, "sibling_answered": None, "sibling_refused": refused},
        {"qa_id": "b", "sibling_id": None, "siblings": 0, "sibling_answered": "a", "sibling_refused": False},
    ]
