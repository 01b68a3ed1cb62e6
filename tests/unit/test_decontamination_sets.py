"""Benchmark files as items: public formats, the generic one, and what is refused."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from udfs.decontamination.adapters import BenchmarkError, Fields, read_items
from udfs.decontamination.items import Item, fingerprint, version_of


def lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def test_gsm8k_parts_solution_and_answer_and_leaves_out_calculator_notes(tmp_path):
    path = lines(tmp_path / "a.jsonl", {"question": "How many?", "answer": "He has 2+3=<<2+3=5>>5 apples.\n#### 5"})
    assert read_items(path, "gsm8k") == [Item("0", "How many?", "5", "He has 2+3=5 apples.")]


def test_math_reads_both_names_of_the_question(tmp_path):
    records = [
        {"problem": "Find $x$.", "solution": "So $x=1$.", "answer": "1", "unique_id": "t/1"},
        {"question": "Find $y$.", "answer": "2"},
    ]
    assert read_items(lines(tmp_path / "a", *records), "math") == [
        Item("t/1", "Find $x$.", "1", "So $x=1$."),
        Item("1", "Find $y$.", "2", "2"),
    ]


def test_code_sets_keep_reference_and_tests(tmp_path):
    human = {
        "task_id": "HumanEval/0",
        "prompt": "def f():",
        "canonical_solution": "    return 1",
        "test": "assert f() == 1",
        "entry_point": "f",
    }
    assert read_items(lines(tmp_path / "h", human), "humaneval") == [
        Item("HumanEval/0", "def f():", "", "    return 1", (), "assert f() == 1")
    ]
    mbpp = {"task_id": 7, "text": "Write f.", "code": "def f(): return 1", "test_list": ["assert f() == 1", "assert f()"]}
    assert read_items(lines(tmp_path / "m", mbpp), "mbpp") == [
        Item("7", "Write f.", "", "def f(): return 1", (), "assert f() == 1\nassert f()")
    ]


def test_the_generic_format_takes_names_of_fields_gzip_and_parquet(tmp_path):
    rows = [{"q": "Which?", "a": 3, "choices": ["x", "y"], "id": "k"}, {"q": "Who?", "a": "he", "choices": None, "id": "k"}]
    wanted = [Item("k", "Which?", "3", "", ("x", "y")), Item("k#2", "Who?", "he")]
    fields = Fields(question="q", answer="a")
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    assert read_items(packed, "jsonl", fields) == wanted
    pq.write_table(
        pa.table({"q": ["Which?", "Who?"], "a": ["3", "he"], "choices": [["x", "y"], None], "id": ["k", "k"]}), tmp_path / "b.parquet"
    )
    assert read_items(tmp_path / "b.parquet", "jsonl", fields) == wanted


def test_every_broken_record_is_counted_and_the_first_are_named(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"question": "Q?", "answer": "A"}\n\n{"question": " ", "answer": "A"}\nno json\n{"question": "Q?"}\n[1]\n')
    with pytest.raises(BenchmarkError) as caught:
        read_items(path, "jsonl")
    message = str(caught.value)
    for part in (
        "line 3: the question is empty",
        "line 4: no JSON object",
        "line 5: no field 'answer'",
        "line 6: no JSON object",
        "--question-field",
    ):
        assert part in message
    assert caught.value.exit_code == 3


def test_a_missing_an_empty_and_a_cut_file_are_refused(tmp_path):
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(b'{"question": "Q?", "answer": "A"}\n' * 50)[:-12])
    (tmp_path / "empty").write_text("")
    (tmp_path / "fake.parquet").write_bytes(b"PAR1 and nothing else")
    for name in ("absent", "cut.gz", "empty", "fake.parquet"):
        with pytest.raises(BenchmarkError, match="Nothing was written"):
            read_items(tmp_path / name, "jsonl")


def test_the_fingerprint_is_of_the_content_alone():
    one, other = Item("1", "Q?", "A"), Item("2", "R?", "B")
    assert fingerprint([one, other]) == fingerprint([other, one])
    assert fingerprint([one]) != fingerprint([Item("1", "Q?", "a")])
    assert version_of("set", [one]) == f"set@{fingerprint([one])[:12]}"


def test_lone_surrogates_become_what_arrow_can_carry(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"question": "what \\ud800 is it", "answer": "A"}\n')
    pa.array([read_items(path, "jsonl")[0].question]).validate(full=True)


@pytest.mark.parametrize(
    ("adapter", "path", "count"),
    [
        ("gsm8k", "gsm8k/test.jsonl", 800),
        ("math", "math500/problems.jsonl", 300),
        ("humaneval", "humaneval/HumanEval.jsonl", 100),
        ("mbpp", "mbpp/mbpp.jsonl", 600),
    ],
)
def test_public_files_are_read_whole(shared_data, adapter, path, count):
    items = read_items(shared_data / path, adapter)
    assert len(items) == len({item.item_id for item in items}) == count
    assert all(item.question and item.solution for item in items)
