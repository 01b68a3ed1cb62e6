"""A campaign of many rounds, made from a finished one: what its last round wrote is written again under later numbers.

Commits are laid as files of the log, with the data files linked: the shape of a long campaign (slices, commits, checkpoints, events) at
the price of copying. Identifiers of tasks and trajectories repeat between the rounds.
"""

from __future__ import annotations

import json
import os
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

from jobs.lake.layout import Lake
from jobs.ledger import append_events, read_events
from schemas.catalog import ALL_TABLES
from schemas.ids import content_id
from schemas.ops.job_runs import JOB_RUNS
from schemas.ops.rounds import ROUNDS
from schemas.table import Table

#: Spark writes a checkpoint after so many commits.
_CHECKPOINT = 10


def lengthen(root: Path, last: int, rounds: int) -> None:
    """Turn a workspace with ``last`` closed rounds into one with ``rounds``."""
    lake = Lake(root / "lake")
    slices = {table.name: lake.slices(table) for table in ALL_TABLES}
    marks = {commit.fingerprint for held in slices.values() for commit in held.values() if _round_of(commit.slice) == last}
    for table in ALL_TABLES:
        names = [name for name in slices[table.name] if _round_of(name) == last]
        for number in range(last + 1, rounds + 1):
            for name in names:
                _write_again(lake, table, slices[table.name][name].version, name, last, number)
    for number in range(last + 1, rounds + 1):
        _note_again(lake, marks, last, number)


def _round_of(name: str) -> int | None:
    """The round of a slice (``3``, ``plan=3``, ``feedback=3``); None for those of an ingest."""
    value = name.removeprefix("plan=").removeprefix("feedback=")
    return int(value) if value.isdigit() else None


def _renamed(value: Any, last: int, number: int) -> Any:
    """A slice, scope or fingerprint of round ``last`` as that of round ``number``."""
    return {
        f"{last}": f"{number}",
        f"plan={last}": f"plan={number}",
        f"feedback={last}": f"feedback={number}",
        f"round={last}": f"round={number}",
    }.get(value, value)


def _mark(fingerprint: str, number: int) -> str:
    return content_id(fingerprint, number)


def _write_again(lake: Lake, table: Table, version: int, name: str, last: int, number: int) -> None:
    log = lake.path(table) / "_delta_log"
    newest = max(int(path.stem) for path in log.glob("[0-9]*.json") if path.stem.isdigit())
    target = _renamed(name, last, number)
    out = []
    for line in (log / f"{version:020d}.json").read_text("utf-8").splitlines():
        action = json.loads(line)
        if "commitInfo" in action:
            info = action["commitInfo"]
            for key in ("timestamp", "inCommitTimestamp"):
                info[key] += 60_000 * (number - last) + newest
            meta = json.loads(info["userMetadata"])
            meta |= {"slice": target, "fingerprint": _mark(meta["fingerprint"], number)}
            info["userMetadata"] = json.dumps(meta, sort_keys=True, separators=(",", ":"))
            out.append(action)
        elif "txn" in action:
            action["txn"]["appId"] += f"/{number}"
            out.append(action)
        elif "add" in action and table.partition == "round":
            out.append(_linked(lake.path(table), action, last, number))
        # Tasks and prompts of a plan would be there twice: their commits are repeated without rows.
    (log / f"{newest + 1:020d}.json").write_text("\n".join(json.dumps(action) for action in out) + "\n", "utf-8")
    if (newest + 1) % _CHECKPOINT == 0:
        lake.delta(table).create_checkpoint()


def _linked(folder: Path, action: dict[str, Any], last: int, number: int) -> dict[str, Any]:
    source = folder / action["add"]["path"]
    target = folder / f"round={number}" / source.name
    target.parent.mkdir(exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
    assert action["add"]["partitionValues"] == {"round": str(last)}
    action["add"] |= {"path": f"round={number}/{source.name}", "partitionValues": {"round": str(number)}}
    return action


def _note_again(lake: Lake, marks: set[str], last: int, number: int) -> None:
    later = timedelta(minutes=number - last)
    events = [event for event in read_events(lake, ROUNDS) if event["round"] == last]
    append_events(lake, ROUNDS, [
        event | {"event_id": _mark(event["event_id"], number), "round": number, "fingerprint": _mark(event["fingerprint"], number), "at": event["at"] + later}
        for event in events
    ])  # fmt: skip
    runs = [run for run in read_events(lake, JOB_RUNS) if run["scope"] == f"round={last}"]
    append_events(lake, JOB_RUNS, [
        run | {
            "event_id": _mark(run["event_id"], number), "scope": f"round={number}", "fingerprint": _mark(run["fingerprint"], number),
            "reads": json.dumps({
                name: {_renamed(value, last, number): _mark(mark, number) if mark in marks else mark for value, mark in held.items()}
                for name, held in json.loads(run["reads"]).items()
            }),
            "at": run["at"] + later,
        }
        for run in runs
    ])  # fmt: skip
