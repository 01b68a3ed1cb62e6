"""maintain: small files of what is closed become few, and what no kept version, pin or open hand-off run needs is removed.

Safe beside a running job and beside another maintain: every table is worked under its lock, only slices that nobody writes any more are
compacted, and a file goes only when it has been superseded for ``maintain.keep_hours``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from jobs.care.closed import Closed, closed
from jobs.care.compact import Compaction, compact_ledger, compact_slices, small_slices
from jobs.care.handoffs import clear_runs
from jobs.care.superseded import Freed, is_left_alone, pinned_versions, remove_superseded
from jobs.context import JobContext
from jobs.lake.errors import MissingInputError
from jobs.lake.locks import exclusive
from schemas.catalog import ALL_TABLES
from schemas.table import Table


@dataclass(frozen=True)
class Maintenance:
    """What was done, or would be.

    Attributes:
        compacted: tables of which slices were compacted.
        freed: files removed, by table and by hand-off run.
        left_alone: gold tables that a pin names.
    """

    compacted: tuple[Compaction, ...]
    freed: tuple[Freed, ...]
    left_alone: tuple[str, ...]

    @property
    def bytes(self) -> int:
        """Freed in all."""
        return sum(item.bytes for item in self.freed)

    def to_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "compacted": [asdict(item) for item in self.compacted], "freed": [asdict(item) for item in self.freed], "bytes": self.bytes,
            "left_alone": list(self.left_alone),
        }  # fmt: skip


def run(ctx: JobContext, *, dry_run: bool = False) -> Maintenance:
    """Maintain a lake.

    Args:
        ctx: context; a session is started only where slices are to be compacted.
        dry_run: look only.

    Raises:
        MissingInputError: there is no lake yet.
        UnreadablePinError: a pin cannot be read; nothing was removed.
        VerifyError: a compaction changed rows.
    """
    lake, conf = ctx.lake, ctx.config.maintain
    if not lake.exists():
        raise MissingInputError.from_slice("the lake", "any table", "verilake ingest PATH...")
    cutoff = ctx.now - timedelta(hours=conf.keep_hours)
    with exclusive(ctx.workspace.locks_root, "maintain"):
        pinned = pinned_versions(ctx.workspace)
        tables = [table for table in ALL_TABLES if not is_left_alone(table, pinned)]
        done = closed(lake)
        compacted = [_compact(ctx, table, done, dry_run=dry_run) for table in tables]
        freed = [remove_superseded(lake, table, pinned.get(table.name, ()), cutoff, dry_run=dry_run) for table in tables]
        freed += clear_runs(ctx.workspace, lake, done, cutoff, dry_run=dry_run)
    return Maintenance(
        tuple(item for item in compacted if item.slices), tuple(item for item in freed if item.files),
        tuple(table.name for table in ALL_TABLES if is_left_alone(table, pinned)),
    )  # fmt: skip


def _compact(ctx: JobContext, table: Table, done: Closed, *, dry_run: bool) -> Compaction:
    lake, small_mb = ctx.lake, ctx.config.maintain.small_file_mb
    found = small_slices(lake, table, done, small_mb)
    if dry_run or not found.slices:
        return found
    if table.writer == "deltalake":
        return compact_ledger(lake, table, small_mb)
    return compact_slices(ctx.spark, lake, table, done, small_mb)


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("maintain")
