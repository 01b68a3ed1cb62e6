from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from schemas.contract import AnswerContract
from udfs.grading import grade, grade_format

NUMBER = AnswerContract(type="number", gold="18")
TEXT = AnswerContract(type="text", gold="Paris")


@pytest.mark.parametrize(
    ("response", "extracted", "flags"),
    [
        ("18", "18", ()),
        ("16 + 2 = 18.\nAnswer: 18", "18", ()),
        ("16 + 2 = 18. Answer: 18", "18", ()),
        ("**Answer:** 18", "18", ()),
        ("**Answer: 18**", "18", ()),
        ("Final answer: 18", "18", ()),
        ("> - The answer is: 18", "18", ()),
        ("ANSWER:\n\n18", "18", ()),
        ("Answer: 17\nNo.\nAnswer: 18", "18", ("multiple_answers",)),
        ("Answer: 18\nAnswer: 18.", "18.", ()),
        ("Answer: 18\nThat is all.", "18", ("answer_not_last",)),
        ('{"answer": 18}', "18", ()),
        ('```json\n{"answer": "18"}\n```', "18", ()),
        ('Here: {"answer": 18} done', "18", ("answer_not_last",)),
        ('{"answer": 17, "answer": 18}', "18", ("multiple_answers",)),
        ('Answer: {"answer": 18}', "18", ()),
        ("Answer: 3</think>18", "18", ()),
        ("A: 18", "18", ()),
        ("#### 18", "18", ()),
    ],
)
def test_where_the_answer_is_found(response, extracted, flags):
    got = grade(NUMBER, response)
    assert (got.verdict, got.extracted, got.flags) == ("correct", extracted, flags)


@pytest.mark.parametrize(
    "response", ["", "   \n", "Answer:", "Answer:   ", '{"answer": null}', '{"answer": [18]}', '{"answer": NaN}', "x" * 201]
)
def test_a_response_without_an_answer_is_the_candidates_fault(response):
    got = grade(NUMBER, response)
    assert (got.verdict, got.reward) == ("unparsable_pred", 0.0)


def test_a_long_response_without_marker_is_no_answer_even_if_it_holds_the_gold():
    got = grade(TEXT, "Paris " * 100)
    assert (got.verdict, got.flags) == ("unparsable_pred", ("overlong",))


def test_the_word_answer_within_a_sentence_is_no_marker():
    assert grade(TEXT, "Paris\nmy wrong answer: not this").verdict == "incorrect"


_M = 200_000
HOSTILE = {
    "digits": "9" * _M, "answer digits": "Answer: " + "9" * _M, "brackets": "[" * _M, "json depth": '{"answer": ' + "[" * _M + "]" * _M + "}", "objects": '{"answer":' * (_M // 10),
    "stars": "*" * _M, "markers": "answer:\n" * (_M // 8), "sentences": ". " * (_M // 2), "spaces": " " * _M + "x", "blank answer": "Answer:" + " " * _M, "lines": "\n" * _M,
    "short markers": "A:\n" * (_M // 3), "commas": "1," * (_M // 2), "leads": "so the final answer is " * (_M // 23), "thoughts": "</think>" * (_M // 8), "fractions": "½" * _M,
    "powers": "Answer: " + "^9" * 250, "superscripts": "Answer: 9" + "⁹" * 500, "quotes": "Answer: " + "'" * 500, "nul": "\0" * _M, "surrogates": "Answer: " + "\ud800" * 100,
    "dates": "Answer: " + "1/" * 250, "and": "Answer: " + "A and " * 80, "signs": "Answer: " + "- ( " * 120,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_responses_cost_linear_time_and_nothing(name):
    contracts = (NUMBER, TEXT, AnswerContract(type="date", gold="1939"), AnswerContract(type="choice", gold="B", options=("x", "y")))
    for contract in contracts:
        before = time.process_time()
        got = grade(contract, HOSTILE[name])
        # A quadratic scan of 2*10^5 code points takes minutes at least; the linear one some hundredths of a second.
        assert time.process_time() - before < 10.0
        assert got.reward == 0.0
        assert got.extracted is None or len(got.extracted) <= 512


@pytest.mark.parametrize(
    ("rule", "unit", "response", "kept"),
    [
        ("json", None, '{"answer": "18"}', True),
        ("json", None, ' {"answer": 18}\n', True),
        ("json", None, '{"answer": 18, "why": "x"}', False),
        ("json", None, '{"answer": 18, "answer": 18}', False),
        ("json", None, '{"answer": [18]}', False),
        ("json", None, '{"answer": null}', False),
        ("json", None, '[{"answer": 18}]', False),
        ("json", None, '```{"answer": 18}```', False),
        ("json", None, "{'answer': 18}", False),
        ("json", None, "[" * 100_000, False),
        ("one_word", None, "Paris", True),
        ("one_word", None, "Paris.", True),
        ("one_word", None, "in Paris", False),
        ("one_word", None, "...", False),
        ("one_word", None, "", False),
        ("unit", "km", "18 km", True),
        ("unit", "km", "Answer: 18 kilometres", True),
        ("unit", "km", "18", False),
        ("unit", "km", "18 m", False),
        ("unit", "km", "km 18", False),
        ("unit", "km", "18 km, more or less", False),
    ],
)
def test_format_rules(rule, unit, response, kept):
    got = grade_format(AnswerContract(type="number", gold="18", unit=unit, format=rule), response)
    assert got is not None
    assert (got.verdict, got.reward) == (("correct", 1.0) if kept else ("incorrect", 0.0))


def test_format_is_graded_only_where_asked_for_and_null_where_the_gold_cannot_keep_it():
    assert grade_format(NUMBER, "18") is None
    for contract in (
        AnswerContract(type="number", gold="18", format="unit"),
        AnswerContract(type="text", gold="New York", format="one_word"),
    ):
        got = grade_format(contract, "x")
        assert got is not None
        assert (got.verdict, got.reward) == ("unparsable_gold", None)


GSM8K = Path(__file__).resolve().parents[3] / "shared" / "data" / "gsm8k" / "example_model_solutions.jsonl"


@pytest.mark.shared
@pytest.mark.skipif(not GSM8K.exists(), reason="../shared/data is not beside this checkout")
def test_agrees_with_the_published_labels_of_gsm8k():
    disagree, seen = [], 0
    for line in GSM8K.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        gold = row["ground_truth"].rpartition("A: ")[2]
        for model in ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"):
            got = grade(AnswerContract(type="number", gold=gold), row[model]["solution"])
            seen += 1
            if (got.reward == 1.0) != row[model]["is_correct"]:
                disagree.append((gold, got, row[model]["solution"][-60:]))
    assert seen == 3200
    assert disagree == []
