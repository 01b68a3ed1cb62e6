"""ingest_corpus: files of any known format -> bronze.documents, and what could not be read -> bronze.rejects."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from jobs.context import JobContext, JobReport, JobRun
from jobs.ingest.manifest import Manifest, NothingReadableError, build_manifest, ordinal_of, settings_of
from jobs.ingest.ranges import misread, plan_ranges
from jobs.lake.locks import exclusive
from jobs.lake.types import spark_schema
from schemas.bronze.documents import DOCUMENTS
from schemas.bronze.rejects import REJECTS
from schemas.errors import InputRefusedError
from udfs.readers.arrow import ITEMS, REACHED, InputChangedError, parts_table, read_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOG = logging.getLogger("verilake.ingest")
#: Tasks per core of the cluster, so that files of unequal size spread.
_TASKS_PER_CORE = 4


def run(ctx: JobContext, paths: Sequence[str], *, source: str | None = None) -> JobReport:
    """Ingest files and directories; the same content again is nothing to do.

    Args:
        ctx: context.
        paths: files and directories, which every executor must see under the same path.
        source: name of the collection; where None, the name of the directory or the stem of the file that was named.

    Raises:
        InputRefusedError: a path is missing, or nothing in the input can be taken; nothing was written.
    """
    manifest = build_manifest(ctx, [str(path) for path in paths], source)
    # One ingest at a time: its ordinal and what it repeats depend on those before it.
    with (
        exclusive(ctx.workspace.locks_root, "ingest_corpus"),
        ctx.open(
            "ingest_corpus", f"ingest={manifest.ingest_id}",
            reads={}, writes={DOCUMENTS: manifest.ingest_id, REJECTS: manifest.ingest_id},
            settings=settings_of(ctx.config.ingest),
        ) as job,
    ):  # fmt: skip
        if not job.done:
            _LOG.info("reading %d files, %d bytes", len(manifest.files), manifest.size)
            _ingest(ctx, job, manifest)
    return job.report()


def _ingest(ctx: JobContext, job: JobRun, manifest: Manifest) -> None:
    from pyspark import StorageLevel

    # On disk, not in memory: it is read three times, and parsed once.
    read = read_items(ctx, manifest).persist(StorageLevel.DISK_ONLY)
    try:
        found = _first_pass(read, manifest)
        whole = misread(manifest, reached(read))
        if whole:
            _LOG.warning(
                "%s: parts do not fit together (an archive within the archive, or damage where two meet); read whole", sorted(whole)
            )
            read.unpersist()
            read = read_items(ctx, manifest, whole).persist(StorageLevel.DISK_ONLY)
            found = _first_pass(read, manifest)
        items = read.where(f"reason IS NULL OR reason <> '{REACHED}'")
        seq = ordinal_of(ctx.lake, manifest.ingest_id)
        losers = repeated(ctx, items, manifest.ingest_id, seq).persist(StorageLevel.DISK_ONLY)
        kept = job.write(DOCUMENTS, lambda: documents(ctx, items, losers, manifest.ingest_id, seq)).rows
        refused = job.write(REJECTS, lambda: rejects(ctx, items, losers, manifest.ingest_id)).rows
        reasons = {reason: count for reason, count in found.items() if reason is not None}
        # What was written and read back, not what was meant: records that neither table holds would show as a difference to the input.
        again = refused - sum(reasons.values())
        counts = reasons | ({"duplicate_record": again} if again else {})
        job.count(input=sum(found.values()), documents=kept, rejects=dict(sorted(counts.items())), files=len(manifest.files))
        losers.unpersist()
    finally:
        read.unpersist()


def read_items(ctx: JobContext, manifest: Manifest, whole: Collection[str] = ()) -> DataFrame:
    """``ITEMS``: every record and reject of every file, read by the executors; large files in ranges, but those named in ``whole``."""
    # Largest first and dealt round robin, so that tasks end at about the same time.
    table = parts_table(plan_ranges(ctx, manifest, whole))
    tasks = min(table.num_rows, _TASKS_PER_CORE * ctx.spark.sparkContext.defaultParallelism)
    parts = ctx.spark.createDataFrame(table).repartition(tasks)
    return parts.mapInArrow(partial(read_batches, conf=ctx.config.ingest), spark_schema(ITEMS))


def reached(items: DataFrame) -> list[dict[str, str | int]]:
    """What the tasks of split archives have met."""
    return [row.asDict() for row in items.where(f"reason = '{REACHED}'").select("path", "position", "detail").collect()]


def repeated(ctx: JobContext, items: DataFrame, ingest_id: str, seq: int) -> DataFrame:
    """``path, position, detail`` of records whose doc_id an earlier ingest holds, or an earlier place of this one.

    The earlier place is the smaller (path, position), whatever the order of reading.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    keys = items.where("reason IS NULL").select("doc_id", "path", "position")
    place = Window.partitionBy("doc_id").orderBy("path", "position")
    within = keys.select(
        "doc_id", "path", "position",
        F.row_number().over(place).alias("n"), F.first("path").over(place).alias("p"), F.first("position").over(place).alias("at"),
    )  # fmt: skip
    if seq == 1:
        known = within.withColumn("earlier", F.lit(None).cast("string"))
    else:
        held = ctx.read(DOCUMENTS).where(f"ingest_seq < {seq} AND ingest_id != '{ingest_id}'")
        known = within.join(held.groupBy("doc_id").agg(F.min_by("ingest_id", "ingest_seq").alias("earlier")), "doc_id", "left")
    return known.where("earlier IS NOT NULL OR n > 1").select(
        "path",
        "position",
        F.when(F.col("earlier").isNotNull(), F.concat(F.lit("equal source, uri and text in ingest "), "earlier"))
        .otherwise(F.concat(F.lit("equal source, uri and text at "), "p", F.lit(", position "), F.col("at").cast("string")))
        .alias("repeats"),
    )


