"""verilake grade on plain files: what comes out, in which order and format, what is refused; through the command, no JVM."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from jobs.cli.main import run as verilake
from jobs.grade import sink as sinks
from jobs.grade import source as sources
from udfs.coding.adapters import from_humaneval, from_mbpp

ROOT = Path(__file__).resolve().parents[2]

ROWS = [
    ({"id": 1, "verifier": "number", "gold": "18", "answer": "16 + 2.\n#### 18", "lang": "en"}, "correct"),
    ({"id": 2, "verifier": "number", "gold": 18, "answer": "19", "lang": "de"}, "incorrect"),
    ({"id": 3, "verifier": "math", "gold": "\\frac{1}{2}", "answer": "\\boxed{0.5}"}, "correct"),
    ({"id": 4, "verifier": "choice", "gold": "B", "options": ["Rome", "Paris"], "answer": "Paris"}, "correct"),
    ({"id": 5, "verifier": "text", "gold": "New York", "aliases": ["NYC"], "answer": "NYC"}, "correct"),
    ({"id": 6, "verifier": "date", "gold": "1939-09-03", "answer": "yesterday"}, "unparsable_pred"),
    ({"id": 7, "verifier": "list", "gold": "1, 2", "answer": "2, 1"}, "incorrect"),
    ({"id": 8, "verifier": "set", "gold": "{1, 2}", "answer": "{2, 1}"}, "correct"),
    ({"id": 9, "verifier": "interval", "gold": "(0, 1]", "answer": "0 < x \\le 1"}, "correct"),
    ({"id": 10, "verifier": "number", "gold": "eel", "answer": "1"}, "unparsable_gold"),
    ({"id": 11, "verifier": "eel", "gold": "1", "answer": "1", "lang": "fr"}, "error"),
    ({"id": 12, "verifier": "number", "answer": "1"}, "error"),
    (
        {
            "id": 13,
            "verifier": "code",
            "answer": "def add(a, b):\n    return a + b",
            "tests": {"kind": "call", "entry_point": "add", "inputs": [[1, 2]], "outputs": [3]},
        },
        "correct",
    ),
]
VERDICTS = [verdict for _, verdict in ROWS]
REWARDS = {"correct": 1.0, "incorrect": 0.0, "unparsable_pred": 0.0, "unparsable_gold": None, "error": None}


def text_of(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(text_of(row for row, _ in ROWS))
    return path


def grade(*arguments):
    return verilake(["grade", *map(str, arguments), "--allow-weak-sandbox"])


def test_every_verifier_through_the_command(file, tmp_path, capsys):
    assert grade(file, "--out", tmp_path / "out.jsonl", "--workers", 2, "--json") == 0
    said, lines = capsys.readouterr(), lines_of(tmp_path / "out.jsonl")
    assert [line["id"] for line in lines] == list(range(1, 14))
    assert [line["verdict"] for line in lines] == VERDICTS
    assert [line["reward"] for line in lines] == [REWARDS[verdict] for verdict in VERDICTS]
    fields = ["id", "verdict", "reward", "extracted", "verifier_version", "flags"]
    assert list(lines[0]) == [*fields, "lang"]  # what grading does not know is carried through
    assert list(lines[2]) == fields
    assert lines[0]["extracted"] == "18"
    assert lines[2]["verifier_version"].startswith("expression@")
    assert lines[12]["extracted"] == ROWS[12][0]["answer"]
    (summary,) = map(json.loads, said.out.splitlines())
    assert (summary["rows"], summary["verdicts"]["number"]) == (13, {"correct": 1, "error": 1, "incorrect": 1, "unparsable_gold": 1})
    assert summary["verdicts"]["unknown"] == {"error": 1}
    assert sum(sum(counts.values()) for counts in summary["verdicts"].values()) == 13  # conserved
    assert summary["errors"] == [
        {"line": 11, "id": 11, "flags": ["unknown_verifier"]},
        {"line": 12, "id": 12, "flags": ["missing_gold"]},
    ]
    assert summary["reasons"] == {"missing_gold": 1, "unknown_verifier": 1}
    assert len(summary["tiers"]) == 1
    assert "error: line 12, id 12: missing_gold" in said.err
    assert f"sandbox tier {summary['tiers'][0]}" in said.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "rows.jsonl"]


def test_rows_go_to_stdout_and_the_summary_to_stderr(file, capfdbinary):
    assert grade(file, "--json") == 0
    said = capfdbinary.readouterr()
    assert [json.loads(line)["verdict"] for line in said.out.splitlines()] == VERDICTS
    assert json.loads(said.err.splitlines()[-1])["rows"] == 13


def test_one_worker_and_two_give_the_same_bytes_in_every_format(file, tmp_path):
    file.write_text(text_of(row | {"id": 13 * n + row["id"]} for n in range(40) for row, _ in ROWS[:12]))
    for name in ("out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.parquet"):
        for workers in (1, 2):
            assert grade(file, "--out", tmp_path / f"{workers}{name}", "--workers", workers) == 0
        assert (tmp_path / f"1{name}").read_bytes() == (tmp_path / f"2{name}").read_bytes()
    plain = (tmp_path / "1out.jsonl").read_bytes()
    assert gzip.decompress((tmp_path / "1out.jsonl.gz").read_bytes()) == plain
    assert zstandard.ZstdDecompressor().decompressobj().decompress((tmp_path / "1out.jsonl.zst").read_bytes()) == plain
    expected = [{"lang": None, **json.loads(line)} for line in plain.splitlines()]
    assert pq.read_table(tmp_path / "1out.parquet").to_pylist() == expected


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_packed_files_give_the_same_rows(file, tmp_path, pack):
    (tmp_path / "packed").write_bytes(pack(file.read_bytes()))  # known by its bytes, not by its name
    assert grade(file, "--out", tmp_path / "a.jsonl") == grade(tmp_path / "packed", "--out", tmp_path / "b.jsonl") == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def parquet_of(path, rows):
    names = ("id", "verifier", "gold", "answer", "options", "aliases", "tests", "lang")
    columns = {name: [row.get(name) for row in rows] for name in names}
    columns["gold"] = [None if gold is None else str(gold) for gold in columns["gold"]]
    columns["tests"] = [None if tests is None else json.dumps(tests) for tests in columns["tests"]]
    table = pa.table(columns | {"day": pa.array([0] * len(rows), pa.date32())})
    pq.write_table(table, path, row_group_size=5)
    return path


def test_parquet_in_gives_the_same_verdicts_and_keeps_the_types_of_what_it_carries(file, tmp_path):
    rows = parquet_of(tmp_path / "rows.parquet", [row for row, _ in ROWS])
    assert grade(rows, "--out", tmp_path / "out.parquet", "--workers", 2) == 0
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.column("verdict").to_pylist() == VERDICTS
    assert table.column_names == ["id", "verdict", "reward", "extracted", "verifier_version", "flags", "lang", "day"]
    assert table.schema.field("day").type == pa.date32()
    assert table.schema.field("id").type == pa.int64()
    assert grade(rows, "--out", tmp_path / "out.jsonl") == grade(file, "--out", tmp_path / "from_lines.jsonl") == 0
    lines = lines_of(tmp_path / "out.jsonl")
    assert [line.pop("day") for line in lines] == ["1970-01-01"] * 13
    assert [{name: value for name, value in line.items() if value is not None or name != "lang"} for line in lines] == lines_of(
        tmp_path / "from_lines.jsonl"
    )


def test_tests_may_be_a_struct_of_parquet(tmp_path):
    """Members that a row does not use are null there."""
    tests = [
        {"kind": "stdin", "inputs": ["2"], "outputs": ["4"]},
        {"kind": "assert", "code": "assert f(2) == 4", "entry_point": "f"},
        {"kind": "assert", "code": None},
    ]
    answers = ["print(int(input()) ** 2)", "def f(x):\n    return 2 + x", "pass"]
    table = pa.table({"id": ["a", "b", "c"], "verifier": ["code"] * 3, "tests": tests, "answer": answers})
    assert set(table.schema.field("tests").type.names) == {"kind", "inputs", "outputs", "code", "entry_point"}
    pq.write_table(table, tmp_path / "rows.parquet")
    assert grade(tmp_path / "rows.parquet", "--out", tmp_path / "out.parquet") == 0
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.column("verdict").to_pylist() == ["correct", "correct", "unparsable_gold"]
    assert out.column("flags").to_pylist()[2] == ["no_tests"]


def test_parquet_row_groups_do_not_depend_on_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(sinks, "GROUP_BYTES", 4096)
    rows = parquet_of(tmp_path / "rows.parquet", [row | {"id": n} for n, (row, _) in enumerate(ROWS[:2] * 200)])
    for workers in (1, 2):
        assert grade(rows, "--out", tmp_path / f"{workers}.parquet", "--workers", workers) == 0
    assert pq.ParquetFile(tmp_path / "1.parquet").num_row_groups > 1
    assert (tmp_path / "1.parquet").read_bytes() == (tmp_path / "2.parquet").read_bytes()
    assert pq.read_table(tmp_path / "1.parquet").column("id").to_pylist() == list(range(400))


def test_inputs_are_kept_where_asked_for(file, tmp_path):
    assert grade(file, "--out", tmp_path / "out.jsonl", "--keep-inputs") == 0
    lines = lines_of(tmp_path / "out.jsonl")
    assert [{name: line[name] for name in row} for line, (row, _) in zip(lines, ROWS, strict=True)] == [row for row, _ in ROWS]
    # such a file can be graded again, and its old verdicts are replaced, not repeated
    assert grade(tmp_path / "out.jsonl", "--out", tmp_path / "again.jsonl", "--keep-inputs") == 0
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "out.jsonl").read_bytes()


def test_malformed_lines_are_rows_of_error_in_their_place(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sources, "LINE_BYTES", 1000)
    good = json.dumps(ROWS[0][0]).encode()
    long = json.dumps(ROWS[0][0] | {"id": "long", "x": "y" * 2000}).encode()
    bad = [b"eel", b"[1]", b'{"id":"a","answer":"1","answer":"2"}', b'{"id":"\xff"}', b'{"id":' + b"[" * 400, long]
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b"\n".join([good, b"", *bad[:3], b"  ", *bad[3:], good]))
    assert grade(path, "--out", tmp_path / "out.jsonl", "--json") == 0
    lines, summary = lines_of(tmp_path / "out.jsonl"), json.loads(capsys.readouterr().out)
    assert [line["flags"] for line in lines[1:-1]] == [
        ["not_json"], ["not_object"], ["duplicate_key"], ["invalid_utf8"], ["not_json"], ["too_long"],
    ]  # fmt: skip
    assert [line["verdict"] for line in lines] == ["correct", *["error"] * 6, "correct"]
    assert [line["id"] for line in lines] == [1, None, None, "a", None, None, None, 1]
    assert [error["line"] for error in summary["errors"]] == [3, 4, 5, 7, 8, 9]  # blank lines are no rows, but they are lines


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no record in it"),
        (b" \n\n", "no record in it"),
        (b"just some prose\nand more\n", "Give JSONL"),
        (b'{"id": 1, "question": "?"}\n' * 3, "no record has the field 'answer'"),
        (b'{"answer": "1", "gold": "1"}\n', "no record has the field 'verifier'"),
        (b'{"answer": "1", "verifier": "number"}\n', "no record has the field 'gold' or the field 'tests'"),
        (b"PK\x03\x04", "a zip archive"),
        (b"PAR1nonsense", "Give JSONL"),
        (gzip.compress(text_of([ROWS[0][0]] * 5000).encode())[:-20], "within a gzip member"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_and_nothing_written(tmp_path, capsys, content, words):
    (tmp_path / "in").write_bytes(content)
    assert grade(tmp_path / "in", "--out", tmp_path / "out.jsonl") == 3
    assert words in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_parquet_file_that_breaks_off_or_lacks_columns_is_refused(tmp_path, capsys):
    rows = parquet_of(tmp_path / "rows.parquet", [row for row, _ in ROWS])
    data = rows.read_bytes()
    rows.write_bytes(data[: len(data) // 2])
    assert grade(rows, "--out", tmp_path / "out.parquet") == 3
    pq.write_table(pa.table({"answer": ["1"], "gold": ["1"]}), rows)
    assert grade(rows, "--out", tmp_path / "out.parquet") == 3
    assert "no record has the field 'verifier'; there are: 'answer', 'gold'" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


def test_wrong_use_says_what_is_allowed(file, tmp_path, capsys):
    (tmp_path / "there.jsonl").write_text("mine")
    for arguments, code, words in (
        ([file, "--out", tmp_path / "there.jsonl"], 2, "exists already"),
        ([file, "--out", file], 2, "exists already"),
        ([file, "--out", tmp_path / "out.csv"], 2, "must end in .jsonl"),
        ([tmp_path / "missing.jsonl"], 3, "no such file"),
        ([tmp_path], 3, "it is no file"),
        ([file, "--workers", 0], 2, "--workers"),
        ([], 2, "FILE"),
    ):
        assert grade(*arguments) == code
        assert words in capsys.readouterr().err
    assert (tmp_path / "there.jsonl").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.jsonl", "there.jsonl"]


def test_two_runs_do_not_write_one_file(file, tmp_path):
    with (
        sources.open_source(file) as source,
        sinks.open_sink(tmp_path / "out.jsonl", source, sinks.Columns((), lambda schema: schema)) as sink,
    ):
        sink.write(b"first\n")
        assert grade(file, "--out", tmp_path / "out.jsonl") == 2
    assert (tmp_path / "out.jsonl").read_text() == "first\n"


def test_what_a_killed_run_left_is_taken_over(file, tmp_path):
    command = [sys.executable, "-m", "jobs.cli", "grade", str(file), "--out", str(tmp_path / "out.jsonl"), "--allow-weak-sandbox"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "VERILAKE_KILL_AT": "grade_file/before_rename"}, capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "out.jsonl").exists()
    assert grade(file, "--out", tmp_path / "out.jsonl") == 0
    assert [line["verdict"] for line in lines_of(tmp_path / "out.jsonl")] == VERDICTS
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "rows.jsonl"]


def test_an_interrupt_ends_it_cleanly(tmp_path):
    """Ctrl-C while a program sleeps in the sandbox: exit 130, nothing written, no process left."""
    tests = {"kind": "assert", "entry_point": "f", "code": "assert f() == 1"}
    path = tmp_path / "rows.jsonl"
    path.write_text(text_of([{"id": 1, "verifier": "code", "tests": tests, "answer": "import time\ndef f():\n    time.sleep(60)\n"}] * 20))
    command = [
        sys.executable,
        "-m",
        "jobs.cli",
        "grade",
        str(path),
        "--out",
        str(tmp_path / "out.jsonl"),
        "--workers",
        "1",
        "--allow-weak-sandbox",
    ]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + 60
    while not (workers := children(process.pid)) or not children(workers[0]):  # a sandbox below it
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    below = [*workers, *(child for worker in workers for child in children(worker))]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in below):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


@pytest.mark.soak
def test_processes_shot_at_random_change_no_byte(tmp_path):
    """A signal about every second, to whichever process grades: no row is lost, none graded otherwise, none twice in the output."""
    path, shots = tmp_path / "rows.jsonl", random.Random(1)
    path.write_text(text_of(row | {"id": 12 * n + row["id"]} for n in range(16_000) for row, _ in ROWS[:12]))
    assert grade(path, "--out", tmp_path / "calm.jsonl") == 0
    command = [sys.executable, "-m", "jobs.cli", "grade", str(path), "--out", str(tmp_path / "shot.jsonl"), "--workers", "2"]
    process, hits = subprocess.Popen(command, cwd=ROOT), 0
    while process.poll() is None:
        time.sleep(shots.uniform(0.5, 1.5))
        for pid in shots.sample(workers := children(process.pid), min(1, len(workers))):
            os.kill(pid, shots.choice([signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM]))
            hits += 1
    assert process.returncode == 0
    assert hits > 2
    assert (tmp_path / "shot.jsonl").read_bytes() == (tmp_path / "calm.jsonl").read_bytes()


def children(pid):
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def test_memory_does_not_grow_with_the_file(tmp_path):
    """A few chunks are held, of some rows while nothing is known of their cost and of at most 1 MiB: 60 MB pass in less than half of that."""
    path = tmp_path / "rows.jsonl"
    row = text_of([ROWS[0][0] | {"filler": "x" * 20_000}])
    path.write_text(row * 3000)
    script = (
        "import resource; import jobs.grade_file; from jobs.cli.main import run\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"assert run(['grade', {str(path)!r}, '--out', {str(tmp_path / 'out.jsonl.zst')!r}, '--workers', '2']) == 0\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    grown = int(done.stdout.splitlines()[-1]) << 10
    assert grown < path.stat().st_size // 2


def test_the_list_names_every_verifier(capsys):
    assert verilake(["grade", "--list", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert list(said) == sorted(["number", "math", "choice", "text", "date", "list", "set", "interval", "code"])
    assert all(found["low"] == 0.0 and found["high"] == 1.0 and found["version"] for found in said.values())
    assert verilake(["grade", "--list"]) == 0
    assert "math-verify" in capsys.readouterr().out


# --- real data ---


@pytest.mark.shared
def test_gsm8k_verdicts_are_the_published_labels(shared_data, tmp_path):
    rows = []
    for number, line in enumerate((shared_data / "gsm8k" / "example_model_solutions.jsonl").read_text("utf-8").splitlines()):
        problem = json.loads(line)
        gold = problem.pop("ground_truth").rpartition("A:")[2].strip()
        rows += [
            {"id": f"{number}/{model}", "verifier": verifier, "gold": gold, "answer": said["solution"], "label": said["is_correct"]}
            for model, said in problem.items()
            if isinstance(said, dict)
            for verifier in ("number", "math")
        ]
    path = tmp_path / "rows.jsonl"
    path.write_text(text_of(rows))
    assert grade(path, "--out", tmp_path / "out.parquet", "--workers", 2) == 0
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.num_rows == 2 * 3200
    assert out.column("id").to_pylist() == [row["id"] for row in rows]
    wrong = [
        (row["id"], row["verifier"])
        for row, verdict in zip(rows, out.column("verdict").to_pylist(), strict=True)
        if (verdict == "correct") != row["label"]
    ]
    assert wrong == []


@pytest.mark.shared
def test_reference_solutions_earn_full_marks(shared_data, tmp_path):
    """Every tenth HumanEval and every fortieth MBPP task: the reference is right, and a program that returns None is not."""
    rows = []
    for line in (shared_data / "humaneval" / "HumanEval.jsonl").read_text("utf-8").splitlines()[::10]:
        task = json.loads(line)
        rows.append((task["task_id"], from_humaneval(task), task["canonical_solution"]))
    for line in (shared_data / "mbpp" / "mbpp.jsonl").read_text("utf-8").splitlines()[::40]:
        task = json.loads(line)
        rows.append((f"MBPP/{task['task_id']}", from_mbpp(task), task["code"]))
    spelt = []
    for ident, contract, reference in rows:
        tests = {name: value for name, value in contract.tests.model_dump(mode="json").items() if value not in (None, [], "")}
        empty = f"def {contract.tests.entry_point}(*args, **kwargs):\n    return None\n"
        spelt += [
            {"id": ident, "verifier": "code", "tests": tests, "prompt": contract.prompt, "answer": answer, "right": answer is reference}
            for answer in (reference, empty)
        ]
    path = tmp_path / "rows.jsonl"
    path.write_text(text_of(spelt))
    assert grade(path, "--out", tmp_path / "out.jsonl", "--workers", 2) == 0
    lines = lines_of(tmp_path / "out.jsonl")
    assert len(lines) == 2 * (10 + 15)
    assert [line["id"] for line in lines if (line["verdict"] == "correct") != line["right"]] == []
    assert [line["id"] for line in lines if line["reward"] != float(line["right"])] == []
