"""Which hand-off runs a workspace holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from jobs.handoff.errors import UnknownRunError
from udfs.store.run import PLAN, HandoffRun


def planned_runs(folder: Path) -> list[HandoffRun]:
    """Planned runs of one program, in order of their names."""
    return [HandoffRun(path) for path in sorted(folder.glob("run=*")) if (path / PLAN).is_file()]


def all_runs(handoff_root: Path) -> Iterator[HandoffRun]:
    """Planned runs of every program."""
    for folder in sorted(path for path in handoff_root.glob("*") if path.is_dir()):
        yield from planned_runs(folder)


def open_shards(run: HandoffRun) -> set[str]:
    """Shards with neither a commit nor a dead letter."""
    return set(run.plan.shards) - run.committed() - run.dead()


def chosen_runs(handoff_root: Path, prefix: str | None) -> list[HandoffRun]:
    """Runs that a command means: the one whose id begins with ``prefix``, or all that are still open.

    Raises:
        UnknownRunError: no run, or more than one, begins so.
    """
    if prefix is None:
        return [run for run in all_runs(handoff_root) if open_shards(run)]
    found = [run for run in all_runs(handoff_root) if run.plan.run_id.startswith(prefix)]
    if len(found) != 1:
        raise UnknownRunError.from_prefix(prefix, len(found))
    return found