def documents(ctx: JobContext, items: DataFrame, losers: DataFrame, ingest_id: str, seq: int) -> DataFrame:
    """Rows of bronze.documents."""
    from pyspark.sql import functions as F

    first = items.where("reason IS NULL").join(losers.select("path", "position"), ["path", "position"], "left_anti")
    return first.select(
        "doc_id", F.lit(ingest_id).alias("ingest_id"), F.lit(seq).alias("ingest_seq"), "source", "uri", "title", "text", "licence",
        "metadata", "path", "position", F.lit(ctx.now).alias("fetched_at"),
    )  # fmt: skip


def rejects(ctx: JobContext, items: DataFrame, losers: DataFrame, ingest_id: str) -> DataFrame:
    """Rows of bronze.rejects: what the readers refused, and the records that repeat another."""
    from pyspark.sql import functions as F

    columns = ["path", "position", "source", "reason", "detail", "first_bytes"]
    refused = items.where("reason IS NOT NULL").select(*columns)
    again = (
        items.where("reason IS NULL").drop("reason", "detail").join(losers, ["path", "position"])
        .withColumn("reason", F.lit("duplicate_record")).withColumnRenamed("repeats", "detail").select(*columns)
    )  # fmt: skip
    return refused.unionByName(again).select(
        F.lit(ingest_id).alias("ingest_id"), "source", "path", "position", "reason", "detail", "first_bytes",
        F.lit(ctx.now).alias("rejected_at"),
    )  # fmt: skip


def _first_pass(items: DataFrame, manifest: Manifest) -> dict[str | None, int]:
    """Items by reason (None: a record). In this pass files are read, and those that changed meanwhile are found out.

    Raises:
        NothingReadableError: there is no record among them.
        InputRefusedError: a file changed.
    """
    from pyspark.errors import PythonException

    try:
        found = {row["reason"]: row["count"] for row in items.groupBy("reason").count().collect() if row["reason"] != REACHED}
    except PythonException as error:
        raise _changed(error) from None
    if None in found:
        return found
    worst = items.where(f"reason <> '{REACHED}'").orderBy("path", "position").select("path", "position", "detail").first()
    raise NothingReadableError.from_rejects(len(manifest.files), found, f"{worst['path']}, position {worst['position']}: {worst['detail']}")


def _changed(error: Exception) -> Exception:
    """The error of a task as the one it was before Spark wrapped it; any other error as it is."""
    marker = f"{InputChangedError.__name__}: "
    line = next((line for line in _lines(error) if marker in line), None)
    return InputRefusedError(line.partition(marker)[2].strip()) if line is not None else error


def _lines(error: Exception) -> Iterator[str]:
    yield from str(error).splitlines()


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("ingest")
