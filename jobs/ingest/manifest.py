"""What an ingest is: its files, their digests, its id and its place in the row of ingests."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.context import JobContext
from jobs.lake.layout import Lake
from jobs.lake.migrate import table_version
from jobs.lake.types import spark_schema
from schemas.bronze.documents import DOCUMENTS
from schemas.conf import Ingest
from schemas.errors import InputRefusedError
from schemas.ids import content_id
from udfs.readers.arrow import FILES, digest_batches, files_table
from udfs.readers.files import InputFile, file_digest, list_files
from udfs.readers.read import read
from udfs.readers.record import Record, Reject

#: Up to so many bytes the driver hashes and probes the files itself, so that a repeated ingest starts no JVM; beyond, the executors hash.
DRIVER_BYTES = 1 << 32
PROBE_BYTES = 1 << 28
_THREADS = 4


class NothingReadableError(InputRefusedError):
    """No file of the input holds a single record that can be taken."""

    @classmethod
    def from_rejects(cls, files: int, reasons: dict[str, int], example: str) -> NothingReadableError:
        """Names what was met instead, and one example."""
        met = ", ".join(f"{reason} ({count})" for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
        return cls(
            f"nothing readable in {files} file{'s' if files != 1 else ''}: {met}. For example {example}. "
            "Nothing was written. Field names and units are set in [ingest] of conf/verilake.toml."
        )

    @classmethod
    def from_empty(cls, paths: Sequence[str]) -> NothingReadableError:
        """The directories hold no files."""
        return cls(f"no files in {', '.join(paths)} (hidden ones are skipped). Nothing was written.")


@dataclass(frozen=True)
class Manifest:
    """Files with their digests, in order of their names."""

    files: tuple[InputFile, ...]
    digests: tuple[str, ...]
    ingest_id: str

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return total_size(self.files)


def build_manifest(ctx: JobContext, paths: Sequence[str], source: str | None) -> Manifest:
    """List and hash the input.

    Raises:
        InputRefusedError: a path is missing, no file is there, or (small inputs) nothing in them can be taken.
    """
    files = list_files(paths, source)
    if not files:
        raise NothingReadableError.from_empty(list(paths))
    if total_size(files) <= PROBE_BYTES:
        probe(files, ctx.config.ingest)
    digests = _digests(ctx, files)
    return Manifest(tuple(files), tuple(digests), ingest_id_of(files, digests, ctx.config.ingest))


def ingest_id_of(files: Sequence[InputFile], digests: Sequence[str], conf: Ingest) -> str:
    """The id: it depends on names below the arguments, on bytes, on sources and on the reader's settings; not on where the files lie."""
    held = sorted((file.source, file.relative, digest) for file, digest in zip(files, digests, strict=True))
    return content_id("ingest", held, settings_of(conf), table_version(DOCUMENTS))


def settings_of(conf: Ingest) -> dict[str, Any]:
    """The reader's settings that matter to what it reads: not by how many tasks."""
    return conf.model_dump(mode="json", exclude={"split_mb"})


def ordinal_of(lake: Lake, ingest_id: str) -> int:
    """1 + the number of ingests before this one; an ingest that is run again keeps its place."""
    ordered = lake.order(DOCUMENTS)
    return 1 + (ordered.index(ingest_id) if ingest_id in ordered else len(ordered))


def probe(files: Sequence[InputFile], conf: Ingest) -> None:
    """Look for one record, which the first line of the first file mostly is; refuse the input before anything starts where there is none.

    Raises:
        NothingReadableError: there is none.
    """
    reasons: dict[str, int] = {}
    example = ""
    for file in files:
        for item in read(Path(file.location.decode("utf-8", "surrogateescape")), conf, relative=file.relative):
            if isinstance(item, Record):
                return
            reasons[item.reason] = reasons.get(item.reason, 0) + 1
            example = example or describe(file.relative, item)
    raise NothingReadableError.from_rejects(len(files), reasons, example)


def describe(relative: str, item: Reject) -> str:
    """One reject in words."""
    return f"{relative}{f', position {item.position}' if item.position >= 0 else ''}: {item.detail}"


def total_size(files: Sequence[InputFile]) -> int:
    """Bytes of all files that can be examined."""
    return sum(max(0, file.size) for file in files)


def _digests(ctx: JobContext, files: Sequence[InputFile]) -> list[str]:
    if total_size(files) <= DRIVER_BYTES:
        # hashlib releases the interpreter's lock, so that threads do read and hash side by side.
        with ThreadPoolExecutor(_THREADS) as pool:
            return list(pool.map(file_digest, [file.location for file in files]))
    frame = ctx.spark.createDataFrame(files_table(files, [""] * len(files))).repartition(min(len(files), 4096))
    hashed = frame.mapInArrow(digest_batches, spark_schema(FILES)).select("relative", "digest").toArrow()
    found = dict(zip(hashed["relative"].to_pylist(), hashed["digest"].to_pylist(), strict=True))
    return [found[file.relative] for file in files]
