"""add_tasks: benchmark sets, conversations and generated problems -> documents, candidates and tasks.

An item becomes a document with one canonical text and a candidate whose evidence is the gold in it; admission takes it from there. So its
lineage, its licence, its verdict and its takedown are those of any other task. A held-out set is a benchmark at once: what is curated or
admitted later is held against it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from jobs import admit_tasks
from jobs.context import JobContext, JobReport, JobRun
from jobs.decontamination import benchmarks
from jobs.ingest.manifest import NothingReadableError, ordinal_of
from jobs.ingest_corpus import documents, rejects, repeated
from jobs.lake.locks import exclusive
from jobs.lake.migrate import table_version
from jobs.sources.added import JOB
from jobs.sources.documents import SCHEME, candidates, conversions, kept, profiles, verdicts
from schemas.bronze.documents import DOCUMENTS as RECEIVED
from schemas.bronze.rejects import REJECTS
from schemas.errors import InputRefusedError
from schemas.gold.tasks import TASKS
from schemas.ids import content_id
from schemas.silver.conversions import CONVERSIONS
from schemas.silver.document_profiles import DOCUMENT_PROFILES
from schemas.silver.document_verdicts import DOCUMENT_VERDICTS
from schemas.silver.documents import DOCUMENTS
from schemas.silver.qa import QA
from udfs.decontamination.adapters import distinct
from udfs.readers.arrow import ITEMS
from udfs.readers.files import file_digest
from udfs.sources.adapters import adapter_named
from udfs.sources.generators.families import maker
from udfs.sources.item import ADAPTER, GENERATOR
from udfs.sources.read import read_records
from udfs.sources.rows import Origin, Rows, rows_of_items, rows_of_records

Split = Literal["train", "test"]


@dataclass(frozen=True, slots=True)
class Added:
    """What an addition did.

    Attributes:
        ingest_id: its ingest.
        reports: of the benchmark set (held-out items alone), of the addition and, where it could run, of the admission.
        waits_for: earlier ingests that must be admitted first; none where the admission has run.
    """

    ingest_id: str
    reports: tuple[JobReport, ...]
    waits_for: tuple[str, ...]


def run(ctx: JobContext, name: str, path: Path, adapter: str, *, split: Split = "train", licence: str | None = None) -> Added:
    """Add the items of a file.

    Args:
        ctx: context.
        name: of the source; its documents and, where held out, its benchmark set are called so.
        path: JSON lines (plain, gzip, zstd) or Parquet.
        adapter: format of its records, see ``udfs.sources.adapters``.
        split: ``test`` items are held out: never trained on, and a set that corpora are held against.
        licence: of items whose record names none.

    Raises:
        UnknownAdapterError, BenchmarkNameError: no such format; a name that no source may have.
        InputRefusedError: the file is missing, or no record of it is an item; nothing was written.
    """
    made_by = adapter_named(adapter)
    benchmarks.check_name(name)
    if not path.is_file():
        raise InputRefusedError.from_missing(str(path))
    conf = ctx.config.ingest
    origin = _origin(name, split, licence, ADAPTER, made_by.label, [path.name, file_digest(path), conf.max_document_bytes])
    return _add(ctx, origin, lambda: rows_of_records(read_records(path, conf.max_document_bytes), path.name, made_by, origin, conf))


def generate(ctx: JobContext, name: str, count: int, seed: int, levels: range, *, split: Split = "train") -> Added:
    """Add generated problems.

    Args:
        ctx: context.
        name: a family of ``udfs.sources.generators``, ``mixed``, or ``gym:<data set>`` of reasoning-gym where that is installed.
        count: how many.
        seed: of the row; the same seed gives the same problems for ever.
        levels: of difficulty, 1 to 5; go round.
        split: as in :func:`run`.

    Raises:
        UnknownFamilyError: there is no such family.
        GymError: reasoning-gym is not installed, or has no such data set.
    """
    source = f"generated.{name.replace(':', '.')}"
    benchmarks.check_name(source)
    made = maker(name)
    origin = _origin(source, split, None, GENERATOR, made.label, [name, count, seed, levels.start, levels.stop])
    return _add(ctx, origin, lambda: rows_of_items(made.items(count, seed, levels), origin, ctx.config.ingest))


def _origin(source: str, split: Split, licence: str | None, engine: str, template: str, content: list[Any]) -> Origin:
    """What the items have in common; the id of their ingest depends on what they are made of, and by what."""
    ingest_id = content_id(JOB, source, split, licence, engine, template, content, table_version(RECEIVED))
    return Origin(ingest_id, source, "eval" if split == "test" else "train", licence, engine, template)


def _add(ctx: JobContext, origin: Origin, read: Callable[[], Rows]) -> Added:
    ingest_id, reports = origin.ingest_id, []
    writes = dict.fromkeys((RECEIVED, REJECTS, DOCUMENT_PROFILES, DOCUMENT_VERDICTS, DOCUMENTS, QA, CONVERSIONS), ingest_id)
    settings = [origin.source, origin.split, origin.licence, origin.template]
    with (
        # One ingest at a time: its ordinal and what it repeats depend on those before it.
        exclusive(ctx.workspace.locks_root, "ingest_corpus"),
        ctx.open(JOB, f"ingest={ingest_id}", reads={}, writes=writes, settings=settings, versions={"documents": SCHEME}) as job,
    ):
        if not job.done:
            rows = read()
            if not rows.candidates:
                raise _nothing(rows)
            if origin.split == "eval":  # first: should this end here, nothing is trained on that is not yet known as held out
                reports.append(benchmarks.add(ctx, origin.source, distinct(rows.benchmark)))
            _write(ctx, job, origin, rows)
    reports.append(job.report())
    waits_for = () if not job.report().counts["documents"] else _not_admitted(ctx, ingest_id)
    if job.report().counts["documents"] and not waits_for:
        reports.append(admit_tasks.run(ctx, ingest_id))
    return Added(ingest_id, tuple(reports), waits_for)


def _write(ctx: JobContext, job: JobRun, origin: Origin, rows: Rows) -> None:
    items = ctx.spark.createDataFrame(pa.Table.from_pylist(rows.items, schema=ITEMS))
    seq = ordinal_of(ctx.lake, origin.ingest_id)
    losers = repeated(ctx, items, origin.ingest_id, seq).cache()
    added = job.write(RECEIVED, lambda: documents(ctx, items, losers, origin.ingest_id, seq)).rows
    refused = job.write(REJECTS, lambda: rejects(ctx, items, losers, origin.ingest_id)).rows
    job.write(DOCUMENT_PROFILES, lambda: profiles(ctx, job))
    job.write(DOCUMENT_VERDICTS, lambda: verdicts(ctx, job))
    held = job.write(DOCUMENTS, lambda: kept(job, origin.split)).rows
    asked = job.write(QA, lambda: candidates(ctx, job, pa.Table.from_pylist(list(rows.candidates.values()), schema=QA.schema))).rows
    job.write(CONVERSIONS, lambda: conversions(job))
    again = refused - rows.refused.total()
    counts = dict(rows.refused) | ({"duplicate_record": again} if again else {})
    job.count(
        input=len(rows.items), documents=added, rejects=dict(sorted(counts.items())), taken_down=added - held, candidates=asked
    )  # fmt: skip
    losers.unpersist()


def _not_admitted(ctx: JobContext, ingest_id: str) -> tuple[str, ...]:
    """Earlier ingests without tasks: theirs are the questions that count as asked before."""
    held = ctx.lake.slices(TASKS)
    return tuple(name for name in admit_tasks.earlier_ingests(ctx, ingest_id) if f"ingest={name}" not in held)


def _nothing(rows: Rows) -> NothingReadableError:
    worst = rows.items[0] if rows.items else {"path": "", "position": 0, "detail": "no record in it"}
    return NothingReadableError.from_rejects(1, dict(rows.refused), f"{worst['path']}, position {worst['position']}: {worst['detail']}")


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("tasks")
