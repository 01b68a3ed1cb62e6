"""Check the question-answer items of a plain file: JSONL or Parquet in, every row out with its state and figures; no lake and no JVM.

The file is read twice: once for what only the whole of it can say (:mod:`jobs.check_qa.survey`), once to probe its rows in several
processes (:mod:`udfs.verifiers.pool`). A row that cannot be read costs that row alone.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jobs.check_qa.survey import NotedSource, Survey
from jobs.grade.sink import Columns, open_sink
from jobs.grade.source import Needed, open_source
from jobs.grade_file import Tell
from udfs.probes.check import RULES_VERSION
from udfs.probes.columns import RESULT_FIELDS, checked_schema
from udfs.probes.tally import QaTally
from udfs.verifiers.pool import Pool

#: Fields without which a file is no file of items.
NEEDED = Needed((("question",), ("answer",), ("context",)), "An item has question, answer and context, each a text.")


@dataclass(frozen=True)
class Options:
    """How to check.

    Attributes:
        workers: processes that probe at once.
    """

    workers: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))


def run(source: Path, out: Path | None, options: Options, tell: Tell = lambda _rows, _share: None) -> dict[str, Any]:
    """Check ``source`` into the new file ``out``, or to stdout.

    Returns:
        The summary: rows, states, reasons, states by language, shares of grounded and self-contained items, the first rows that could not be
        read, rules version, seconds.

    Raises:
        InputRefusedError, FileRefusedError: the file cannot be read, or breaks off.
        OutputRefusedError: ``out`` is there already, or of no known format.
        GradingFailedError: processes do not start.
    """
    begun, tally = time.monotonic(), QaTally()
    with open_source(source, NEEDED) as rows:
        survey = Survey.of(rows)
    columns = Columns(RESULT_FIELDS, checked_schema)
    with (
        open_source(source, NEEDED) as rows,
        open_sink(out, rows, columns) as sink,
        Pool(options.workers, {"task": "check_qa", "out": sink.form}) as pool,
    ):
        for payload, counts in pool.grade(NotedSource(rows, survey)):
            sink.write(payload)
            tally.add(counts)
            tell(tally.rows, rows.done)
    seconds = time.monotonic() - begun
    return {
        "rows": tally.rows,
        **tally.plain(),
        "shares": shares(tally),
        "rules_version": RULES_VERSION,
        "workers": options.workers,
        "workers_replaced": pool.replaced,
        "seconds": round(seconds, 3),
        "rows_per_second": round(tally.rows / max(seconds, 1e-9), 1),
    }


def shares(tally: QaTally) -> dict[str, float | None]:
    """Shares of the rows of which it is known; null where of none."""
    figures = tally.figures

    def share(part: int, whole: int) -> float | None:
        return round(part / whole, 6) if whole else None

    return {
        "accepted": share(tally.states["accepted"], tally.rows),
        "grounded": share(figures["grounded"], figures["grounded"] + figures["not_grounded"]),
        "self_contained": share(figures["self_contained"], figures["self_contained"] + figures["not_self_contained"]),
        "tells_a_sibling": share(figures["tells_sibling"], figures["has_siblings"]),
    }
