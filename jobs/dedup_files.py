"""De-duplicate plain files: JSONL or Parquet in, kept rows, duplicates and a summary out; no lake and no JVM.

One process does it, for starting a JVM and moving texts through it costs more than the whole work on hundred thousands of documents:
some 200 bytes a document stay in memory, texts beyond a bound lie in the staging folder. The rules are those of ``curate``.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from jobs.dedup import columns, output
from jobs.dedup.errors import FilesRefusedError
from jobs.dedup.jsonl import AS_JSON
from jobs.dedup.source import Rejected, Rows, batches
from schemas.conf import Curate
from udfs.dedup import corpus
from udfs.dedup.kernel import COMPILE_AFTER_BYTES, KernelName
from udfs.dedup.leader import Rule
from udfs.dedup.minhash import MinHashScheme
from udfs.dedup.store import SetStore

#: Bytes of shingle sets held in memory.
SETS_BYTES = 1 << 30

_In = TypeVar("_In")
_Out = TypeVar("_Out")


@dataclass(frozen=True)
class Options:
    """What to read and by which rules."""

    text_field: str
    id_field: str
    id_asked_for: bool
    curate: Curate
    workers: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))

    @property
    def scheme(self) -> MinHashScheme:
        """Shingling and banding."""
        return MinHashScheme(self.curate.shingle, self.curate.bands, self.curate.rows)


@dataclass
class Clock:
    """Seconds by stage."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what the block takes."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.monotonic() - begun, 3)


@dataclass(frozen=True)
class Verdicts:
    """Rows that go, in order of row: what they repeat and by which figures."""

    row: NDArray[np.int64]
    dup_of: NDArray[np.int64]
    near: NDArray[np.bool_]
    jaccard: NDArray[np.float64]
    containment: NDArray[np.float64]


def run(source: Path, out: Path, options: Options) -> dict[str, Any]:
    """De-duplicate ``source`` into the new folder ``out``.

    Returns:
        The summary: documents, kept, exact, near, rejected, seconds by stage.

    Raises:
        OutputExistsError: ``out`` is there already.
        InputRefusedError: ``source`` does not exist or cannot be read.
        FilesRefusedError: fields or ids are of no use.
    """
    clock, rejected = Clock(), list[Rejected]()
    with output.staging(out) as folder, ThreadPoolExecutor(options.workers) as pool:
        rows = Rows(folder / "rows")
        with clock.stage("read_and_sign"):
            ids, profiles, kernel = _read(source, rows, rejected, options, pool)
        place = columns.places(ids, profiles.tokens, options.curate.keep)
        with clock.stage("exact"):
            twin = corpus.exact_twins(profiles, place)
        with clock.stage("candidates"):
            alone = np.flatnonzero((twin == np.arange(len(twin))) & (profiles.tokens > 0))
            members, component = corpus.units(profiles, alone, place)
        with clock.stage("verify"):
            near = _near(rows, members, component, profiles, options, kernel, pool)
        found = fold(twin, near)
        with clock.stage("write"):
            _write(rows, ids, found, rejected, folder, pool)
        summary = _summary(len(ids), found, rejected, rows, clock)
        output.write_summary(summary, folder)
    return summary


def _read(
    source: Path, rows: Rows, rejected: list[Rejected], options: Options, pool: ThreadPoolExecutor
) -> tuple[pa.Array, corpus.Profiles, KernelName]:
    ids: list[pa.Array] = []
    kernel = _kernel(source, options.curate.kernel)

    def arriving() -> Iterator[pa.Array]:
        for batch in batches(source, rejected):
            rows.add(batch)
            ids.append(columns.ids_of(batch, options.id_field))
            yield columns.text_of(batch, options.text_field)

    parts = list(_in_order(pool, options.workers, lambda text: corpus.profile(text, options.scheme, kernel), arriving()))
    there = {name for schema in rows.schemas for name in schema.names}
    if not parts:
        raise FilesRefusedError.from_nothing(str(source))
    if options.text_field not in there:
        raise FilesRefusedError.from_missing_field("text", options.text_field, "--text-field", there)
    profiles = corpus.together(parts, options.scheme)
    return columns.all_ids(ids, options.id_field, asked_for=options.id_asked_for, there=there), profiles, kernel


