"""Files of a published set: equal rows give equal bytes however they arrive, in one spelling, within bounds; any reader opens them."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemas.table import STRINGS, column
from udfs.export.checksum import RowChecksum
from udfs.export.rows import canonical, plain_schema, row_bytes, row_groups
from udfs.export.shards import BUCKET, HASH, SEGMENT, Shape, write_shards

SCHEMA = pa.schema(
    [
        column("id", pa.string(), "key"), column("text", pa.string(), "words", null=True), column("weight", pa.float64(), "figure", null=True),
        column("n", pa.int32(), "count"), column("tags", STRINGS, "labels"),
    ]
)  # fmt: skip


def rows(n, seed=1, buckets=(0,), segment=0):
    """Rows sorted as a task meets them, with their bucket and a hash."""
    draw = random.Random(seed)
    per = [
        {
            "id": f"{number:08d}", "text": None if number % 7 == 0 else draw.choice(["é", "wörter", "x"]) * draw.randrange(400),
            "weight": draw.choice([None, 0.0, 1.5, -2.25]), "n": number, "tags": ["a", None][: number % 3],
            SEGMENT: segment, BUCKET: buckets[number * len(buckets) // n], HASH: draw.randrange(-(1 << 63), 1 << 63),
        }
        for number in range(n)
    ]  # fmt: skip
    types = [*SCHEMA, pa.field(SEGMENT, pa.int32()), pa.field(BUCKET, pa.int32()), pa.field(HASH, pa.int64())]
    return pa.Table.from_pylist(per, schema=pa.schema(types))


def cut(table, sizes):
    """The table as batches of the given sizes, over and over; empty ones among them."""
    start, turn = 0, 0
    while start < table.num_rows:
        size = sizes[turn % len(sizes)]
        yield from table.slice(start, size).combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]
        start, turn = start + size, turn + 1


def written(table, folder, sizes, group_rows=300):
    (told,) = write_shards(cut(table, sizes), Shape(SCHEMA, group_rows, str(folder)))
    return told.to_pylist()


def test_bytes_do_not_depend_on_how_batches_are_cut(tmp_path):
    table = rows(2000, buckets=(0, 1, 3))
    told = [written(table, tmp_path / str(n), sizes) for n, sizes in enumerate([[2000], [1], [777], [3, 0, 500, 41]])]
    assert [len(files) for files in told] == [3, 3, 3, 3]
    assert len({tuple(file["sha256"] for file in files) for files in told}) == 1
    for number, files in enumerate(told):
        for file in files:
            data = (tmp_path / str(number) / file["attempt"]).read_bytes()
            assert file["sha256"] == hashlib.sha256(data).hexdigest()
            assert file["md5"] == hashlib.md5(data, usedforsecurity=False).hexdigest()
            assert file["bytes"] == len(data)


def test_another_process_with_another_hash_seed_writes_the_same_bytes(tmp_path):
    told = written(rows(500), tmp_path / "here", [100])
    code = "import sys; from test_export_shards import *; print(written(rows(500), sys.argv[1], [33])[0]['sha256'])"
    env = os.environ | {
        "PYTHONHASHSEED": "7",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), str(Path.cwd())]),
        "OMP_NUM_THREADS": "1",
    }
    said = subprocess.run([sys.executable, "-c", code, str(tmp_path / "there")], env=env, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == told[0]["sha256"]


def test_a_file_holds_the_rows_and_no_schema_of_arrow_nor_a_comment(tmp_path):
    table = rows(1000)
    (file,) = written(table, tmp_path, [400])
    path = tmp_path / file["attempt"]
    held = pq.read_table(path)
    assert held.equals(table.select(SCHEMA.names).cast(plain_schema(SCHEMA)))
    assert pq.read_metadata(path).metadata is None
    assert [pq.read_metadata(path).row_group(n).num_rows for n in range(4)] == [300, 300, 300, 100]
    assert held.schema.field("id").nullable is False


def test_polars_and_duckdb_read_the_same_values(tmp_path):
    table = rows(300)
    (file,) = written(table, tmp_path, [400])
    path = tmp_path / file["attempt"]
    wanted = table.select(["id", "text", "weight", "n"]).to_pylist()
    assert pl.read_parquet(path).select("id", "text", "weight", "n").to_dicts() == wanted
    found = duckdb.connect().execute("SELECT id, text, weight, n FROM read_parquet(?) ORDER BY id", [str(path)]).fetchall()
    assert found == [tuple(row.values()) for row in wanted]


def test_no_rows_give_no_file_and_still_an_answer(tmp_path):
    assert written(rows(10).slice(0, 0), tmp_path, [5]) == []
    (told,) = write_shards(iter([]), Shape(SCHEMA, 10, str(tmp_path)))
    assert told.num_rows == 0
    assert list(tmp_path.iterdir()) == []


def test_zero_and_nan_have_one_spelling():
    odd_nan = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
    batch = pa.record_batch({"v": pa.array([-0.0, 0.0, odd_nan, float("nan"), None, -1.0], from_pandas=False)})
    found = canonical(batch, pa.schema([pa.field("v", pa.float64())])).column("v")
    bits = found.combine_chunks().fill_null(7.0).to_numpy().view(np.uint64)
    assert bits[0] == bits[1] == 0
    assert bits[2] == bits[3] == np.array([np.nan]).view(np.uint64)[0]
    assert found.to_pylist()[4:] == [None, -1.0]


def test_a_null_where_none_may_be_is_refused():
    with pytest.raises(ValueError, match="column id is never null and holds 1 nulls"):
        canonical(pa.record_batch({"id": pa.array(["a", None])}), pa.schema([pa.field("id", pa.string(), nullable=False)]))


def test_a_type_without_one_spelling_is_refused():
    with pytest.raises(TypeError, match="no canonical form"):
        plain_schema(pa.schema([pa.field("m", pa.map_(pa.string(), pa.string()))]))


def test_row_groups_end_by_rows_or_bytes_whatever_the_cut():
    # rows of 8 + 8 bytes and one of 8 + 100: bound 40 holds two small rows; the large one stands alone
    table = pa.table({"n": pa.array(range(7), pa.int64()), "s": ["12345678"] * 3 + ["x" * 100] + ["12345678"] * 3})
    wanted = [[0, 1], [2], [3], [4, 5], [6]]
    for size in (1, 2, 3, 7):
        parts = [table.slice(start, size) for start in range(0, 7, size)]
        assert [group.column("n").to_pylist() for group in row_groups(parts, 100, 40)] == wanted
    assert [group.num_rows for group in row_groups([table], 3, 10_000)] == [3, 3, 1]


def test_bytes_of_a_row_count_text_and_lists():
    table = pa.table({"s": ["é", None], "l": pa.array([["ab", None], []], STRINGS), "f": pa.array([1.0, None])})
    # 2 of text, 2 elements of 8 + 2 of text, 8 of the float; then the float's width alone
    assert row_bytes(table).tolist() == [2 + 16 + 2 + 8, 8]


def test_the_checksum_is_that_of_the_lake():
    # derived by hand: xor and sum mod 2^64 of -1, 2, -3
    mask = (1 << 64) - 1
    hashes = [-1, 2, -3]
    checksum = RowChecksum()
    checksum.add(np.array(hashes[:1], np.int64))
    checksum.add(np.array(hashes[1:], np.int64))
    xor = (-1 & mask) ^ 2 ^ (-3 & mask)
    assert str(checksum) == f"3-{xor:016x}-{sum(hashes) & mask:016x}"


def test_a_failure_leaves_no_file(tmp_path):
    table = rows(100)
    broken = table.set_column(0, "id", pa.array([None] * 100, pa.string()))
    with pytest.raises(ValueError, match="never null"):
        list(write_shards(iter(broken.to_batches()), Shape(SCHEMA, 10, str(tmp_path))))
    assert list(tmp_path.iterdir()) == []
