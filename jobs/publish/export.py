"""The Spark half of an export: rows of new segments, hashed into buckets, sorted, written by tasks under names of their own (L§2.4, L§6.12)."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from jobs.lake.types import spark_schema
from jobs.publish.errors import ExportError
from jobs.publish.slices import SegmentPlan
from schemas.conf import Publish
from schemas.datasets.dataset import Dataset
from udfs.export.shards import BUCKET, HASH, SEGMENT, WRITTEN, Shape, write_shards

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: Bytes of text that certainly become no more than one byte on the disk; to refuse what cannot fit before it is tried.
_SHRINKS_AT_MOST = 12
_MIB = 1 << 20
_MAX_TASKS = 512


@dataclass(frozen=True)
class WrittenShard:
    """A file as a task wrote it, still under the name of that attempt."""

    bucket: int
    path: Path
    rows: int
    bytes: int
    sha256: str
    md5: str
    checksum: str


@dataclass(frozen=True)
class WrittenSegment:
    """A segment's new files in order of their buckets; ``buckets`` is 0 where it has no rows and none was chosen."""

    buckets: int
    rows: int
    shards: tuple[WrittenShard, ...]


def export_segments(
    frame: DataFrame, dataset: Dataset, segments: Sequence[SegmentPlan], buckets: Mapping[str, int], folder: Path, config: Publish
) -> dict[str, WrittenSegment]:
    """Write the rows of ``frame`` as files below ``folder``.

    Args:
        frame: rows of exactly these segments, with the set's columns.
        dataset: the set.
        segments: which segments.
        buckets: segment -> number of buckets where one was chosen when it was first published.
        folder: for the tasks' files, on the file system of the workspace.
        config: bounds of files and row groups.

    Returns:
        Segment -> what was written.

    Raises:
        ExportError: rows lack their task or document, the disk is too small, or other rows came out than went in.
    """
    from pyspark.sql import functions as F

    named = frame.select(
        *(_canonical(dataset, name) for name in dataset.schema.names), _ordinal(dataset, segments).alias(SEGMENT)
    ).persist()
    try:
        sizes = {row[SEGMENT]: row for row in named.groupBy(SEGMENT).agg(*_sizes(dataset)).collect()}
        _refuse(dataset, sizes.values(), folder)
        chosen = [_buckets(buckets.get(segment.name, 0), sizes.get(n), config) for n, segment in enumerate(segments)]
        number = F.element_at(F.array(*(F.lit(max(1, count)) for count in chosen)), F.col(SEGMENT) + 1)
        bucketed = named.select(
            "*", F.pmod(F.xxhash64(*dataset.key), number.cast("long")).cast("int").alias(BUCKET), _row_hash(dataset).alias(HASH)
        )
        tasks = min(_MAX_TASKS, max(1, sum(chosen)))
        ordered = bucketed.repartition(tasks, SEGMENT, BUCKET).sortWithinPartitions(SEGMENT, BUCKET, *dataset.key, HASH)
        shape = Shape(pa.schema(list(dataset.schema)), config.row_group_rows, str(folder))
        told = [row.asDict() for row in ordered.mapInArrow(partial(write_shards, shape=shape), spark_schema(WRITTEN)).collect()]
    finally:
        named.unpersist()
    return _gathered(dataset, segments, chosen, {n: int(row["rows"]) for n, row in sizes.items()}, told, folder)


def _gathered(
    dataset: Dataset,
    segments: Sequence[SegmentPlan],
    chosen: Sequence[int],
    meant: Mapping[int, int],
    told: list[dict[str, Any]],
    folder: Path,
) -> dict[str, WrittenSegment]:
    found = {}
    for number, segment in enumerate(segments):
        shards = tuple(
            WrittenShard(row["bucket"], folder / row["attempt"], row["rows"], row["bytes"], row["sha256"], row["md5"], row["checksum"])
            for row in sorted((row for row in told if row["segment"] == number), key=lambda row: row["bucket"])
        )
        rows = sum(shard.rows for shard in shards)
        if rows != meant.get(number, 0):
            raise ExportError.from_rows(dataset.name, meant.get(number, 0), rows)
        found[segment.name] = WrittenSegment(chosen[number], rows, shards)
    return found


def _buckets(known: int, size: Any, config: Publish) -> int:
    """Chosen from bytes of text when the segment first has rows, and kept for its life."""
    if known or size is None:
        return known
    return max(1, -(-int(size["text"]) // (config.shard_mb * _MIB)))


def _sizes(dataset: Dataset) -> list[Column]:
    """Rows, bytes of text, and rows that lack what no row may lack."""
    from pyspark.sql import functions as F

    texts = [F.coalesce(F.octet_length(field.name), F.lit(0)) for field in dataset.schema if pa.types.is_string(field.type)]
    lacking = F.lit(False)
    for field in dataset.schema:
        if not field.nullable:
            lacking = lacking | F.col(field.name).isNull()
    return [
        F.count(F.lit(1)).alias("rows"),
        F.sum(sum(texts[1:], texts[0]).cast("long")).alias("text"),
        F.sum(lacking.cast("long")).alias("lacking"),
    ]


def _refuse(dataset: Dataset, sizes: Any, folder: Path) -> None:
    held = list(sizes)
    lacking = sum(int(row["lacking"]) for row in held)
    if lacking:
        raise ExportError.from_source(dataset.name, lacking)
    needed, free = sum(int(row["text"]) for row in held) // _SHRINKS_AT_MOST, shutil.disk_usage(folder).free
    if needed > free:
        raise ExportError.from_space(str(folder), needed, free)


def _ordinal(dataset: Dataset, segments: Sequence[SegmentPlan]) -> Column:
    """Which of the segments a row belongs to."""
    from pyspark.sql import functions as F

    if dataset.segment is None:
        return F.lit(0)
    pairs = [F.lit(item) for number, segment in enumerate(segments) for item in (segment.value, number)]
    return F.element_at(F.create_map(*pairs), F.col(dataset.segment).cast("string"))


def _canonical(dataset: Dataset, name: str) -> Column:
    """A column with one zero and one NaN, so that the row's hash and its bytes agree."""
    from pyspark.sql import functions as F

    column = F.col(name)
    if not pa.types.is_floating(dataset.schema.field(name).type):
        return column
    return F.when(column == 0, F.lit(0.0)).when(F.isnan(column), F.lit(float("nan"))).otherwise(column).alias(name)


def _row_hash(dataset: Dataset) -> Column:
    """As the lake's checksum (jobs/lake/checksum.py): xxhash64 skips nulls, so each nullable column brings its nullness along."""
    from pyspark.sql import functions as F

    parts = []
    for field in dataset.schema:
        parts.append(F.col(field.name))
        if field.nullable:
            parts.append(F.col(field.name).isNull())
    return F.xxhash64(*parts)