def _kernel(source: Path, wanted: KernelName) -> KernelName:
    """``numba`` from the start for an input of some size: ``auto`` would begin with numpy."""
    if wanted != "auto":
        return wanted
    files = [source] if source.is_file() else [path for path in source.rglob("*") if path.is_file()]
    return "numba" if sum(path.stat().st_size for path in files) >= COMPILE_AFTER_BYTES // 4 and find_spec("numba") else wanted


def _in_order(pool: ThreadPoolExecutor, workers: int, work: Callable[[_In], _Out], items: Iterable[_In]) -> Iterator[_Out]:
    """``work`` of every item in their order, a few at once, so that memory does not grow with the input."""
    waiting: deque[Future[_Out]] = deque()
    for item in items:
        waiting.append(pool.submit(work, item))
        if len(waiting) > workers + 1:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


Near = list[tuple[int, int, float, float]]


def _near(
    rows: Rows, members: NDArray[np.int64], component: NDArray[np.int64], profiles: corpus.Profiles, options: Options, kernel: KernelName,
    pool: ThreadPoolExecutor,
) -> Near:  # fmt: skip
    """Row, kept row, Jaccard and containment of every near duplicate."""
    store, curate = SetStore(SETS_BYTES), options.curate
    slot = np.full(len(profiles), -1, np.int64)
    wanted = np.sort(members)
    slot[wanted] = np.arange(len(wanted))

    def texts() -> Iterator[pa.Array]:
        first = 0
        for at in range(len(rows)):
            batch = rows.get(at)
            picked = np.flatnonzero(slot[first : first + batch.num_rows] >= 0)
            first += batch.num_rows
            if len(picked):
                yield columns.text_of(batch, options.text_field).take(pa.array(picked))

    try:
        for sets in _in_order(pool, options.workers, lambda text: corpus.shingle_sets(text, curate.shingle, kernel), texts()):
            for values in sets:
                store.add(values)
        rule = Rule(jaccard=curate.jaccard, tries=1 + curate.verify_rounds, shingle=curate.shingle, mode=curate.mode)
        found = corpus.near_duplicates(members, component, profiles, lambda row: store.get(int(slot[row])), rule, kernel)
        return [(row, kept, why.similarity.jaccard, why.similarity.containment) for row, kept, why in found]
    finally:
        store.close()


def fold(twin: NDArray[np.int64], near: Near) -> Verdicts:
    """Exact and near duplicates as one list; a copy of a near duplicate is a near duplicate of the same kept row, by the same figures."""
    rows = len(twin)
    to, jaccard, containment = np.full(rows, -1, np.int64), np.ones(rows), np.ones(rows)
    for row, kept, alike, held in near:
        to[row], jaccard[row], containment[row] = kept, alike, held
    is_near = to[twin] >= 0
    goes = np.flatnonzero(is_near | (twin != np.arange(rows)))
    stands = twin[goes]
    return Verdicts(goes, np.where(is_near[goes], to[stands], stands), is_near[goes], jaccard[stands], containment[stands])


def _write(rows: Rows, ids: pa.Array, found: Verdicts, rejected: list[Rejected], folder: Path, pool: ThreadPoolExecutor) -> None:
    keep = np.ones(len(ids), np.bool_)
    keep[found.row] = False
    output.write_kept(rows, keep, columns.one_schema(rows), folder / "kept", pool)
    table = pa.table({
        "id": ids.take(pa.array(found.row)),
        "dup_of": ids.take(pa.array(found.dup_of)),
        "kind": pa.array(np.where(found.near, "near", "exact"), pa.string()),
        "jaccard": found.jaccard,
        "containment": found.containment,
    })  # fmt: skip
    pq.write_table(table.sort_by("id"), folder / "duplicates.parquet")
    output.write_rejected(rejected, folder)
    shutil.rmtree(rows.folder, ignore_errors=True)


def _summary(documents: int, found: Verdicts, rejected: list[Rejected], rows: Rows, clock: Clock) -> dict[str, Any]:
    near = int(found.near.sum())
    as_json = [f.name for f in columns.one_schema(rows) if f.metadata == AS_JSON] if len(rows.schemas) > 1 else []
    return {
        "documents": documents, "kept": documents - len(found.row), "exact": len(found.row) - near, "near": near,
        "rejected": len(rejected), "fields_as_json": as_json, "seconds": clock.seconds,
    }  # fmt: skip
