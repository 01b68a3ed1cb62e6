from __future__ import annotations

import json

import pytest

from schemas.contract import AnswerContract
from schemas.ids import canonical_json, text_hash
from udfs.admission.checks import Window, check_item
from udfs.admission.near_misses import near_misses
from udfs.admission.self_test import rewritings, self_test
from udfs.grading import grade

TEXT = "😀 Zebra Falls: The bridge over the river was opened on 3 September 1939 by the mayor. It is 120 m long."
QUESTION = "Zebra Falls: On what date was the bridge over the river opened?"


def candidate(**changes):
    answer = changes.get("answer", "3 September 1939")
    start, end = TEXT.index("The bridge"), TEXT.index(" It is")
    at = TEXT.index(answer) if answer in TEXT else 0
    return {
        "qa_id": "q1", "doc_id": "d1", "engine": "extractive", "question": QUESTION, "subject": "Zebra Falls", "answer": answer,
        "contract": AnswerContract(type="date", gold=answer).canonical(), "evidence_start": start, "evidence_end": end,
        "evidence_hash": text_hash(TEXT[start:end]), "answer_start": at, "answer_end": at + len(answer), "distractors": "[]", "filter_reason": None,
    } | changes  # fmt: skip


def check(item, window=None):
    return check_item(item, window or Window(TEXT, 0, len(TEXT)), max_near_misses=8)


def test_a_sound_candidate_passes_and_every_probe_is_recorded():
    got = check(candidate())
    assert got.reason is None
    assert list(got.probes) == ["engine", "evidence", "answer", "contract", "leak"]
    # Five rewritings (gold, "Answer: gold", gold in spaces, ISO, month first; the answer and the day-first spelling are the gold again),
    # eight sentences and marks around it, eight rarer spellings of a day.
    tried = {"right": 21, "right_refused": 0, "refused": None, "near_misses": 8, "near_misses_accepted": 0, "accepted": None}
    assert got.probes["contract"] == tried
    assert (got.question_key, got.answer_key) == ("zebra falls: on what date was the bridge over the river opened", "date:1939-09-03")


def test_a_window_of_the_document_is_as_good_as_the_whole():
    item = candidate()
    offset = item["evidence_start"] - 2
    assert check(item, Window(TEXT[offset : item["evidence_end"] + 1], offset, len(TEXT))) == check(item)
    assert check(item, Window(TEXT[offset + 4 :], offset + 4, len(TEXT))).reason == "evidence_mismatch"


BAD = [
    ("engine:deixis", {"filter_reason": "deixis"}),
    ("evidence_mismatch", {"evidence_hash": text_hash("something else")}),
    ("evidence_mismatch", {"evidence_end": 10**9}),
    ("evidence_mismatch", {"evidence_start": -5}),
    ("evidence_mismatch", {"evidence_end": 0}),
    ("answer_not_in_evidence", {"answer_start": 0, "answer_end": 16}),
    ("answer_not_in_evidence", {"answer_start": 27, "answer_end": 32}),
    ("contract_rejects_gold", {"contract": "{}"}),
    ("contract_rejects_gold", {"contract": "not json"}),
    ("contract_rejects_gold", {"contract": AnswerContract(type="number", gold="3 September 1939").canonical()}),
    ("contract_rejects_gold", {"contract": AnswerContract(type="date", gold="4 September 1939").canonical()}),
    # A distractor that is the gold in full width: the item says itself that it is wrong.
    ("contract_accepts_near_miss", {"contract": AnswerContract(type="text", gold="3 September 1939").canonical(), "distractors": '["\uff13 September 1939"]'}),
    ("leak", {"question": "Was the bridge opened on 3 September 1939?"}),
    ("leak", {"subject": "The bridge of 1939"}),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "changes"), BAD)
def test_each_check_rejects_what_it_is_for(reason, changes):
    assert check(candidate(**changes)).reason == reason


def test_a_missing_document_is_a_mismatch_and_the_other_probes_still_run():
    got = check_item(candidate(), None, max_near_misses=8)
    assert (got.reason, got.evidence["doc_id"]) == ("evidence_mismatch", "d1")
    assert got.probes["leak"] == "none"


def test_the_first_failing_check_gives_the_reason_and_all_are_recorded():
    got = check(candidate(filter_reason="deixis", evidence_hash="0", question="1939?"))
    assert got.reason == "engine:deixis"
    assert got.probes["evidence"]["why"] == "other text than was quoted"
    assert got.probes["leak"] == {"word": "1939", "where": "question"}


def test_an_answer_that_the_instructions_spell_out_leaks():
    item = candidate(answer="The bridge", contract=AnswerContract(type="text", gold="like this").canonical())
    item["answer"] = "like this"
    assert check(item).probes["leak"] == {"word": "like this", "where": "prompt"}


