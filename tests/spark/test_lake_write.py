"""The write module: once, found out when skipped, corrected, verified (DESIGN section 6)."""

from __future__ import annotations

import threading
import time

import pyarrow as pa
import pytest

from jobs.lake import migrate
from jobs.lake import write as write_module
from jobs.lake.checksum import checksum_of
from jobs.lake.errors import SchemaMismatchError, SkippedWriteError, WriteConflictError, WriteOnceError
from jobs.lake.layout import Lake
from jobs.lake.write import SliceWrite, read_table, write_slice
from schemas.bronze.rejects import REJECTS
from schemas.gold.alerts import ALERTS
from schemas.gold.regression import REGRESSION
from schemas.table import Table

pytestmark = pytest.mark.spark


@pytest.fixture
def lake(spark, tmp_path):
    lake = Lake(tmp_path / "lake")
    lake.root.mkdir()
    # Only the tables used here: creating all 26 costs seconds a test.
    for table in (ALERTS, REGRESSION, REJECTS):
        migrate._create_with_spark(spark, lake, table)
    return lake


def rows_of(spark, table, rows):
    from pyspark.sql.pandas.types import from_arrow_schema

    return spark.createDataFrame(rows, from_arrow_schema(table.schema, prefer_timestamp_ntz=False))


def alerts(spark, round_no, values):
    return rows_of(spark, ALERTS, [(round_no, f"a{i}", "all", "all", "warn", float(v), 1.0, "m") for i, v in enumerate(values)])


def intent(table, slice_value, fingerprint, **more):
    return SliceWrite(table=table, slice=str(slice_value), fingerprint=fingerprint, job="test", **more)


def test_writing_twice_is_writing_once(spark, lake):
    first = write_slice(spark, lake, intent(ALERTS, 1, "fa"), lambda: alerts(spark, 1, [1, 2, 3]))

    def must_not_run():
        raise AssertionError("a finished write must not build its frame again")

    second = write_slice(spark, lake, intent(ALERTS, 1, "fa"), must_not_run)
    assert (first.written, second.written) == (True, False)
    assert (second.version, second.rows, second.checksum) == (first.version, 3, first.checksum)
    assert lake.delta(ALERTS).version() == first.version


def test_a_corrected_rerun_lands_and_so_does_going_back(spark, lake):
    write_slice(spark, lake, intent(ALERTS, 7, "fa"), lambda: alerts(spark, 7, range(7)))
    corrected = write_slice(spark, lake, intent(ALERTS, 7, "fb"), lambda: alerts(spark, 7, range(50)))
    assert corrected.rows == 50
    assert read_table(spark, lake, ALERTS).count() == 50
    # A, B, A: Delta has seen transaction A; without a rising txnVersion it would drop this one silently.
    back = write_slice(spark, lake, intent(ALERTS, 7, "fa"), lambda: alerts(spark, 7, range(7)))
    assert (back.written, read_table(spark, lake, ALERTS).count()) == (True, 7)


def test_other_slices_are_left_alone_and_own_commit_is_found_among_others(spark, lake):
    one = write_slice(spark, lake, intent(ALERTS, 1, "f1"), lambda: alerts(spark, 1, [1]))
    two = write_slice(spark, lake, intent(ALERTS, 2, "f2"), lambda: alerts(spark, 2, [1, 2]))
    # A foreign commit without our metadata is the newest entry of the history.
    read_table(spark, lake, ALERTS).where("round = 2").limit(0).write.format("delta").mode("append").save(str(lake.path(ALERTS)))
    held = lake.slices(ALERTS)
    assert (held["1"].version, held["2"].version) == (one.version, two.version)
    assert write_slice(spark, lake, intent(ALERTS, 1, "f1"), lambda: alerts(spark, 1, [1])).written is False


def test_a_silent_skip_is_found_out(spark, lake):
    write = intent(ALERTS, 3, "fz")
    # Somebody recorded our transaction id without our commit: Delta will skip the real write without a word.
    (
        alerts(spark, 9, [1]).write.format("delta").mode("append").option("txnAppId", write.app_id).option("txnVersion", 5)
        .save(str(lake.path(ALERTS)))
    )  # fmt: skip
    with pytest.raises(SkippedWriteError, match="skipped the write"):
        write_slice(spark, lake, write, lambda: alerts(spark, 3, [1, 2]))


