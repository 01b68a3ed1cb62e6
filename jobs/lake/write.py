"""The one place from which Spark writes to the lake.

A write replaces (or, for append-only tables, adds to) one *slice*: the rows of one value of the table's partition column. It carries
a transaction id made of job, table, slice and fingerprint, so that doing it twice is doing it once and a corrected re-run is another
transaction; afterwards it finds its own commit and compares row count and checksum with what it meant to write, because a skipped
transaction is silent (L§1.1, L§6.2).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobs.lake.checksum import Checksum, aggregates, checksum_of
from jobs.lake.errors import SchemaMismatchError, SkippedWriteError, VerifyError, WriteConflictError, WriteOnceError
from jobs.lake.layout import Lake, SliceCommit
from jobs.lake.locks import exclusive
from jobs.lake.types import spark_schema
from schemas.ids import canonical_json
from schemas.table import Table
from udfs.killpoints import reach

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOG = logging.getLogger("verilake.lake")
ATTEMPTS = 5


@dataclass(frozen=True)
class WriteResult:
    """What a write did: ``written`` is False where the slice already held this fingerprint."""

    table: str
    slice: str
    version: int
    rows: int
    checksum: str
    written: bool


@dataclass(frozen=True)
class SliceWrite:
    """One intended write.

    Attributes:
        table: the table.
        slice: value of its partition column, as text.
        fingerprint: hash of input slices, configuration that matters and versions.
        job: who writes.
        batch: ordinal of an append within (slice, fingerprint); 1 for a replacement.
        code_hash: hash of the code, recorded, not part of the identity.
        restate: whether a write-once slice may be replaced.
    """

    table: Table
    slice: str
    fingerprint: str
    job: str
    batch: int = 1
    code_hash: str = ""
    restate: bool = False

    @property
    def app_id(self) -> str:
        """txnAppId: DESIGN section 6."""
        return f"{self.job}/{self.table.name}/{self.slice}/{self.fingerprint}"

    @property
    def condition(self) -> str:
        """SQL predicate of the slice, a literal, so that Delta prunes and does not conflict with other slices."""
        if self.table.partition is None:
            raise ValueError(f"{self.table.name} has no slices")
        if str(self.table.schema.field(self.table.partition).type) == "int32":
            return f"{self.table.partition} = {int(self.slice)}"
        return f"{self.table.partition} = '{sql_text(self.slice)}'"

    @property
    def metadata(self) -> str:
        """What the commit says of itself (Delta's userMetadata)."""
        return canonical_json({
            "job": self.job, "table": self.table.name, "slice": self.slice, "fingerprint": self.fingerprint,
            "batch": self.batch, "code": self.code_hash,
        })  # fmt: skip

    def find(self, lake: Lake) -> SliceCommit | None:
        """This very write among the table's commits; for a replacement only where it is the newest of its slice."""
        if self.table.append_only:
            wanted = (self.slice, self.fingerprint, self.batch)
            return next((c for c in lake.commits(self.table) if (c.slice, c.fingerprint, c.batch) == wanted), None)
        newest = lake.slices(self.table).get(self.slice)
        return newest if newest is not None and newest.fingerprint == self.fingerprint else None


def sql_text(value: str) -> str:
    """``value`` inside a single-quoted SQL literal of Spark."""
    return value.replace("\\", "\\\\").replace("'", "\\'")


def write_slice(spark: SparkSession, lake: Lake, write: SliceWrite, frame: Callable[[], DataFrame]) -> WriteResult:
    """Write one slice exactly once.

    Args:
        spark: session.
        lake: where.
        write: what it is.
        frame: builds the frame; called again for each retry, never where the write is already done.

    Raises:
        SchemaMismatchError: the frame's columns are not the table's.
        WriteOnceError: the slice is write-once and holds another fingerprint.
        WriteConflictError: a foreign writer keeps committing, or changed the table itself.
        SkippedWriteError: Delta skipped the write although it is not in the log.
        VerifyError: the table does not hold afterwards what was meant.
    """
    table = write.table
    with exclusive(lake.root / ".locks", table.name):
        done = write.find(lake)
        if done is not None:
            return _existing(spark, lake, write, done)
        if table.write_once and not write.restate:
            held = lake.slices(table).get(write.slice)
            if held is not None:
                raise WriteOnceError.from_slice(table.name, write.slice, held.fingerprint, write.fingerprint)
        reach(f"{write.job}/before_write/{table.name}")
        meant = _commit_with_retries(lake, write, frame)
        reach(f"{write.job}/after_commit/{table.name}")
        commit = write.find(lake)
        if commit is None:
            raise SkippedWriteError.from_app_id(table.name, write.app_id)
        if meant is None:
            return _existing(spark, lake, write, commit)
        _verify(spark, lake, write, commit, meant)
    _LOG.debug("%s %s: %s at version %s", table.name, write.slice, meant, commit.version)
    return WriteResult(table.name, write.slice, commit.version, meant.rows, str(meant), written=True)


def read_table(spark: SparkSession, lake: Lake, table: Table, *, version: int | None = None) -> DataFrame:
    """The table as a frame, at a version where one is given."""
    reader = spark.read.format("delta")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    return reader.load(str(lake.path(table)))


def _existing(spark: SparkSession, lake: Lake, write: SliceWrite, commit: SliceCommit) -> WriteResult:
    # As the table stands now: files of the version that wrote the slice may have been compacted since.
    held = checksum_of(read_table(spark, lake, write.table).where(write.condition), write.table)
    return WriteResult(write.table.name, write.slice, commit.version, held.rows, str(held), written=False)


def _commit_with_retries(lake: Lake, write: SliceWrite, frame: Callable[[], DataFrame]) -> Checksum | None:
    from delta.exceptions import (
        ConcurrentAppendException,
        ConcurrentDeleteDeleteException,
        ConcurrentDeleteReadException,
        ConcurrentTransactionException,
        ConcurrentWriteException,
        MetadataChangedException,
        ProtocolChangedException,
    )

    # The conflict classes are siblings in Python: catching their JVM parent would catch none of them (L§1.2).
    again = (ConcurrentAppendException, ConcurrentDeleteReadException, ConcurrentDeleteDeleteException, ConcurrentWriteException)
    last = ""
    for attempt in range(ATTEMPTS):
        try:
            return _commit(lake, write, frame())
        except again as error:
            last = f"{type(error).__name__}: {str(error)[:300]}"
            _LOG.warning("%s: attempt %d met %s", write.table.name, attempt + 1, type(error).__name__)
            time.sleep(0.2 * 2**attempt)
        except ConcurrentTransactionException:
            # Somebody else did this very write: whoever it was, its commit is looked up and checked by the caller.
            return None
        except (MetadataChangedException, ProtocolChangedException) as error:
            raise WriteConflictError.from_fatal(write.table.name, str(error)[:300]) from None
    raise WriteConflictError.from_attempts(write.table.name, ATTEMPTS, last)


def _commit(lake: Lake, write: SliceWrite, frame: DataFrame) -> Checksum | None:
    from pyspark.sql import Observation

    observation = Observation()
    observed = _fitted(frame, write.table).observe(observation, *aggregates(write.table))
    writer = (
        observed.write.format("delta")
        .option("txnAppId", write.app_id)
        .option("txnVersion", _ordinal(lake, write))
        .option("userMetadata", write.metadata)
    )
    if write.table.append_only:
        writer.mode("append").save(str(lake.path(write.table)))
    else:
        writer.mode("overwrite").option("replaceWhere", write.condition).save(str(lake.path(write.table)))
    # A skipped write never runs the plan, and an Observation that never ran would be waited for without end.
    return Checksum.from_row(observation.get) if write.find(lake) is not None else None


def _ordinal(lake: Lake, write: SliceWrite) -> int:
    """txnVersion: rises with each commit of the slice, so that going back to an earlier setting (A, B, A again) is not skipped as done."""
    if write.table.append_only:
        return write.batch
    return 1 + sum(commit.slice == write.slice for commit in lake.commits(write.table))


def _fitted(frame: DataFrame, table: Table) -> DataFrame:
    """The frame with the table's columns in their order; types and names must be equal, nullability is checked by Delta."""
    wanted = {field.name: field.dataType for field in spark_schema(table.schema).fields}
    found = {field.name: field.dataType for field in frame.schema.fields}
    differences = [f"{name} is missing" for name in wanted if name not in found]
    differences += [f"{name} is not a column" for name in found if name not in wanted]
    differences += [
        f"{name} is {found[name].simpleString()}, expected {kind.simpleString()}"
        for name, kind in wanted.items()
        if name in found and found[name].simpleString() != kind.simpleString()
    ]
    if differences:
        raise SchemaMismatchError.from_differences(table.name, differences)
    return frame.select(*wanted)


def _verify(spark: SparkSession, lake: Lake, write: SliceWrite, commit: SliceCommit, meant: Checksum) -> None:
    found = checksum_of(read_table(spark, lake, write.table, version=commit.version).where(write.condition), write.table)
    if write.table.append_only:
        before = checksum_of(read_table(spark, lake, write.table, version=commit.version - 1).where(write.condition), write.table)
        found = found.minus(before)
    if found != meant:
        raise VerifyError.from_figures(write.table.name, write.slice, commit.version, str(meant), str(found))
