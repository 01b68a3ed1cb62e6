"""Benchmark sets as versioned inputs: added once, known for ever, of each name the newest version in force."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from jobs.context import JobContext, JobReport
from jobs.lake.layout import Lake
from jobs.lake.types import spark_schema
from schemas.bronze.benchmark_items import BENCHMARK_ITEMS
from schemas.errors import VerilakeError
from udfs.decontamination.items import Item, version_of

JOB = "add_benchmark"
#: Name of the set that the lake's own eval tasks are; no set of a file may have it.
OWN = "eval_tasks"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")


class BenchmarkNameError(VerilakeError):
    """A set is called by a name that it cannot have, or that no set has."""

    exit_code = 2

    @classmethod
    def from_name(cls, name: str) -> BenchmarkNameError:
        """Other characters than names may have."""
        return cls(f"--name {name!r}: letters, digits, '.', '_' and '-' only, at most 100 of them, and not {OWN}. Nothing was written.")

    @classmethod
    def from_unknown(cls, names: Sequence[str], known: Sequence[str]) -> BenchmarkNameError:
        """decontaminate.sets names sets that nobody added."""
        return cls(f"decontaminate.sets names {', '.join(names)}: no such set was added. Known: {', '.join(known) or 'none'}.")


@dataclass(frozen=True)
class Version:
    """A version of a set.

    Attributes:
        name: of the set.
        benchmark: ``name@fingerprint``.
        items: how many.
        in_force: whether it is the newest of its name.
    """

    name: str
    benchmark: str
    items: int
    in_force: bool


def check_name(name: str) -> None:
    """Refuse a name that no set may have.

    Raises:
        BenchmarkNameError: with what names may hold.
    """
    if not _NAME.fullmatch(name) or name == OWN:
        raise BenchmarkNameError.from_name(name)


def add(ctx: JobContext, name: str, items: Sequence[Item]) -> JobReport:
    """Add a version of a set; nothing to do where this content is known under this name.

    Raises:
        BenchmarkNameError: a name that no set may have.
    """
    check_name(name)
    benchmark = version_of(name, items)
    with ctx.open(JOB, f"benchmark={benchmark}", reads={}, writes={BENCHMARK_ITEMS: benchmark}) as job:
        if not job.done:
            rows = [
                (benchmark, name, i.item_id, i.question, i.answer, i.solution, list(i.choices), i.tests, ctx.now) for i in items
            ]  # fmt: skip
            job.write(BENCHMARK_ITEMS, lambda: ctx.spark.createDataFrame(rows, spark_schema(BENCHMARK_ITEMS.schema)))
            job.count(input=len(rows), items=len(rows))
    return job.report()


def versions(lake: Lake) -> list[Version]:
    """Every version of every set, by name and in the order in which they were added; starts no JVM."""
    commits = sorted(lake.slices(BENCHMARK_ITEMS).values(), key=lambda commit: commit.version)
    newest = {commit.slice.rpartition("@")[0]: commit.slice for commit in commits}
    found = [
        Version(name, commit.slice, commit.rows, newest[name] == commit.slice)
        for commit in commits for name in (commit.slice.rpartition("@")[0],)
    ]  # fmt: skip
    return sorted(found, key=lambda version: version.name)


def in_force(lake: Lake, names: Sequence[str] = ()) -> list[str]:
    """Versions that texts are held against: the newest of every name, or of ``names`` alone.

    Raises:
        BenchmarkNameError: a name that no set has.
    """
    current = {version.name: version.benchmark for version in versions(lake) if version.in_force}
    unknown = [name for name in names if name not in current]
    if unknown:
        raise BenchmarkNameError.from_unknown(unknown, sorted(current))
    return sorted(benchmark for name, benchmark in current.items() if not names or name in names)


def load(lake: Lake, benchmarks: Sequence[str]) -> list[tuple[str, list[Item]]]:
    """Items of some versions; read without a JVM."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    if not benchmarks:
        return []
    wanted = ds.field("benchmark").isin(pa.array(list(benchmarks), pa.string()))
    rows = lake.dataset(BENCHMARK_ITEMS).to_table(filter=wanted).to_pylist()
    held: dict[str, list[Item]] = {benchmark: [] for benchmark in benchmarks}
    for row in sorted(rows, key=lambda row: (row["benchmark"], row["item_id"])):
        item = Item(row["item_id"], row["question"], row["answer"], row["solution"], tuple(row["choices"]), row["tests"])
        held[row["benchmark"]].append(item)
    return sorted(held.items())