def test_append_only_batches_each_land_once(spark, lake, now):
    def rejects(position):
        return rows_of(spark, REJECTS, [("ing", "src", "p", position, "not_json", "d", b"x", now)])

    results = [write_slice(spark, lake, intent(REJECTS, "ing", "f", batch=b), lambda b=b: rejects(b)) for b in (1, 2, 2, 1)]
    assert [r.written for r in results] == [True, True, False, False]
    assert read_table(spark, lake, REJECTS).count() == 2


def test_write_once_refuses_other_fingerprint_unless_restated(spark, lake):
    def rows(k):
        return rows_of(spark, REGRESSION, [(1, "p", "t", "kind", "pol", 8, k, "all_wrong")])

    write_slice(spark, lake, intent(REGRESSION, 1, "f1"), lambda: rows(0))
    with pytest.raises(WriteOnceError, match="--restate"):
        write_slice(spark, lake, intent(REGRESSION, 1, "f2"), lambda: rows(1))
    assert read_table(spark, lake, REGRESSION).first()["k"] == 0
    write_slice(spark, lake, intent(REGRESSION, 1, "f2", restate=True), lambda: rows(1))
    assert read_table(spark, lake, REGRESSION).first()["k"] == 1


def test_a_frame_that_does_not_fit_names_every_difference(spark, lake):
    from pyspark.sql import functions as F

    wrong = alerts(spark, 1, [1]).drop("message").withColumn("value", F.col("value").cast("string")).withColumnRenamed("bound", "limit")
    with pytest.raises(SchemaMismatchError) as caught:
        write_slice(spark, lake, intent(ALERTS, 1, "f"), lambda: wrong)
    assert all(part in str(caught.value) for part in ("message is missing", "limit is not a column", "value is string, expected double"))


def test_checksum_sees_nulls_in_their_column_and_ignores_order(spark, lake):
    base = alerts(spark, 1, [1, 2, 3])
    shuffled = base.repartition(3, "name").orderBy("name", ascending=False)
    assert checksum_of(base, ALERTS) == checksum_of(shuffled, ALERTS)
    two = Table(
        name="x.y", comment="", key=("a",), partition=None, schema=pa.schema([pa.field("a", pa.string()), pa.field("b", pa.string())])
    )
    assert checksum_of(rows_of(spark, two, [(None, "v")]), two) != checksum_of(rows_of(spark, two, [("v", None)]), two)
    # xor alone is blind to a doubled pair; the sum is not.
    doubled = checksum_of(rows_of(spark, two, [("v", "w")] * 2), two)
    assert doubled.xor == 0
    assert doubled.total != 0


class Meanwhile:
    """Runs ``foreign`` after our transaction has taken its snapshot and before it commits, on the first ``times`` attempts."""

    def __init__(self, spark, folder, foreign, times=1):
        self.spark, self.folder, self.foreign, self.left = spark, folder, foreign, times
        self.attempts = 0

    def frame(self, base):
        """``base`` behind a plan that waits, inside the open transaction, until the foreign commit is there."""
        self.attempts += 1
        if self.left == 0:
            return base
        self.left -= 1
        started, go = str(self.folder / f"started{self.attempts}"), str(self.folder / f"go{self.attempts}")

        def wait(batches):
            import pathlib
            import time as clock

            pathlib.Path(started).touch()
            deadline = clock.monotonic() + 60
            while not pathlib.Path(go).exists() and clock.monotonic() < deadline:
                clock.sleep(0.02)
            yield from batches

        threading.Thread(target=self._interfere, args=(started, go), daemon=True).start()
        return base.coalesce(1).mapInArrow(wait, base.schema)

    def _interfere(self, started, go):
        from pathlib import Path

        deadline = time.monotonic() + 60
        while not Path(started).exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        try:
            self.foreign()
        finally:
            Path(go).touch()


def foreign_append(spark, lake, round_no):
    alerts(spark, round_no, [99]).write.format("delta").mode("append").save(str(lake.path(ALERTS)))


def test_concurrent_append_into_our_slice_is_retried(spark, lake, tmp_path):
    meanwhile = Meanwhile(spark, tmp_path, lambda: foreign_append(spark, lake, 1))
    result = write_slice(spark, lake, intent(ALERTS, 1, "f"), lambda: meanwhile.frame(alerts(spark, 1, [1, 2])))
    assert (meanwhile.attempts, result.rows) == (2, 2)
    assert read_table(spark, lake, ALERTS).count() == 2


