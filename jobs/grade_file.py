"""Grade the rows of a plain file: JSONL or Parquet in, a verdict for every row out, in their order; no lake and no JVM.

One process reads and writes, others grade. Memory holds a few chunks of each, however long the file; what a row does to the process that
grades it costs that row alone (:mod:`udfs.verifiers.pool`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from jobs.grade.sink import Columns, open_sink
from jobs.grade.source import open_source
from udfs.verifiers.chunks import Tally
from udfs.verifiers.grade_batch import RESULT_FIELDS, batch_schema, carried_names
from udfs.verifiers.pool import Pool

#: Told rows graded and the share of the file that has been read.
Tell = Callable[[int, float], None]


@dataclass(frozen=True)
class Options:
    """How to grade.

    Attributes:
        workers: processes that grade at once.
        allow_weak_sandbox: run code where only rlimits bound it (tier D), rather than refuse.
        keep_inputs: also write the fields that grading knows (gold, answer, tests, ...).
    """

    workers: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    allow_weak_sandbox: bool = False
    keep_inputs: bool = False


def run(source: Path, out: Path | None, options: Options, tell: Tell = lambda _rows, _share: None) -> dict[str, Any]:
    """Grade ``source`` into the new file ``out``, or to stdout.

    Returns:
        The summary: rows, verdicts (verifier -> verdict -> rows), reasons of ``error`` and its first rows, sandbox tiers, seconds.

    Raises:
        InputRefusedError, FileRefusedError: the file cannot be read, or breaks off.
        OutputRefusedError: ``out`` is there already, or of no known format.
        GradingFailedError: no sandbox for code, or processes do not start.
    """
    begun, tally = time.monotonic(), Tally()
    with open_source(source) as rows, open_sink(out, rows, _columns(keep_inputs=options.keep_inputs)) as sink:
        settings = {"task": "grade", "out": sink.form, "keep_inputs": options.keep_inputs, "allow_weak_sandbox": options.allow_weak_sandbox}
        with Pool(options.workers, settings) as pool:
            for payload, counts in pool.grade(rows):
                sink.write(payload)
                tally.add(Tally.of(counts))
                tell(tally.rows, rows.done)
            replaced = pool.replaced
    seconds = time.monotonic() - begun
    return {
        "rows": tally.rows,
        **tally.plain(),
        "workers": options.workers,
        "workers_replaced": replaced,
        "seconds": round(seconds, 3),
        "rows_per_second": round(tally.rows / max(seconds, 1e-9), 1),
    }


def _columns(*, keep_inputs: bool) -> Columns:
    def of(schema: pa.Schema) -> pa.Schema:
        names = carried_names(schema.names, keep_inputs=keep_inputs)
        return batch_schema(pa.schema([schema.field(name) for name in names], schema.metadata))

    return Columns(RESULT_FIELDS, of)
