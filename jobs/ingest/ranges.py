"""Which task reads what: small files whole, large ones in ranges where their format allows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from jobs.context import JobContext
from jobs.ingest.manifest import Manifest
from jobs.lake.types import spark_schema
from udfs.readers.arrow import PARTS, line_batches, parts_table, reached_of
from udfs.readers.files import InputFile
from udfs.readers.parts import WHOLE, Part, Reached, cut, joined, numbered
from udfs.readers.read import splits

#: Up to so many bytes of JSONL the driver counts the line feeds itself.
DRIVER_BYTES = 1 << 30
MEBIBYTE = 1 << 20

Reading = tuple[InputFile, str, Part]


def plan_ranges(ctx: JobContext, manifest: Manifest, whole: Collection[str] = ()) -> list[Reading]:
    """Every file with its digest and the range to read, the largest ranges first.

    Args:
        ctx: context.
        manifest: files.
        whole: names of files that are not to be split.
    """
    step = ctx.config.ingest.split_mb * MEBIBYTE
    found: list[Reading] = []
    lines: list[Reading] = []
    for file, digest in zip(manifest.files, manifest.digests, strict=True):
        kind = splits(file.location) if file.size > step and file.relative not in whole else None
        parts = [WHOLE] if kind is None else cut(file.size, step)
        (lines if kind == "lines" else found).extend((file, digest, part) for part in parts)
    found.extend(_numbered(ctx, lines))
    return sorted(found, key=lambda reading: (-_length(reading), reading[0].relative, reading[2].begin))


def misread(manifest: Manifest, rows: Iterable[dict[str, str | int]]) -> set[str]:
    """Names of split archives whose parts do not fit together, from the rows that their tasks left."""
    held: dict[str, list[tuple[int, Reached]]] = defaultdict(list)
    for row in rows:
        held[str(row["path"])].append((int(row["position"]), reached_of(row)))
    sizes = {file.relative: file.size for file in manifest.files}
    return {
        name for name, parts in held.items() if not joined([reached for _, reached in sorted(parts, key=lambda part: part[0])], sizes[name])
    }


def _length(reading: Reading) -> int:
    file, _, part = reading
    return file.size if part.whole else part.end - part.begin


def _numbered(ctx: JobContext, readings: Sequence[Reading]) -> list[Reading]:
    """The ranges of files of lines, each with the number of its first line."""
    if not readings:
        return []
    table = parts_table(readings)
    if sum(map(_length, readings)) <= DRIVER_BYTES:
        counted = [row for batch in line_batches(table.to_batches()) for row in batch.to_pylist()]
    else:
        frame = ctx.spark.createDataFrame(table).repartition(len(readings))
        counted = frame.mapInArrow(line_batches, spark_schema(PARTS)).select("relative", "begin", "line").toArrow().to_pylist()
    counts = {(row["relative"], row["begin"]): row["line"] for row in counted}
    files: dict[str, list[Reading]] = defaultdict(list)
    for reading in readings:
        files[reading[0].relative].append(reading)
    found: list[Reading] = []
    for name, parts in files.items():
        ranges = numbered([part for _, _, part in parts], [counts[name, part.begin] for _, _, part in parts])
        found.extend((file, digest, replace(part, line=ranged.line)) for (file, digest, part), ranged in zip(parts, ranges, strict=True))
    return found