def test_concurrent_delete_of_what_we_replace_is_retried(spark, lake, tmp_path):
    write_slice(spark, lake, intent(ALERTS, 1, "f0"), lambda: alerts(spark, 1, [1, 2, 3]))

    def foreign():
        from delta.tables import DeltaTable

        DeltaTable.forPath(spark, str(lake.path(ALERTS))).delete("round = 1")

    meanwhile = Meanwhile(spark, tmp_path, foreign)
    result = write_slice(spark, lake, intent(ALERTS, 1, "f1"), lambda: meanwhile.frame(alerts(spark, 1, [4])))
    assert (meanwhile.attempts, result.rows, read_table(spark, lake, ALERTS).count()) == (2, 1, 1)


def test_concurrent_append_into_another_slice_is_no_conflict(spark, lake, tmp_path):
    meanwhile = Meanwhile(spark, tmp_path, lambda: foreign_append(spark, lake, 2))
    write_slice(spark, lake, intent(ALERTS, 1, "f"), lambda: meanwhile.frame(alerts(spark, 1, [1])))
    assert meanwhile.attempts == 1
    assert read_table(spark, lake, ALERTS).count() == 2


def test_the_same_transaction_by_a_twin_is_taken_as_ours(spark, lake, tmp_path):
    write = intent(ALERTS, 1, "f")

    def twin():
        (
            alerts(spark, 1, [1, 2]).write.format("delta").mode("append").option("txnAppId", write.app_id).option("txnVersion", 1)
            .option("userMetadata", write.metadata).save(str(lake.path(ALERTS)))
        )  # fmt: skip

    meanwhile = Meanwhile(spark, tmp_path, twin)
    result = write_slice(spark, lake, write, lambda: meanwhile.frame(alerts(spark, 1, [1, 2])))
    assert (result.written, result.rows, read_table(spark, lake, ALERTS).count()) == (False, 2, 2)


def test_a_changed_table_is_not_written_blindly(spark, lake, tmp_path):
    def foreign():
        spark.sql(f"ALTER TABLE delta.`{lake.path(ALERTS)}` SET TBLPROPERTIES ('verilake.note' = 'x')")

    meanwhile = Meanwhile(spark, tmp_path, foreign)
    with pytest.raises(WriteConflictError, match="Nothing was written"):
        write_slice(spark, lake, intent(ALERTS, 1, "f"), lambda: meanwhile.frame(alerts(spark, 1, [1])))
    assert read_table(spark, lake, ALERTS).count() == 0


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("ConcurrentAppendException", "retried"),
        ("ConcurrentDeleteReadException", "retried"),
        ("ConcurrentDeleteDeleteException", "retried"),
        ("ConcurrentWriteException", "retried"),
        ("MetadataChangedException", "fatal"),
        ("ProtocolChangedException", "fatal"),
    ],
)
def test_every_conflict_class_by_name(spark, lake, monkeypatch, name, outcome):
    # The classes are siblings in Python; the ones that Delta raises only in races that cannot be staged (a protocol upgrade, two
    # deletes of one file within one commit) are raised here by hand, as Delta's own classes.
    import delta.exceptions

    commit, calls = write_module._commit, []

    def racing(*arguments):
        calls.append(1)
        if len(calls) == 1:
            raise getattr(delta.exceptions, name)(message="staged")
        return commit(*arguments)

    monkeypatch.setattr(write_module, "_commit", racing)
    if outcome == "fatal":
        with pytest.raises(WriteConflictError, match="Nothing was written"):
            write_slice(spark, lake, intent(ALERTS, 1, "f"), lambda: alerts(spark, 1, [1]))
    else:
        assert write_slice(spark, lake, intent(ALERTS, 1, "f"), lambda: alerts(spark, 1, [1])).rows == 1
        assert len(calls) == 2


def test_endless_conflicts_end(spark, lake, tmp_path, monkeypatch):
    monkeypatch.setattr(write_module, "ATTEMPTS", 2)
    meanwhile = Meanwhile(spark, tmp_path, lambda: foreign_append(spark, lake, 1), times=2)
    with pytest.raises(WriteConflictError, match="2 attempts"):
        write_slice(spark, lake, intent(ALERTS, 1, "f"), lambda: meanwhile.frame(alerts(spark, 1, [1])))
