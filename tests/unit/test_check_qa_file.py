"""verilake check-qa on plain files: a row out for every row, in order, in every format; what only the whole file can say; through the command, no JVM."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.check_qa.survey import Survey
from jobs.check_qa_file import NEEDED
from jobs.cli.main import run as verilake
from jobs.grade.source import open_source
from tests.check_qa_items import items
from udfs.probes.item import PROBES, RESULTS
from udfs.probes.spoil import TELLABLE, spoil

ITEMS = items()
GOOD = ITEMS[0]
#: Lines that are no items, and why.
BAD = [
    ("{nonsense", ["not_json"]),
    ("[1]", ["not_object"]),
    ('{"question": "q", "question": "r", "answer": "a", "context": "a"}', ["duplicate_key"]),
    ('{"question": "Who?", "context": "c"}', ["missing_answer"]),
    ('{"question": "Who?", "answer": "", "context": "c"}', ["empty_answer"]),
    (
        '{"question": "Who?", "answer": {"text": "a"}, "context": "c", "answer_start": "1"}',
        ["wrong_type_answer", "wrong_type_answer_start"],
    ),
    (b'{"question": "\xff"}', ["invalid_utf8"]),
]


def write(path, rows):
    lines = [
        row if isinstance(row, bytes) else row.encode() if isinstance(row, str) else json.dumps(row, ensure_ascii=False).encode()
        for row in rows
    ]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def lines_of(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def check_qa(*arguments):
    return verilake(["check-qa", *map(str, arguments)])


def test_every_row_comes_out_in_order_with_its_state(tmp_path, capsys):
    rows = [*ITEMS, *(line for line, _ in BAD), *(spoil(row, "answer_altered") for row in ITEMS[:5])]
    assert check_qa(write(tmp_path / "in.jsonl", rows), "--out", tmp_path / "out.jsonl", "--json", "--workers", 2) == 0
    said, found = capsys.readouterr(), lines_of(tmp_path / "out.jsonl")
    assert len(found) == len(rows)
    assert [row["state"] for row in found] == ["accepted"] * len(ITEMS) + ["rejected"] * (len(BAD) + 5)
    assert [row["reasons"] for row in found[len(ITEMS) : len(ITEMS) + len(BAD)]] == [reasons for _, reasons in BAD]
    assert list(found[0]) == [*GOOD, *RESULTS]
    assert {name: found[0][name] for name in GOOD} == GOOD
    assert all(set(row["probes"]) == set(PROBES) for row in found)
    (summary,) = map(json.loads, said.out.splitlines())
    assert summary["rows"] == len(rows) == sum(summary["states"].values())
    assert summary["states"] == {"accepted": len(ITEMS), "rejected": len(BAD) + 5}
    assert summary["shares"]["self_contained"] == 1.0
    assert [error["flags"] for error in summary["errors"]] == [reasons for _, reasons in BAD]
    assert summary["errors"][0]["line"] == len(ITEMS) + 1
    assert summary["languages"]["el"] == {"accepted": 3}
    assert "unreadable: line 44, id None: not_json" in said.err


def test_one_process_and_two_give_the_same_bytes_in_every_format(tmp_path):
    made = [spoil(row, kind) for kind in TELLABLE for row in ITEMS]
    path = write(tmp_path / "in.jsonl", [row | {"extra": [1, {"n": "1.50"}]} for row in made if row is not None] + ["{bad"])
    for name in ("out.jsonl.gz", "out.parquet"):
        for workers in (1, 2):
            assert check_qa(path, "--out", tmp_path / f"{workers}{name}", "--workers", workers) == 0
        assert (tmp_path / f"1{name}").read_bytes() == (tmp_path / f"2{name}").read_bytes()
    plain = gzip.decompress((tmp_path / "1out.jsonl.gz").read_bytes())
    read = pq.read_table(tmp_path / "1out.parquet").to_pylist()
    assert [{name: row[name] for name in RESULTS} for row in read] == [
        {name: row[name] for name in RESULTS} for row in map(json.loads, plain.splitlines())
    ]


def test_parquet_in_keeps_its_columns(tmp_path):
    table = pa.Table.from_pylist([row | {"rank": at} for at, row in enumerate(ITEMS)]).append_column(
        "state", pa.array(["old"] * len(ITEMS))
    )
    pq.write_table(table, tmp_path / "in.parquet")
    assert check_qa(tmp_path / "in.parquet", "--out", tmp_path / "out.parquet") == 0
    assert check_qa(tmp_path / "in.parquet", "--out", tmp_path / "out.jsonl") == 0
    found = pq.read_table(tmp_path / "out.parquet")
    assert found.column_names == [*GOOD, "rank", *RESULTS]  # the old state is replaced
    assert found.schema.field("answer_start").type == pa.int64()
    assert found.to_pylist() == lines_of(tmp_path / "out.jsonl")
    assert set(found.column("state").to_pylist()) == {"accepted"}


def test_a_checked_file_can_be_checked_again(tmp_path):
    rows = [*ITEMS[:6], spoil(GOOD, "answer_verbatim")]
    assert check_qa(write(tmp_path / "in.jsonl", rows), "--out", tmp_path / "once.jsonl") == 0
    assert check_qa(tmp_path / "once.jsonl", "--out", tmp_path / "twice.jsonl") == 0
    assert (tmp_path / "once.jsonl").read_bytes() == (tmp_path / "twice.jsonl").read_bytes()


def test_what_only_the_whole_file_can_say(tmp_path):
    """Two of four numbers are 308; the second row repeats the first, the third contradicts it; a question of the context names a sibling's answer."""
    context = GOOD["context"]
    rows = [
        GOOD,
        GOOD | {"id": "again", "question": GOOD["question"].upper()},
        GOOD | {"id": "other", "answer": "1874", "answer_start": context.index("1874")},
        GOOD | {"id": "elsewhere", "group": "g", "answer": "1874", "answer_start": context.index("1874")},
        {
            "id": "tells",
            "question": "What did Ada Quill build?",
            "answer": "The lighthouse",
            "answer_start": 0,
            "context": context,
            "language": "en",
        },
        ITEMS[1] | {"id": "told"},
    ]
    assert check_qa(write(tmp_path / "in.jsonl", rows), "--out", tmp_path / "out.jsonl", "--workers", 1) == 0
    found = {row["id"]: row for row in lines_of(tmp_path / "out.jsonl")}
    assert [found[name]["reasons"] for name in ("en-0", "again", "other", "elsewhere", "tells")] == [
        [], ["duplicate_question"], ["conflicting_answers"], [], [],
    ]  # fmt: skip
    assert (found["again"]["probes"]["duplicate_of"], found["other"]["probes"]["duplicate_of"]) == (1, 1)  # lines from 1
    assert [found[name]["probes"]["base_rate"] for name in ("en-0", "elsewhere", "told")] == [0.5, 0.5, 0.5]
    assert [found[name]["probes"]["siblings_told"] for name in ("en-0", "elsewhere", "tells")] == [1, 0, 1]
    assert found["elsewhere"]["probes"]["siblings"] == 0


