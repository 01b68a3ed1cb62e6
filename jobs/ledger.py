"""ops.*: append-only events, written through deltalake without a JVM; state is the newest event."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from jobs.lake.layout import Lake
from jobs.lake.locks import exclusive
from schemas.errors import VerilakeError
from schemas.table import Table

_LOG = logging.getLogger("verilake.ledger")
_ATTEMPTS = 12
#: Files of a ledger table beyond which an append compacts it.
_MOST_FILES = 50


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
    return append_events(lake, table, [event]) == 1


def append_events(lake: Lake, table: Table, events: Sequence[Mapping[str, Any]]) -> int:
    """Append those of ``events`` whose ``event_id`` is not there yet, in one commit; the number of them.

    Raises:
        LedgerError: the table could not be written.
    """
    last = ""
    with exclusive(lake.root / ".locks", table.name):
        held = {row["event_id"] for row in read_events(lake, table, ["event_id"])}
        new = {event["event_id"]: dict(event) for event in events if event["event_id"] not in held}
        if not new:
            return 0
        # Without comments: those of the table, which may be of an earlier version, must not be merged with ours.
        rows = pa.Table.from_pylist(list(new.values()), schema=pa.schema([field.remove_metadata() for field in table.schema]))
        for attempt in range(_ATTEMPTS):
            try:
                write_deltalake(str(lake.path(table)), rows, mode="append")
            except (CommitFailedError, DeltaError, OSError) as error:
                last = str(error)[:300]
                # Only the waiting time is random; what is written is not.
                time.sleep(random.uniform(0.05, 0.1) * 2 ** min(attempt, 5))  # noqa: S311
            else:
                _compact(lake, table)
                return len(new)
    raise LedgerError.from_attempts(table.name, last)


def _compact(lake: Lake, table: Table) -> None:
    """Each append makes a file: a hundred rounds would make a thousand, and every read would open them all."""
    delta = lake.delta(table)
    if len(delta.file_uris()) <= _MOST_FILES:
        return
    try:
        delta.optimize.compact()
    except (DeltaError, OSError) as error:
        # The events are there; the next append, or `verilake maintain`, tries again.
        _LOG.warning("%s could not be compacted: %s", table.name, str(error)[:300])


def read_events(lake: Lake, table: Table, columns: list[str] | None = None) -> list[dict[str, Any]]:
    """All events in no particular order; empty where the lake does not exist yet."""
    if not (lake.path(table) / "_delta_log").is_dir():
        return []
    rows: list[dict[str, Any]] = lake.dataset(table).to_table(columns=columns).to_pylist()
    return rows
