"""verilake dedup on plain files: what is kept, what goes and why, what is refused; in process, no JVM."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from jobs import dedup_files
from jobs.cli.main import run as verilake
from jobs.config import load_config
from jobs.dedup import jsonl, output, source
from jobs.dedup.errors import FilesRefusedError, OutputExistsError
from jobs.dedup_files import Options
from schemas.errors import InputRefusedError
from tests.near_texts import edited, prose, shingles
from udfs.dedup.curve import resolved


def options(*overrides, id_field=None, text_field="text", workers=2, kernel="numpy"):
    curate = load_config(None, (), [f"curate.kernel={kernel}", *overrides]).curate
    return Options(text_field, id_field or "id", id_field is not None, resolved(curate), workers)


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def results(out):
    kept = pq.read_table(out / "kept").to_pylist()
    gone = {row.pop("id"): row for row in pq.read_table(out / "duplicates.parquet").to_pylist()}
    return kept, gone, json.loads((out / "summary.json").read_text())


BASE = prose(1)
ROWS = [
    {"id": "base", "text": " ".join([*BASE, "tail"]), "url": "u1", "n": 1},
    {"id": "copy", "text": "  " + " ".join([*BASE, "TAIL"]), "url": "u2", "n": 2},
    {"id": "light", "text": " ".join(edited(BASE, 3)), "url": "u3", "n": 3},
    {"id": "light copy", "text": " ".join(edited(BASE, 3)) + "\n", "url": "u3", "n": 3},
    {"id": "heavy", "text": " ".join(edited(BASE, 6)), "url": "u4", "n": 4},
    {"id": "empty", "text": "", "url": "u5", "n": 5},
    {"id": "zh", "text": "\u6211\u4eec\u660e\u5929\u53bb\u516c\u56ed\u8d70\u8def\u3002", "url": "2026-01-02", "n": 6},
]


def test_kept_rows_duplicates_and_summary(tmp_path):
    dedup_files.run(write_jsonl(tmp_path / "in.jsonl", ROWS), tmp_path / "out", options())
    kept, gone, summary = results(tmp_path / "out")
    assert kept == [
        row for row in ROWS if row["id"] in ("base", "heavy", "empty", "zh")
    ]  # every field as it came, in the order of the input
    light = {"dup_of": "base", "kind": "near", "jaccard": pytest.approx(181 / 212), "containment": pytest.approx(181 / 196)}
    assert gone == {
        "copy": {"dup_of": "base", "kind": "exact", "jaccard": 1.0, "containment": 1.0},
        "light": light,  # 196 - 15 of its shingles are among the 197 of base
        "light copy": light,  # never of "light", which goes itself
    }
    assert {key: summary[key] for key in ("documents", "kept", "exact", "near", "rejected")} == {
        "documents": 7, "kept": 4, "exact": 1, "near": 2, "rejected": 0,
    }  # fmt: skip
    assert set(summary["seconds"]) == {"read_and_sign", "exact", "candidates", "verify", "write"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["duplicates.parquet", "kept", "summary.json"]


def test_the_verb_speaks_of_its_curve_and_counts(tmp_path, capsys):
    source_file = write_jsonl(tmp_path / "in.jsonl", [{"name": row["id"], "body": row["text"]} for row in ROWS])
    flags = ["--text-field", "body", "--id-field", "name", "--threshold", "0.7", "--set", "curate.bands=0", "--json"]
    assert verilake(["dedup", str(source_file), str(tmp_path / "out"), *flags]) == 0
    said = capsys.readouterr()
    # datasketch's optimiser for 0.7 and 120 permutations, as MinHashLSH(threshold=0.7, num_perm=120) reports b and r.
    from datasketch import MinHashLSH

    chosen = MinHashLSH(threshold=0.7, num_perm=120)
    assert f"LSH: {chosen.b} bands x {chosen.r} rows" in said.err
    assert json.loads(said.out)["near"] == 3  # heavy has J = 166 / 227 = .73 to base
    assert verilake(["dedup", str(source_file), str(tmp_path / "out")]) == 2
    assert "out exists already" in capsys.readouterr().err
    assert verilake(["dedup", str(source_file), str(tmp_path / "o2"), "--mode", "best"]) == 2
    assert "curate.mode = 'best'" in capsys.readouterr().err
    assert not (tmp_path / "o2").exists()


def test_components_mode_follows_a_chain(tmp_path):
    words = prose(9, 160)
    rows = [{"id": i, "text": " ".join(words[10 * i : 10 * i + 100])} for i in range(7)]
    path = write_jsonl(tmp_path / "in.jsonl", rows)
    more = ("curate.bands=60", "curate.rows=2")
    dedup_files.run(path, tmp_path / "verified", options(*more))
    dedup_files.run(path, tmp_path / "components", options(*more, "curate.mode=components"))
    assert [row["id"] for row in results(tmp_path / "verified")[0]] == [0, 2, 4, 6]  # neighbours alone are alike enough: 86 of 106
    kept, gone, _ = results(tmp_path / "components")
    assert [row["id"] for row in kept] == [0]
    assert [gone[i]["jaccard"] for i in range(1, 7)] == [pytest.approx((96 - 10 * i) / (96 + 10 * i)) for i in range(1, 7)]


def crowd():
    """Templates, groups of edited copies on both sides of the threshold, copies, short and empty texts; ids are integers, negative ones too."""
    rng = random.Random(3)
    texts = [" ".join([*prose(50, 300), *prose(100 + i, 8)]) for i in range(40)]
    for group in range(30):
        words = prose(1000 + group, rng.randint(150, 260))
        texts += [" ".join(words), *(" ".join(edited(words, rng.choice([0, 1, 2, 9, 14]))) for _ in range(rng.randint(0, 3)))]
    texts += [f"short text {i}" for i in range(10)] + [
        "",
        "  ",
        "\u00e9t\u00e9 caf\u00e9",
        "e\u0301te\u0301 cafe\u0301",
        "\uff21\uff22 full",
        "ab full",
    ]
    return [{"id": 7 * i - 500, "text": text} for i, text in enumerate(texts)]


def outcome(out):
    """A hash of everything that was decided, whatever the order of rows and files."""
    kept, gone, _ = results(out)
    return hashlib.sha256(
        repr((sorted(row["id"] for row in kept), sorted((key, sorted(row.items())) for key, row in gone.items()))).encode()
    ).hexdigest()


def test_the_outcome_depends_on_nothing_but_the_rows(tmp_path, monkeypatch):
    rows = crowd()
    dedup_files.run(write_jsonl(tmp_path / "a.jsonl", rows), tmp_path / "a", options(workers=1))
    wanted = outcome(tmp_path / "a")
    kept, gone, _ = results(tmp_path / "a")
    text = {row["id"]: row["text"] for row in rows}
    for key, row in gone.items():
        assert row["dup_of"] not in gone
        if row["kind"] == "near":
            a, b = shingles(text[key]), shingles(text[row["dup_of"]])
            assert row["jaccard"] == pytest.approx(len(a & b) / len(a | b))
            assert row["jaccard"] >= 0.8
    assert len([row for row in gone.values() if row["kind"] == "near"]) > 50
    for shuffle, parts, kernel, workers in ((1, 1, "numba", 2), (2, 8, "numpy", 1), (3, 64, "numba", 2)):
        mixed = random.Random(shuffle).sample(rows, len(rows))
        folder = tmp_path / f"in{shuffle}"
        folder.mkdir()
        for part in range(parts):
            pq.write_table(
                pa.Table.from_pylist(mixed[part::parts], schema=pa.schema([("id", pa.int64()), ("text", pa.string())])),
                folder / f"{part}.parquet",
            )
        monkeypatch.setattr(dedup_files, "SETS_BYTES", 1000 * shuffle)  # sets spill
        dedup_files.run(folder, tmp_path / f"out{shuffle}", options(workers=workers, kernel=kernel))
        assert outcome(tmp_path / f"out{shuffle}") == wanted
    # Once more over what was kept: nothing goes.
    dedup_files.run(tmp_path / "a" / "kept", tmp_path / "again", options())
    assert results(tmp_path / "again")[2]["kept"] == len(kept) == len(rows) - len(gone)


@pytest.mark.parametrize("ids", [["b", "a", "\u00e9"], [3, -(2**62), 2**62], ["00", "0", " 0"]])
def test_ids_of_any_kind_come_back_as_they_are(tmp_path, ids):
    write_jsonl(tmp_path / "in.jsonl", [{"id": i, "text": "the very same text"} for i in ids])
    dedup_files.run(tmp_path / "in.jsonl", tmp_path / "out", options())
    kept, gone, _ = results(tmp_path / "out")
    assert [row["id"] for row in kept] == [min(ids)]
    assert {key: row["dup_of"] for key, row in gone.items()} == {i: min(ids) for i in ids if i != min(ids)}


def test_without_an_id_the_row_number_names_a_row(tmp_path):
    rows = [{"text": t} for t in ("one two", "three", "One  two", None, "")]
    dedup_files.run(write_jsonl(tmp_path / "in.jsonl", rows), tmp_path / "out", options())
    kept, gone, _ = results(tmp_path / "out")
    assert kept == [{"text": "one two"}, {"text": "three"}, {"text": None}]
    assert {key: row["dup_of"] for key, row in gone.items()} == {2: 0, 4: 3}


@pytest.mark.parametrize(
    ("rows", "extra", "words"),
    [
        ([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}], {}, "1 values of 'id' name more than one record, 'a' among them"),
        ([{"id": "a", "text": "x"}, {"text": "y"}], {}, r"1 records have no 'id' \(the first is row 1"),
        ([{"id": 1.5, "text": "x"}], {}, "the id field 'id' holds double; needed: strings or integers"),
        ([{"id": 1, "text": "x"}, {"id": "a", "text": "y"}], {}, "the id field 'id' holds values of several types"),
        ([{"id": 1, "body": "x"}], {}, "no record has the text field 'text'; there are: 'body', 'id'. Name it with --text-field"),
        ([{"id": 1, "text": 5}], {}, "the text field 'text' holds int64; needed: strings"),
        (
            [{"id": 1, "text": "x"}],
            {"id_field": "key"},
            "no record has the id field 'key'; there are: 'id', 'text'. Name it with --id-field",
        ),
    ],
)
def test_fields_of_no_use_are_refused_and_nothing_is_written(tmp_path, rows, extra, words):
    write_jsonl(tmp_path / "in.jsonl", rows)
    with pytest.raises(FilesRefusedError, match=words):
        dedup_files.run(tmp_path / "in.jsonl", tmp_path / "out", options(**extra))
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_files_of_no_use_are_refused(tmp_path):
    with pytest.raises(InputRefusedError, match="no such file"):
        dedup_files.run(tmp_path / "none", tmp_path / "out", options())
    (tmp_path / "nul").write_bytes(b"\0" * 100_000)
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b'{"text": "a b c"}\n' * 5000)[:-200])
    (tmp_path / "void.jsonl").write_bytes(b"")
    for name, words in (("nul", "it holds"), ("cut.gz", "ends at byte"), ("void.jsonl", "no record in it")):
        with pytest.raises(FilesRefusedError, match=words):
            dedup_files.run(tmp_path / name, tmp_path / "out", options())
    (tmp_path / "out").mkdir()
    with pytest.raises(OutputExistsError, match="exists already"):
        dedup_files.run(write_jsonl(tmp_path / "in.jsonl", ROWS), tmp_path / "out", options())
    assert not list((tmp_path / "out").iterdir())


def test_lines_that_are_no_record_are_told_and_the_others_stay_whole(tmp_path):
    lines = [b'{"id": 1, "text": "fine", "when": "2026-01-02 03:04:05", "x": 1}', b"{broken", b"[1, 2]", b'{"id": 2, "text": "\xff"}', b"",
             b'{"id": 3, "text": "also fine", "when": "no date", "x": {"deep": [1, "a"]}}']  # fmt: skip
    for name, raw in (("a.jsonl.gz", gzip.compress(b"\n".join(lines))), ("b.jsonl.zst", zstandard.compress(b"\n".join(lines)))):
        (tmp_path / name).write_bytes(raw)
        summary = dedup_files.run(tmp_path / name, tmp_path / f"{name}.out", options())
        kept, _, _ = results(tmp_path / f"{name}.out")
        assert [(row["id"], row["text"], row["when"]) for row in kept] == [(1, "fine", "2026-01-02 03:04:05"), (3, "also fine", "no date")]
        assert [json.loads(row["x"]) for row in kept] == [1, {"deep": [1, "a"]}]
        rejects = pq.read_table(tmp_path / f"{name}.out" / "rejects.parquet").to_pylist()
        assert [(row["line"], row["reason"]) for row in rejects] == [(2, "not_json"), (3, "not_object"), (4, "invalid_utf8")]
        assert (summary["documents"], summary["rejected"]) == (2, 3)


def test_fields_differ_from_stretch_to_stretch(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonl, "STRETCH", 1)
    rows = [
        {"id": 1, "text": "first one", "a": 1, "when": "2026-01-02", "s": {"p": 1}},
        {"id": 2, "text": "second one", "a": 2.5, "b": "new", "s": {"q": "x"}},
        {"id": 3, "text": "third one", "a": None, "b": 7},
        {"id": 4, "text": "fourth one", "a": 3, "when": "2026-01-02T03:04:05"},
    ]
    path = write_jsonl(tmp_path / "in.jsonl", rows)
    monkeypatch.setattr(source, "decompress", lambda _file, _how: iter([line.encode() + b"\n" for line in path.read_text().splitlines()]))
    summary = dedup_files.run(path, tmp_path / "out", options())
    kept, _, _ = results(tmp_path / "out")
    assert [row["a"] for row in kept] == [1.0, 2.5, None, 3.0]
    assert [row["when"] for row in kept] == ["2026-01-02", None, None, "2026-01-02T03:04:05"]  # strings stay strings
    assert [row["b"] and json.loads(row["b"]) for row in kept] == [None, "new", 7, None]
    assert "b" in summary["fields_as_json"]


def test_rows_beyond_the_memory_bound_lie_in_files(tmp_path, monkeypatch):
    rows = crowd()
    dedup_files.run(write_jsonl(tmp_path / "in.jsonl", rows), tmp_path / "a", options())
    monkeypatch.setattr(source.Rows, "__init__", _tiny(source.Rows.__init__))
    monkeypatch.setattr(output, "PART_BYTES", 1000)
    dedup_files.run(tmp_path / "in.jsonl", tmp_path / "b", options())
    assert outcome(tmp_path / "a") == outcome(tmp_path / "b")
    assert not (tmp_path / "b" / "rows").exists()


def _tiny(init):
    def tiny(self, folder):
        init(self, folder, memory_bytes=0)

    return tiny


def test_a_killed_run_leaves_nothing_under_the_name_and_the_next_one_succeeds(tmp_path):
    path = write_jsonl(tmp_path / "in.jsonl", ROWS)
    pid = os.fork()
    if pid == 0:
        os.environ["VERILAKE_KILL_AT"] = "dedup_files/before_rename"
        dedup_files.run(path, tmp_path / "out", options())
        os._exit(0)
    assert os.waitpid(pid, 0)[1] != 0
    assert not (tmp_path / "out").exists()
    dedup_files.run(path, tmp_path / "out", options())
    assert results(tmp_path / "out")[2]["documents"] == len(ROWS)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.jsonl", "out"]


@pytest.mark.timeout(120)
def test_torture(tmp_path):
    words = " ".join(f"w{i % 977}x{i}" for i in range(300_000))
    rows = [
        {"id": "long", "text": words}, {"id": "line", "text": "x" * 5_000_000}, {"id": "nul", "text": "\0" * 1000}, {"id": "mark", "text": "\u0301" * 5000},
        {"id": "rtl", "text": "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645"}, {"id": "nfc", "text": "caf\u00e9 noir"},
        {"id": "nfd", "text": "cafe\u0301 noir"}, {"id": "wide", "text": "\uff43\uff41\uff46\u00e9 noir"}, {"id": "zero", "text": "ca\u200bf\u00e9 noir"},
        {"id": "table1", "text": " ".join(str(i) for i in range(400))}, {"id": "table2", "text": " ".join(str(i) for i in range(1000, 1400))},
        {"id": "th", "text": "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22\u0e40\u0e1b\u0e47\u0e19"}, {"id": "one", "text": "cat"}, {"id": "four", "text": "one two three four"},
        *({"id": f"void{i:05}", "text": ""} for i in range(10_000)), *({"id": f"same{i:04}", "text": "the same page again and again"} for i in range(3000)),
        *({"id": f"t{i:04}", "text": " ".join([*BASE, *BASE[:90], f"page{i}", "of", "many"])} for i in range(1000)),
    ]  # fmt: skip
    dedup_files.run(write_jsonl(tmp_path / "in.jsonl", rows), tmp_path / "out", options(kernel="numba"))
    kept, gone, _ = results(tmp_path / "out")
    assert [row["id"] for row in kept] == [
        "long", "line", "nul", "mark", "rtl", "nfc", "table1", "table2", "th", "one", "four", "void00000", "same0000", "t0000",
    ]  # fmt: skip
    assert {key: gone[key]["dup_of"] for key in ("nfd", "wide", "zero", "void09999", "same2999", "t0999")} == {
        "nfd": "nfc", "wide": "nfc", "zero": "nfc", "void09999": "void00000", "same2999": "same0000", "t0999": "t0000",
    }  # fmt: skip
    assert {gone[f"t{i:04}"]["kind"] for i in range(1, 1000)} == {"near"}
