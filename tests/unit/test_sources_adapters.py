"""Records of published and of named fields as items: gold, contract, stage; what is no item says why."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.config import load_config
from schemas.code import CodeContract
from udfs.admission.checks import Window, check_item
from udfs.decontamination.adapters import read_items
from udfs.decontamination.items import fingerprint
from udfs.grading import grade
from udfs.readers.record import Reject
from udfs.sources.adapters import ADAPTERS, UnknownAdapterError, adapter_named, source_kind_of
from udfs.sources.document import document_of
from udfs.sources.item import RecordError
from udfs.sources.prompts import prompts_of
from udfs.sources.read import read_records
from udfs.sources.rows import Origin, rows_of_records

CONF = load_config().ingest
MBPP = {
    "task_id": 7,
    "text": "Double it.",
    "code": "def twice(n):\n    return 2 * n",
    "test_list": ["assert twice(4) == 8", "assert twice(0) == 0"],
}
HUMANEVAL = {
    "task_id": "H/1", "prompt": 'def twice(n):\n    """Twice n."""\n', "entry_point": "twice", "canonical_solution": "    return 2 * n\n",
    "test": "def check(candidate):\n    assert candidate(4) == 8\n",
}  # fmt: skip


def read(adapter, record):
    return adapter_named(adapter).read(record)


#: adapter, record -> gold as it is spelt, an answer that is right, one that is wrong.
GOLDS = {
    "gsm8k": ("gsm8k", {"question": "q", "answer": "so <<1+1=2>>2\n#### 72"}, "72", "72", "27"),
    "gsm8k, separators": ("gsm8k", {"question": "q", "answer": "x\n#### 1,450,000"}, "1,450,000", "1450000", "1,450"),
    "gsm8k, currency": ("gsm8k", {"question": "q", "answer": "x\n#### $18"}, "$18", "18 dollars", "18 euros"),
    "gsm8k, unit": ("gsm8k", {"question": "q", "answer": "x\n#### 5 km"}, "5 km", "5", "5 m"),
    "gsm8k, negative": ("gsm8k", {"question": "q", "answer": "x\n#### -3"}, "-3", "-3", "3"),
    "math": ("math", {"problem": "p", "solution": "s", "answer": "\\frac{1}{2}", "level": "Level 5"}, "\\frac{1}{2}", "0.5", "2"),
    "math, boxed": ("math", {"problem": "p", "solution": "is $\\boxed{x^2+1}$."}, "x^2+1", "1+x^2", "x^2-1"),
    "math, tuple": ("math", {"question": "p", "answer": "(3, \\frac{\\pi}{2})"}, "(3, \\frac{\\pi}{2})", "(3,\\pi/2)", "(\\pi/2,3)"),
    "aime": ("math", {"ID": "2024-I-1", "Problem": "p", "Answer": "073"}, "073", "73", "730"),
    "mmlu, place": ("mmlu", {"question": "q", "choices": ["red", "green", "blue", "grey"], "answer": 2}, "C", "blue", "A"),
    "mmlu, letter": ("mmlu", {"question": "q", "A": "red", "B": "green", "C": "blue", "D": "grey", "answer": "B"}, "B", "(B)", "C"),
    "mmlu-pro": ("mmlu", {"question": "q", "options": [f"o{n}" for n in range(10)], "answer": "J", "answer_index": 9}, "J", "J", "I"),
    "arc": ("mmlu", {"question": "q", "choices": {"text": ["ice", "tin"], "label": ["1", "2"]}, "answerKey": "2"}, "B", "tin", "ice"),
    "qa, number": ("qa", {"question": "q", "answer": 1200}, "1200", "1,200", "120"),
    "qa, date": ("qa", {"question": "q", "answer": "2024-02-29"}, "2024-02-29", "29 February 2024", "28 February 2024"),
    "qa, text": ("qa", {"question": "q", "answers": ["Kyiv", "Kiev"]}, "Kyiv", "Kiev", "Lviv"),
    "qa, tolerance": ("qa", {"question": "q", "answer": "9.81", "answer_type": "number", "unit": "m/s^2", "tolerance": 0.01}, "9.81", "9.80 m/s^2", "9.7"),
    "qa, list": ("qa", {"question": "q", "answer": "1, 2", "answer_type": "list", "ordered": False}, "1, 2", "2, 1", "1, 3"),
    "qa, options": ("qa", {"question": "q", "answer": "green", "options": ["red", "green"]}, "B", "B", "A"),
    "format": ("format", {"question": "q", "answer": "Rome", "format": "one_word"}, "Rome", "Rome", "Milan"),
    "safety": ("safety", {"prompt": "How do I bake bread?", "label": "safe"}, "A", "Comply", "Refuse"),
    "conversation": (
        "conversations",
        {"messages": [{"role": "user", "content": "What is 6 times 7?"}, {"role": "assistant", "content": "41"}], "outcome": {"state": "failed", "answer": 42}},
        "42", "42", "41",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GOLDS)
def test_a_gold_stands_in_its_document_and_its_contract_tells_right_from_wrong(name):
    adapter, record, gold, right, wrong = GOLDS[name]
    item = read(adapter, record)
    document = document_of(item)
    assert (item.answer, document.text[document.start : document.end]) == (gold, gold)
    assert (grade(item.contract, right).reward, grade(item.contract, wrong).reward) == (1.0, 0.0)


def test_stages_follow_the_levels_of_a_set():
    levels = {
        level: read("math", {"problem": "p", "answer": "1", "level": level}).stage for level in (1, "Level 2", 3, "4", "Level 5", "?")
    }
    assert levels == {1: 1, "Level 2": 1, 3: 2, "4": 3, "Level 5": 3, "?": 2}


@pytest.mark.parametrize(
    ("adapter", "record", "reason"),
    [
        ("gsm8k", {"question": "q", "answer": "no mark"}, "no_final_answer"),
        ("gsm8k", {"question": "q", "answer": "#### several"}, "unreadable_gold"),
        ("math", {"problem": "p", "solution": "left to the reader"}, "no_final_answer"),
        ("mbpp", MBPP | {"test_list": []}, "no_tests"),
        ("mbpp", MBPP | {"test_list": ["assert twice("]}, "broken_tests"),
        ("safety", {"prompt": "p"}, "no_deterministic_contract"),
        ("safety", {"prompt": "p", "label": "be kind"}, "no_deterministic_contract"),
        ("conversations", {"messages": [{"role": "user", "content": "hi"}]}, "no_outcome"),
        ("conversations", {"messages": [{"role": "user", "content": "hi"}], "score": 0.9}, "not_a_failure"),
        ("conversations", {"messages": [{"role": "user", "content": "hi"}], "outcome": "failed"}, "no_verifiable_answer"),
        (
            "conversations",
            {"messages": [{"role": "user", "content": "whose?"}], "outcome": {"score": 0, "answer": "a.b@harbour-office.org"}},
            "answer_is_personal",
        ),
        (
            "conversations",
            {"messages": [{"role": "user", "content": "which card?"}], "score": 0, "answer": 4111111111111111},
            "answer_is_personal",
        ),
    ],
)
def test_an_item_that_cannot_be_a_task_says_why(adapter, record, reason):
    item = read(adapter, record)
    assert (item.refused, item.contract) == (reason, None)
    document = document_of(item)
    assert document.text[document.start : document.end] == item.question


@pytest.mark.parametrize(
    ("adapter", "record", "reason"),
    [
        ("gsm8k", {"question": "q"}, "no_text"),
        ("gsm8k", {"question": ["q"], "answer": "#### 1"}, "bad_value"),
        ("mmlu", {"question": "q", "answer": 1}, "no_text"),
        ("mmlu", {"question": "q", "choices": ["one"], "answer": 0}, "bad_value"),
        ("mmlu", {"question": "q", "choices": ["a", "b"], "answer": 2}, "bad_value"),
        ("mmlu", {"question": "q", "choices": "ab", "answer": 0}, "bad_value"),
        ("humaneval", {"prompt": "p", "test": "t"}, "no_text"),
        ("qa", {"question": "q", "answer": " "}, "no_text"),
        ("qa", {"question": "q", "answer": "x", "answer_type": "poem"}, "bad_value"),
        ("qa", {"question": "q", "answer": "1", "tolerance": -1}, "bad_value"),
        ("format", {"question": "q", "answer": "x", "format": "sonnet"}, "bad_value"),
        ("conversations", {"messages": "hi"}, "no_text"),
        ("conversations", {"messages": [{"role": "assistant", "content": "hi"}]}, "no_text"),
        ("conversations", {"messages": [{"role": "judge", "content": "hi"}]}, "bad_value"),
    ],
)
def test_a_record_of_another_format_is_a_reject(adapter, record, reason):
    with pytest.raises(RecordError) as refused:
        read(adapter, record)
    assert refused.value.reason == reason


def test_adapters_are_known_by_name():
    assert source_kind_of("adapter", ADAPTERS["safety"].label) == "safety"
    assert source_kind_of("generator", "mixed@3.1") == "generator"
    with pytest.raises(UnknownAdapterError, match="gsm8k"):
        adapter_named("gsm9k")


@pytest.mark.parametrize(("adapter", "record"), [("mbpp", MBPP), ("humaneval", HUMANEVAL)])
def test_programs_keep_their_reference_and_show_no_hidden_test(adapter, record):
    item = read(adapter, record)
    assert isinstance(item.contract, CodeContract)
    assert item.contract.tests.entry_point == "twice"
    assert "return 2 * n" in document_of(item).text
    (prompt,) = prompts_of(task(item), ("answer_only", "choice"))
    assert (prompt["form"], "candidate(4)" in prompt["text"], "twice(0)" in prompt["text"], "return 2" in prompt["text"]) == (
        "code",
        *[False] * 3,
    )


def task(item):
    """The columns of gold.tasks that a prompt is made of."""
    return {
        "task_id": "t", "version": 1, "origin": "ingest=i", "question": item.question, "answer": item.answer, "contract": item.contract.canonical(),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("adapter", "record", "forms"),
    [
        # The gold stands in the question, which gives nothing away; there is no open book, for it would show the gold.
        ("gsm8k", {"question": "Is 3 odd?", "answer": "#### 3"}, ["answer_only", "reason_then_answer"]),
        ("mmlu", {"question": "q", "choices": ["a", "b", "All of the above"], "answer": 2}, ["choice"]),
        ("format", {"question": "q", "answer": "Rome", "format": "json"}, ["constrained"]),
        ("safety", {"prompt": "p", "label": "refuse"}, ["choice"]),
    ],
)
def test_forms_of_prompts(adapter, record, forms):
    rows = list(prompts_of(task(read(adapter, record)), load_config().admit.forms))
    assert [row["form"] for row in rows] == forms


def test_options_keep_their_order_and_number_and_a_question_its_lines():
    options = [f"option {n}" for n in range(10)]
    (prompt,) = prompts_of(task(read("mmlu", {"question": "Look:\n```\nx = 1\n```\nWhich?", "choices": options, "answer": 7})), ("choice",))
    assert "\n".join(f"{'ABCDEFGHIJ'[n]}. option {n}" for n in range(10)) in prompt["text"]
    assert json.loads(prompt["options"]) == options
    assert "````\nLook:\n```\nx = 1\n```\nWhich?\n````" in prompt["text"]


def test_personal_data_of_a_conversation_is_stored_nowhere(tmp_path):
    address = "a.b@harbour-office.org"
    talk = {
        "id": f"c-{address}", "user": address, "outcome": "failed", "correct_answer": "17", "title": address,
        "messages": [{"role": "system", "content": f"You serve {address}."}, {"role": "user", "content": f"I am {address}. What is 8 + 9?"}, {"role": "assistant", "content": "16"}],
    }  # fmt: skip
    path = tmp_path / "talks.jsonl"
    path.write_text(
        json.dumps(talk) + "\n" + json.dumps({"note": address}) + f'\n{{"broken": "{address}\n{{"{address}": 1, "{address}": 2}}\n', "utf-8"
    )
    rows = rows_of(path, "conversations")
    assert address not in repr((rows.items, rows.candidates, rows.benchmark))
    assert candidate_of(rows)["filter_reason"] is None
    assert "[EMAIL]. What is 8 + 9?" in candidate_of(rows)["question"]
    assert "16" not in candidate_of(rows)["question"]  # the reply that failed
    assert rows.refused == {"no_text": 1, "not_json": 1, "duplicate_key": 1}


def candidate_of(rows):
    (candidate,) = rows.candidates.values()
    return candidate


def rows_of(path, adapter):
    made_by = adapter_named(adapter)
    origin = Origin("i" * 32, "set", "train", "MIT", "adapter", made_by.label)
    return rows_of_records(read_records(path, CONF.max_document_bytes), path.name, made_by, origin, CONF)


def test_files_are_told_apart_by_content_and_every_line_is_accounted_for(tmp_path):
    good = {"question": "What is 1 + 1?", "answer": "#### 2"}
    lines = [json.dumps(good), "", "[]", "{", json.dumps({"question": "\ud800?", "answer": "#### 1"}), json.dumps(good | {"id": 9})]
    plain, packed, table = tmp_path / "a.jsonl", tmp_path / "b.bin", tmp_path / "c"
    plain.write_text("\n".join(lines), "utf-8")
    packed.write_bytes(gzip.compress("\n".join(lines).encode()))
    pq.write_table(pa.Table.from_pylist([good]), table)
    for path in (plain, packed):
        rows = rows_of(path, "gsm8k")
        assert [(row["position"], row["reason"]) for row in rows.items] == [
            (1, None),
            (3, "not_object"),
            (4, "not_json"),
            (5, "lone_surrogate"),
            (6, None),
        ]
        assert [row["uri"] for row in rows.items if row["uri"]] == [f"{path.name}#L1", "set:9"]
    assert [(row["uri"], row["licence"]) for row in rows_of(table, "gsm8k").items] == [("c#row0", "MIT")]
    plain.write_text((json.dumps(good | {"id": 9}) + "\n") * 2 + json.dumps(good), "utf-8")
    rows = rows_of(plain, "gsm8k")
    # A record that repeats another is one document, whose first record counts; the set has it twice.
    assert (len(rows.items), len({row["doc_id"] for row in rows.items}), len(rows.candidates), len(rows.benchmark)) == (3, 2, 2, 3)
    (tmp_path / "d").write_bytes(b"PAR1 is not enough")
    assert [type(found) for found in read_records(tmp_path / "d", 100)] == [Reject]


@pytest.mark.parametrize(
    ("adapter", "record"), [("gsm8k", GOLDS["gsm8k"][1]), ("math", GOLDS["math"][1]), ("mbpp", MBPP), ("humaneval", HUMANEVAL)]
)
def test_a_held_out_set_is_the_benchmark_that_benchmarks_add_would_make_of_it(adapter, record, tmp_path):
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps(record) + "\n", "utf-8")
    assert fingerprint(rows_of(path, adapter).benchmark) == fingerprint(read_items(path, adapter))


@pytest.mark.parametrize("name", GOLDS)
def test_admission_takes_what_the_adapters_make(name, tmp_path):
    adapter, record, *_ = GOLDS[name]
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps(record) + "\n", "utf-8")
    rows = rows_of(path, adapter)
    text = rows.items[0]["text"]
    assert check_item(candidate_of(rows), Window(text, 0, len(text)), max_near_misses=8).reason is None
