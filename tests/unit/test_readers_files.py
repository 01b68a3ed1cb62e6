"""Which files an ingest reads, under which names; and the reader as Arrow batches."""

import hashlib
import os

import pytest

from schemas.conf import Ingest
from schemas.errors import InputRefusedError
from schemas.ids import content_id
from udfs.readers.arrow import ITEMS, InputChangedError, digest_batches, files_table, parts_table, read_batches
from udfs.readers.files import file_digest, list_files, stem
from udfs.readers.parts import WHOLE

CONF = Ingest(
    text_field="text", id_field="id", uri_field="url", title_field="title", licence_field="license", text_unit="file",
    max_document_bytes=1 << 20, html_text="main", http_status=("2xx",), split_mb=1,
)  # fmt: skip


def lay(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")
    return root


def names(*paths, source=None):
    return [file.relative for file in list_files(paths, source)]


def test_a_directory_is_walked_in_order_without_hidden_entries(tmp_path):
    lay(tmp_path, "b.txt", "a/z.txt", "a/b/c.txt", ".hidden", ".git/config", "a/.x")
    assert names(tmp_path) == ["a/b/c.txt", "a/z.txt", "b.txt"]


def test_names_do_not_depend_on_order_or_prefix(tmp_path):
    one = lay(tmp_path / "one" / "corpus", "x.txt", "y/x.txt", "z.txt")
    two = lay(tmp_path / "elsewhere" / "corpus", "x.txt", "y/x.txt", "z.txt")
    assert names(one) == names(two)
    assert names(one / "x.txt", one / "y") == names(two / "y", two / "x.txt") == ["corpus/x.txt", "y/x.txt"]


def test_equal_names_are_told_apart_by_as_little_as_needed(tmp_path):
    lay(tmp_path, "p/a/x.txt", "p/b/x.txt", "q/b/x.txt", "q/only.txt")
    given = [tmp_path / "p/a", tmp_path / "p/b", tmp_path / "q/b", tmp_path / "q/only.txt"]
    assert names(*given) == ["a/x.txt", "only.txt", "p/b/x.txt", "q/b/x.txt"]


def test_the_same_file_twice_is_read_once(tmp_path):
    lay(tmp_path, "d/x.txt")
    (tmp_path / "link.txt").symlink_to(tmp_path / "d/x.txt")
    for given in (
        [tmp_path, tmp_path / "d"],
        [tmp_path / "d/x.txt", tmp_path],
        [tmp_path, tmp_path / "d/../d/x.txt", tmp_path / "link.txt"],
    ):
        assert names(*given) == ["d/x.txt"]


def test_links_that_loop_end(tmp_path):
    lay(tmp_path, "a/x.txt", "b/y.txt")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "b" / "across").symlink_to(tmp_path / "a")
    (tmp_path / "self").symlink_to(tmp_path / "self")
    assert names(tmp_path) == ["a/x.txt", "b/y.txt", "self"]
    assert file_digest(tmp_path / "self") == "unreadable"


def test_a_missing_argument_is_refused(tmp_path):
    with pytest.raises(InputRefusedError, match="no such file"):
        list_files([tmp_path / "gone"])


def test_names_that_are_not_utf8(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / os.fsdecode(b"caf\xe9.txt")).write_bytes(b"text")
    (found,) = list_files([tmp_path / "d"])
    assert (found.relative, found.source, found.size) == ("caf\\xe9.txt", "d", 4)
    (batch,) = read_batches(parts_table([(found, file_digest(found.location), WHOLE)]).to_batches(), CONF)
    assert batch["text"].to_pylist() == ["text"]


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("a/wiki.jsonl.gz", "wiki"),
        ("x.parquet", "x"),
        ("x.tar.gz", "x.tar"),
        (".txt", ".txt"),
        ("v1.2.json.zst", "v1.2"),
        ("LICENSE", "LICENSE"),
    ],
)
def test_stem(name, want):
    assert stem(name) == want


def test_the_source_is_the_name_of_the_argument(tmp_path):
    lay(tmp_path, "wiki.v2/part-0.jsonl", "wiki.v2/a/part-1.jsonl", "plays.txt.gz")
    given = [tmp_path / "wiki.v2", tmp_path / "plays.txt.gz"]
    assert [(f.relative, f.source) for f in list_files(given)] == [
        ("a/part-1.jsonl", "wiki.v2"), ("part-0.jsonl", "wiki.v2"), ("plays.txt.gz", "plays"),
    ]  # fmt: skip
    assert {f.source for f in list_files(given, "all")} == {"all"}


def test_digest_is_sha256(tmp_path):
    (tmp_path / "x").write_bytes(b"abc" * 100_000)
    assert file_digest(tmp_path / "x") == hashlib.sha256(b"abc" * 100_000).hexdigest()


def table_of(path, source="s"):
    files = list_files([path], source)
    return parts_table([(file, file_digest(file.location), WHOLE) for file in files])


def test_batches_hold_records_and_rejects_with_ids(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(b'{"text": "one", "id": "i"}\nbroken\n')
    (tmp_path / "y.txt").write_text("two")
    (batch,) = read_batches(table_of(tmp_path).to_batches(), CONF)
    assert batch.schema == ITEMS
    assert [(r["path"], r["position"], r["doc_id"], r["reason"]) for r in batch.to_pylist()] == [
        ("x.jsonl", 1, content_id("s", "i", "one"), None),
        ("x.jsonl", 2, None, "not_json"),
        ("y.txt", 0, content_id("s", "y.txt#block0", "two"), None),
    ]


def test_batches_are_cut_by_rows_and_by_bytes(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(b'{"text": "short"}\n' * 4500)
    assert [b.num_rows for b in read_batches(table_of(tmp_path).to_batches(), CONF)] == [2000, 2000, 500]
    (tmp_path / "x.jsonl").write_bytes((b'{"text": "' + b"x" * 900_000 + b'"}\n') * 20)
    assert [b.num_rows for b in read_batches(table_of(tmp_path).to_batches(), CONF)] == [10, 10]  # 10 x 0.9 MB pass 8 MiB


def test_no_files_give_no_batches():
    assert list(read_batches(iter(()), CONF)) == []


def test_a_file_that_changes_meanwhile_is_refused(tmp_path):
    (tmp_path / "x.txt").write_text("before")
    table = table_of(tmp_path)
    (tmp_path / "x.txt").write_text("after")
    with pytest.raises(InputChangedError, match=r"x\.txt: has changed"):
        list(read_batches(table.to_batches(), CONF))
    (tmp_path / "x.txt").unlink()
    with pytest.raises(InputChangedError, match=r"x\.txt: cannot be read"):
        list(read_batches(table.to_batches(), CONF))


def test_digests_are_filled_in(tmp_path):
    (tmp_path / "x.txt").write_text("a")
    files = list_files([tmp_path])
    (batch,) = digest_batches(files_table(files, [""]).to_batches())
    assert batch["digest"].to_pylist() == [hashlib.sha256(b"a").hexdigest()]
