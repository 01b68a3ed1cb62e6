"""ops.*: append-only events, written through deltalake without a JVM; state is the newest event."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from jobs.lake.layout import Lake
from jobs.lake.locks import exclusive
from schemas.errors import VerilakeError
from schemas.table import Table

_ATTEMPTS = 12


class LedgerError(VerilakeError):
    """An event could not be appended."""

    @classmethod
    def from_attempts(cls, table: str, last: str) -> LedgerError:
        """Retries are used up."""
        return cls(
            f"{table}: an event could not be written after {_ATTEMPTS} attempts: {last}. The tables themselves are complete; run the job again to record it."
        )


def append_event(lake: Lake, table: Table, event: Mapping[str, Any]) -> bool:
    """Append one event unless an event of its ``event_id`` is there; True where it was written.

    Raises:
        LedgerError: the table could not be written.
    """
    row = pa.Table.from_pylist([dict(event)], schema=table.schema)
    last = ""
    with exclusive(lake.root / ".locks", table.name):
        if event["event_id"] in {held["event_id"] for held in read_events(lake, table, ["event_id"])}:
            return False
        for attempt in range(_ATTEMPTS):
            try:
                write_deltalake(str(lake.path(table)), row, mode="append")
            except (CommitFailedError, DeltaError, OSError) as error:
                last = str(error)[:300]
                # Only the waiting time is random; what is written is not.
                time.sleep(random.uniform(0.05, 0.1) * 2 ** min(attempt, 5))  # noqa: S311
            else:
                return True
    raise LedgerError.from_attempts(table.name, last)


def read_events(lake: Lake, table: Table, columns: list[str] | None = None) -> list[dict[str, Any]]:
    """All events in no particular order; empty where the lake does not exist yet."""
    if not (lake.path(table) / "_delta_log").is_dir():
        return []
    rows: list[dict[str, Any]] = lake.delta(table).to_pyarrow_table(columns=columns).to_pylist()
    return rows
