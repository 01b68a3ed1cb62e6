"""Rules by engine: what people wrote as a task is measured by the checks of conversion, and rejected by its contract alone."""

from __future__ import annotations

import json

import pytest

from schemas.code import CodeContract
from schemas.contract import AnswerContract
from schemas.ids import text_hash
from udfs.admission.checks import Window, check_item
from udfs.admission.keys import answer_key, question_key, wording_key
from udfs.admission.verdicts import verdict_of

TEXT = "Question:\nTom has 3 pens and buys 4. How many pens has he, 3 or 7?\n\nAnswer: 7"


def word_problem(**changes):
    start = len(TEXT) - 1
    return {
        "qa_id": "q1", "ingest_id": "i1", "kind": "word_problem", "doc_id": "d1", "engine": "adapter", "question": "Tom has 3 pens and buys 4. How many pens has he, 3 or 7?",
        "subject": "", "answer": "7", "contract": AnswerContract(type="number", gold="7").canonical(), "evidence_start": start, "evidence_end": start + 1,
        "evidence_hash": text_hash("7"), "answer_start": start, "answer_end": start + 1, "distractors": "[]", "filter_reason": None,
    } | changes  # fmt: skip


def check(item, text=TEXT):
    return check_item(item, Window(text, 0, len(text)), max_near_misses=8)


@pytest.mark.parametrize(("engine", "reason"), [("adapter", None), ("generator", None), ("extractive", "leak"), ("vllm", "leak")])
def test_a_stated_answer_rejects_what_was_converted_and_is_a_figure_of_what_was_written(engine, reason):
    got = check(word_problem(engine=engine))
    assert got.reason == reason
    assert got.probes["leak"] == {"word": "7", "where": "question"}


#: Columns of the grouped checks, for a candidate of which none found anything.
ALONE = dict.fromkeys((
    "collision_answer", "collision_doc", "question_reason", "question_other", "wording_items", "wording_same", "sibling_id", "siblings",
    "sibling_answered", "sibling_refused",
)) | {"row_reason": None, "row_evidence": "{}", "row_probes": "{}", "base_rank": 1, "base_cap": 3, "base_items": 20, "type_items": 50, "type_same": 4}  # fmt: skip


def verdict(**changes):
    got = verdict_of(word_problem() | ALONE | changes)
    return got["reason"], json.loads(got["probes"])


@pytest.mark.parametrize(("engine", "found"), [("adapter", "admitted"), ("extractive", "collision")])
def test_collision_and_base_rate_are_figures_of_what_was_written(engine, found):
    reason, probes = verdict(engine=engine, collision_answer="8", collision_doc="d2", base_rank=9)
    assert reason == found
    assert probes["collision"] == {"doc_id": "d2", "answer": "8"}
    assert probes["base_rate"] == {"rank": 9, "cap": 3, "items_of_kind": 20, "items_of_type": 50, "same_answer": 4}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "admitted"),
        ({"base_rank": 4}, "base_rate"),
        ({"sibling_id": "q0", "siblings": 2, "sibling_refused": False}, "admitted"),
        ({"sibling_id": "q0", "siblings": 2, "sibling_refused": True}, "sibling_leak"),
        ({"siblings": 0, "sibling_answered": "q0", "sibling_refused": True}, "sibling_leak"),
        ({"question_reason": "duplicate_question", "question_other": "q0", "base_rank": None}, "duplicate_question"),
        ({"row_reason": "leak", "row_evidence": '{"word":"7"}', "base_rank": None}, "leak"),
    ],
    ids=["nothing", "rate", "sibling reported", "sibling refused", "states refused", "asked", "row"],
)
def test_the_first_check_that_rejects_gives_the_reason_and_every_probe_is_there(changes, reason):
    found, probes = verdict(engine="extractive", **changes)
    assert found == reason
    assert set(probes) == {"collision", "question", "base_rate", "without_subject", "siblings"}
    if "sibling_id" in changes:
        assert probes["siblings"] == {"answered_by": "q0", "count": 2}
    compared = reason in ("admitted", "base_rate", "sibling_leak")
    assert (probes["base_rate"] != "not compared", probes["without_subject"]) == (compared, "unknown" if compared else "not compared")


def test_what_can_be_guessed_from_the_wording_alone_is_a_figure():
    _, probes = verdict(wording_items=9, wording_same=3)
    assert probes["without_subject"] == {"same_wording": 9, "same_answer": 3}
    first, second, other = (wording_key(f"What is the default of `n` of `{name}`?", name) for name in ("a.b", "c.d", ""))
    assert first == second == question_key("What is the default of `n` of ` `?") != other == ""
    assert wording_key("Which planet is red?", "Planets") == ""


def test_asked_before_and_contracts_that_err_reject_whoever_wrote_them():
    assert verdict(question_reason="duplicate_question", question_other="q0")[0] == "duplicate_question"
    broken = AnswerContract(type="number", gold="seven pens or so").canonical()
    assert check(word_problem(contract=broken)).reason == "contract_rejects_gold"


REFERENCE = "def twice(n):\n    return 2 * n"


def code_task(reference=REFERENCE, code="assert twice(2) == 4\nassert twice(0) == 0", prompt="Write twice(n)."):
    tests = {"kind": "assert", "entry_point": "twice", "code": code}
    contract = json.dumps({"type": "code", "tests": tests, "prompt": prompt})
    text = f"Task:\n{prompt}\n\nReference program:\n{reference}"
    start = len(text) - len(reference)
    place = {
        "evidence_start": start,
        "evidence_end": len(text),
        "answer_start": start,
        "answer_end": len(text),
        "evidence_hash": text_hash(reference),
    }
    return word_problem(question=prompt, answer=reference, contract=contract, kind="code_function", **place), text


# HumanEval and MBPP tasks are of this shape.
@pytest.mark.parametrize(
    ("changes", "reason", "says"),
    [
        ({}, None, None),
        ({"reference": "def twice(n):\n    return n"}, "contract_rejects_gold", "reference: test 0"),
        ({"code": "import gone\nassert twice(2) == 4"}, "contract_rejects_gold", "reference: test 0"),
        ({"code": "assert twice(0) == 0", "reference": "def twice(n):\n    return n"}, None, "weak: a program that echoes"),
        ({"code": ""}, "contract_rejects_gold", None),
    ],
    ids=["sound", "wrong reference", "broken tests", "weak tests", "no tests"],
)  # fmt: skip
def test_code_is_tried_in_the_sandbox(changes, reason, says):
    got = check(*code_task(**changes))
    assert got.reason == reason
    if says:
        assert got.probes["contract"]["problems"][0].startswith(says)


def test_options_are_part_of_what_a_choice_asks_and_tests_no_part_of_what_answers_code():
    first, second = (AnswerContract(type="choice", gold="A", options=options) for options in (("Yes", "No"), ("no", "yes")))
    other = AnswerContract(type="choice", gold="A", options=("Mars", "Venus"))
    assert question_key("Which is true?", first) == question_key("which is  true", second) != question_key("Which is true?", other)
    same, differing = (
        CodeContract.load(code_task(code=code)[0]["contract"])
        for code in ("assert twice(2) == 4\nassert twice(0) == 0", "assert twice(1) == 2")
    )
    assert answer_key(same) == answer_key(differing) == "code:twice"