def test_a_unit_in_the_question_is_no_leak_its_number_is():
    contract = AnswerContract(type="number", gold="120", unit="m").canonical()
    start = TEXT.index("It is")
    place = {
        "answer": "120 m",
        "contract": contract,
        "evidence_start": start,
        "evidence_end": len(TEXT),
        "evidence_hash": text_hash(TEXT[start:]),
    }
    assert check(candidate(question="Zebra Falls: How long in m is the bridge?", **place)).reason is None
    assert check(candidate(question="Zebra Falls: Is the bridge 120 m long?", **place)).reason == "leak"


CONTRACTS = [
    AnswerContract(type="number", gold="1939"),
    AnswerContract(type="number", gold="-1"),
    AnswerContract(type="number", gold="0"),
    AnswerContract(type="number", gold="0.25", tolerance=0.01),
    AnswerContract(type="number", gold="12,000", unit="km"),
    AnswerContract(type="number", gold="3/4"),
    AnswerContract(type="number", gold="50", unit="%"),
    AnswerContract(type="number", gold="37", unit="°C"),
    AnswerContract(type="date", gold="3 September 1939"),
    AnswerContract(type="date", gold="January 1, 1900"),
    AnswerContract(type="date", gold="September 1939"),
    AnswerContract(type="date", gold="1939"),
    AnswerContract(type="date", gold="44 BC"),
    AnswerContract(type="text", gold="Winston Churchill", aliases=("Churchill",)),
    AnswerContract(type="text", gold="None"),
    AnswerContract(type="text", gold="'single'", aliases=("single", '"single"')),
    AnswerContract(type="text", gold="OrderedDict", aliases=("collections.OrderedDict",)),
    AnswerContract(type="text", gold="__init__", aliases=("__init__()",)),
    AnswerContract(type="text", gold="b"),
    AnswerContract(type="text", gold="utf-8"),
    AnswerContract(type="text", gold="日本"),
    AnswerContract(type="choice", gold="B", options=("red", "green", "blue")),
    AnswerContract(type="choice", gold="C"),
]


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda c: f"{c.type}-{c.gold}")
def test_sound_contracts_accept_their_gold_and_reject_near_misses(contract):
    trial = self_test(contract, contract.gold, seed="x", limit=50)
    assert (trial.refused, trial.accepted) == (None, None)
    assert trial.n_right >= 3
    # Era and calendar leave no rule for a year BC.
    assert trial.n_near_misses >= (0 if contract.gold == "44 BC" else 2)


@pytest.mark.parametrize(
    ("contract", "others"),
    [
        (AnswerContract(type="number", gold="12", tolerance=20), ()),  # wider than the value: takes its double
        (AnswerContract(type="text", gold="spam", aliases=("eggs",)), ("ｅｇｇｓ",)),  # what the item calls wrong is right by an alias
    ],
)
def test_lenient_contracts_are_found_out(contract, others):
    assert self_test(contract, contract.gold, others=others, limit=50).accepted is not None


def test_near_misses_know_their_type():
    number = near_misses(AnswerContract(type="number", gold="132", unit="km"), limit=50)
    assert number == ("133", "131", "312", "123", "1320", "13.2", "264", "-132", "132 m")
    date = near_misses(AnswerContract(type="date", gold="2024-02-29"), limit=50)
    assert date == ("2024-03-01", "2024-02-28", "2024-03-28", "2024-01-28", "2025-02-28", "2023-02-28", "2024-02", "2024")
    choice = near_misses(AnswerContract(type="choice", gold="A", options=("x", "y")), limit=50)
    assert choice == ("B", "A and B", "y", "A. y", "B (x)", "not A")
    text = near_misses(AnswerContract(type="text", gold="Winston Churchill"), others=("Attlee",), limit=4)
    assert text == ("Attlee", "Winston", "Churchill", text[3])
    assert near_misses(AnswerContract(type="text", gold="spam"), seed="a") == near_misses(
        AnswerContract(type="text", gold="spam"), seed="a"
    )


def test_rewritings_are_right_answers_in_other_words():
    assert "3 September 1939" in rewritings(AnswerContract(type="date", gold="1939-09-03"))
    assert "12,000" in rewritings(AnswerContract(type="number", gold="12000"))
    for contract in CONTRACTS:
        for text in rewritings(contract):
            assert grade(contract, text).verdict == "correct", (contract.gold, text)


def test_hostile_candidates_end_in_a_verdict():
    for text in ("{question}", "</script><b>", "```\n", "\\", "a" * 5000, "\u202e", "(((((((", "%s%n", "{}"):
        item = candidate(
            question=text, answer=text, subject=text, contract=AnswerContract(type="text", gold=text).canonical(), distractors=text
        )
        assert check(item).reason is not None
    assert check(candidate(distractors=canonical_json([1, None, "x"]))).reason is None
    assert json.loads(canonical_json(check(candidate()).probes))
