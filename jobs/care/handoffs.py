"""Hand-off runs that nobody needs any more, and what died within those that are needed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from jobs.care.closed import Closed
from jobs.care.superseded import Freed
from jobs.handoff.files import ATTEMPTS
from jobs.handoff.gc import clear, garbage
from jobs.lake.layout import Lake
from jobs.workspace import Workspace
from schemas.bronze.judgements import JUDGEMENTS
from schemas.bronze.replies import REPLIES
from schemas.bronze.rescored import RESCORED
from schemas.bronze.rollouts import ROLLOUTS
from schemas.handoff import SAMPLED
from udfs.killpoints import reach
from udfs.store.run import PLAN, HandoffRun, RunError


def clear_runs(workspace: Workspace, lake: Lake, done: Closed, cutoff: datetime, *, dry_run: bool) -> list[Freed]:
    """Remove runs whose rows the lake holds and whose round or ingest is done with, and leftovers of others; only what is older than ``cutoff``.

    A run goes as a whole, its plan first: a job that should ever ask for it again lays it anew, with the replies that were paid for.
    """
    # Of what samples the rounds, of the rest the runs.
    rounds = set(lake.slices(ROLLOUTS))
    delivered = {
        "convert": set(lake.slices(REPLIES)), "rollout": rounds, "agent": rounds, "judge": set(lake.slices(JUDGEMENTS)), "logprobs": set(lake.slices(RESCORED)),
    }  # fmt: skip
    freed = []
    for folder in sorted(workspace.handoff_root.glob("*/run=*")):
        name = str(folder.relative_to(workspace.root))
        if _youngest(folder) <= cutoff.timestamp() and _is_done(folder, done, delivered):
            freed.append(_measured(name, [folder]))
            if not dry_run:
                (folder / PLAN).unlink(missing_ok=True)
                reach("maintain/run_unplanned")
                shutil.rmtree(folder)
            continue
        freed += _cleared(folder, name, dry_run=dry_run)
        leftovers = [place for place in _leftovers(folder) if _youngest(place) <= cutoff.timestamp()]
        if leftovers:
            freed.append(_measured(name, leftovers))
            for place in leftovers if not dry_run else []:
                shutil.rmtree(place)
    return freed


def _is_done(folder: Path, done: Closed, delivered: dict[str, set[str]]) -> bool:
    if not (folder / PLAN).is_file():
        return True  # its driver died before there was a run
    try:
        plan = HandoffRun(folder).plan
    except RunError:
        return False  # a person must look
    if plan.program == "convert":
        return plan.run_id in delivered["convert"] and done.corpus
    return str(plan.round) in done.rounds and (str(plan.round) if plan.program in SAMPLED else plan.run_id) in delivered[plan.program]


def _cleared(folder: Path, name: str, *, dry_run: bool) -> list[Freed]:
    """What :mod:`jobs.handoff.gc` finds in a run that is needed: parts that no commit names."""
    run = HandoffRun(folder)
    try:
        found = garbage(run) if (folder / PLAN).is_file() else []
    except (RunError, ValueError):
        return []  # a person must look
    if not dry_run:
        clear(run, found)
    return [Freed(name, len(found), sum(entry.size for entry in found))] if found else []


def _leftovers(folder: Path) -> Iterator[Path]:
    """Files of tasks and writers that died."""
    if (folder / PLAN).is_file() and (folder / ATTEMPTS).is_dir():
        yield folder / ATTEMPTS
    if (folder / ".tmp").is_dir() and any((folder / ".tmp").iterdir()):
        yield folder / ".tmp"


def _youngest(place: Path) -> float:
    return max((path.stat().st_mtime for path in (place, *place.rglob("*"))), default=0.0)


def _measured(name: str, places: list[Path]) -> Freed:
    sizes = [path.stat().st_size for place in places for path in place.rglob("*") if path.is_file()]
    return Freed(name, len(sizes), sum(sizes))