def test_siblings_are_bounded_and_nearest(tmp_path):
    rows = [GOOD | {"id": at, "question": f"Q{at}?", "answer": f"answer {at:03}"} for at in range(100)]
    with open_source(write(tmp_path / "in.jsonl", rows), NEEDED) as source:
        survey = Survey.of(source)
    assert survey.note(50)[4] == [f"answer {at:03}" for at in (*range(34, 50), *range(51, 67))]  # 16 on either side
    assert survey.note(0)[4] == [f"answer {at:03}" for at in range(1, 33)]


def test_rows_go_to_stdout_and_the_summary_to_stderr(tmp_path, capfdbinary):
    assert check_qa(write(tmp_path / "in.jsonl", ITEMS[:2]), "--json") == 0
    said = capfdbinary.readouterr()
    assert [json.loads(line)["state"] for line in said.out.splitlines()] == ["accepted", "accepted"]
    assert json.loads(said.err.splitlines()[-1])["rows"] == 2


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (b"", 3, "no record in it"), (b'{"question": "q", "context": "c"}\n', 3, "no record has the field 'answer'; there are: 'context', 'question'"), (b"\x89PNG\r\n\x1a\n\0\0", 3, "in.jsonl"),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_is_refused(tmp_path, capsys, content, code, words):
    (tmp_path / "in.jsonl").write_bytes(content)
    assert check_qa(tmp_path / "in.jsonl", "--out", tmp_path / "out.jsonl") == code
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()


def test_a_process_killed_in_the_midst_changes_no_byte(tmp_path, monkeypatch):
    path = write(tmp_path / "in.jsonl", ITEMS)
    assert check_qa(path, "--out", tmp_path / "calm.jsonl", "--workers", 1) == 0
    monkeypatch.setenv("VERILAKE_KILL_AT", "probes/row:30")  # every process dies at its thirtieth row
    assert check_qa(path, "--out", tmp_path / "shot.jsonl", "--workers", 1) == 0
    assert (tmp_path / "shot.jsonl").read_bytes() == (tmp_path / "calm.jsonl").read_bytes()
