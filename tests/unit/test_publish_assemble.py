"""A set put together from earlier files and new ones: what is taken over, what is written, how many files a segment has for life."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.publish.assemble import Earlier, Facts, assemble, manifest_bytes
from jobs.publish.errors import ExportError
from jobs.publish.export import WrittenSegment, WrittenShard, _buckets, _gathered
from jobs.publish.slices import SegmentPlan, SetPlan
from schemas.datasets.eval import EVAL_SET
from schemas.datasets.sft import SFT_SET
from schemas.publication import MANIFEST_FILE
from tests.publish_lake import filled
from udfs.export.files import check_set
from udfs.export.shards import BUCKET, HASH, SEGMENT, Shape, write_shards

FACTS = Facts("c", 2, {}, "code", {"takedowns": "none"}, {"short": "2"}, ("text@1",), {"format": "1"}, {})


def plan_of(**fingerprints):
    segments = tuple(SegmentPlan(name.replace("_", "="), name.partition("_")[2], mark, {}) for name, mark in fingerprints.items())
    return SetPlan(SFT_SET, segments)


class Writer:
    """Writes two rows a segment with the code of a task; remembers what it was asked for."""

    def __init__(self, folder, docs=("d0", "d1")):
        self.folder, self.docs, self.asked, self.known = folder, docs, [], {}

    def __call__(self, _plan, pending, known):
        self.known = dict(known)
        found = {}
        for segment in pending:
            self.asked.append(segment.name)
            rows = [
                filled(SFT_SET.schema, {"sft_id": f"{segment.name}-{doc}", "doc_id": doc, "source": "wiki", "licence": None})
                for doc in self.docs
            ]
            table = pa.Table.from_pylist(rows, schema=SFT_SET.schema)
            for name, kind in ((SEGMENT, pa.int32()), (BUCKET, pa.int32()), (HASH, pa.int64())):
                table = table.append_column(name, pa.array([0] * len(rows), kind))
            (told,) = write_shards(iter(table.combine_chunks().to_batches()), Shape(SFT_SET.schema, 100, str(self.folder)))
            (r,) = told.to_pylist()
            shard = WrittenShard(0, self.folder / r["attempt"], r["rows"], r["bytes"], r["sha256"], r["md5"], r["checksum"])
            found[segment.name] = WrittenSegment(1, len(rows), (shard,))
        return found


def earlier_of(staged, touched=()):
    return Earlier(staged.manifest, {file.path: staged.folder / file.path for file in staged.manifest.files}, frozenset(touched))


def test_equal_fingerprints_take_files_over_and_only_the_rest_is_written(tmp_path):
    first = assemble(plan_of(round_1="a", round_2="b"), [], tmp_path / "1", Writer(tmp_path), FACTS, 100)
    writer = Writer(tmp_path)
    second = assemble(plan_of(round_1="a", round_2="CHANGED", round_3="c"), [earlier_of(first)], tmp_path / "2", writer, FACTS, 100)
    assert writer.asked == ["round=2", "round=3"]
    name = "round-00001-00000.parquet"
    assert (tmp_path / "1" / name).stat().st_ino == (tmp_path / "2" / name).stat().st_ino
    assert [segment.name for segment in second.manifest.segments] == ["round=1", "round=2", "round=3"]
    assert second.manifest.rows == 6
    assert second.manifest.sources == {"wiki": 6}
    assert second.manifest.licences == {"unknown": 6}
    assert {path.name for path in second.new} == {"round-00002-00000.parquet", "round-00003-00000.parquet"}
    assert check_set(tmp_path / "2", second.manifest_sha256) == []
    assert hashlib.sha256((tmp_path / "2" / MANIFEST_FILE).read_bytes()).hexdigest() == second.manifest_sha256


def test_nothing_is_exported_where_everything_is_taken_over(tmp_path):
    first = assemble(plan_of(round_1="a"), [], tmp_path / "1", Writer(tmp_path), FACTS, 100)
    second = assemble(plan_of(round_1="a"), [earlier_of(first)], tmp_path / "2", None, FACTS, 100)
    assert manifest_bytes(first.manifest) == manifest_bytes(second.manifest)
    assert second.new == {}


def test_a_touched_segment_is_written_again_under_another_fingerprint(tmp_path):
    first = assemble(plan_of(round_1="a"), [], tmp_path / "1", Writer(tmp_path), FACTS, 100)
    writer = Writer(tmp_path, docs=("d1",))
    second = assemble(plan_of(round_1="a"), [earlier_of(first, {"round=1"})], tmp_path / "2", writer, FACTS, 100)
    (segment,) = second.manifest.segments
    assert segment.fingerprint.startswith("a.")
    # equal fingerprints are equal bytes, also for the publication after that
    third = assemble(plan_of(round_1="a"), [earlier_of(second), earlier_of(first, {"round=1"})], tmp_path / "3", None, FACTS, 100)
    assert third.manifest.segments == second.manifest.segments
    assert third.manifest.files == second.manifest.files


def test_what_was_taken_down_is_found_in_the_files_themselves(tmp_path):
    staged = assemble(plan_of(round_1="a", round_2="b"), [], tmp_path / "1", Writer(tmp_path), FACTS, 100)
    (tmp_path / "1" / "round-00002-00000.parquet").unlink()

    def found(tombstoned, takedowns):
        snapshot = SimpleNamespace(
            listings={"sft": ""},
            manifest=lambda _: staged.manifest,
            files=lambda _: {f.path: tmp_path / "1" / f.path for f in staged.manifest.files},
        )
        return Earlier.of(snapshot, "sft", tombstoned, takedowns).touched

    # bytes that are gone cannot be taken over
    assert found([], "none") == {"round=2"}
    assert found(["d1"], "new") == {"round=1", "round=2"}
    assert found(["other"], "new") == {"round=2"}
    # the same takedowns as when it was published: the files are not read
    assert found(["d1"], "none") == {"round=2"}


def test_a_set_without_rows_is_one_file_that_every_reader_opens(tmp_path):
    for number, plan in enumerate((SetPlan(SFT_SET, ()), SetPlan(EVAL_SET, ()))):
        staged = assemble(plan, [], tmp_path / str(number), None, FACTS, 100)
        (file,) = staged.manifest.files
        assert file.path == ("empty-00000.parquet", "all-00000.parquet")[number]
        table = pq.read_table(tmp_path / str(number) / file.path)
        assert (table.num_rows, table.schema.names) == (0, plan.dataset.schema.names)
        assert check_set(tmp_path / str(number)) == []


def test_a_segment_that_comes_back_has_as_many_files_as_on_its_first_day(tmp_path):
    first = assemble(plan_of(round_1="a", round_2="b"), [], tmp_path / "1", Writer(tmp_path), FACTS, 100)
    second = assemble(plan_of(round_1="a"), [earlier_of(first)], tmp_path / "2", None, FACTS, 100)
    assert [(s.name, s.rows, s.buckets) for s in second.manifest.segments] == [("round=1", 2, 1), ("round=2", 0, 1)]
    writer = Writer(tmp_path)
    assemble(plan_of(round_1="a", round_2="b"), [earlier_of(second)], tmp_path / "3", writer, FACTS, 100)
    assert writer.asked == ["round=2"]
    assert writer.known == {"round=1": 1, "round=2": 1}


@pytest.mark.parametrize(
    ("known", "text", "wanted"),
    [(0, None, 0), (0, 0, 1), (0, 2 << 20, 1), (0, (2 << 20) + 1, 2), (0, 7 << 20, 4), (3, 7 << 20, 3), (3, None, 3)],
)
def test_buckets_are_chosen_from_bytes_once(known, text, wanted):
    # files of 2 MiB: 7 MiB need four; what was chosen stays, also where the segment has no row now
    assert _buckets(known, None if text is None else {"text": text}, SimpleNamespace(shard_mb=2)) == wanted


def test_lost_rows_are_an_error(tmp_path):
    plan = plan_of(round_1="a").segments
    told = [{"segment": 0, "bucket": 0, "attempt": "x", "rows": 2, "bytes": 1, "sha256": "", "md5": "", "checksum": ""}]
    with pytest.raises(ExportError, match="3 rows were to be written, 2 were"):
        _gathered(SFT_SET, plan, [1], {0: 3}, told, tmp_path)
