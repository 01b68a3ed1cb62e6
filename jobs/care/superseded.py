"""Files that no kept version of a table needs: not the newest, none that was current within the time kept, none that a pin names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from jobs.care.remains import data_files, live_files, remove_file
from jobs.lake.layout import Lake
from jobs.lake.locks import exclusive
from jobs.workspace import Workspace
from schemas.errors import VerilakeError
from schemas.publication import Pin
from schemas.table import Table
from udfs.killpoints import reach


class UnreadablePinError(VerilakeError):
    """A pin that cannot be read: which versions it needs is not known."""

    @classmethod
    def from_file(cls, path: Path, detail: str) -> UnreadablePinError:
        """Which, and that nothing was removed."""
        return cls(f"{path}: not a pin: {detail}. No file was removed; restore it (git checkout -- pins) and run again.")


@dataclass(frozen=True)
class Freed:
    """What was, or would be, removed of one thing.

    Attributes:
        what: a table, or a folder of the workspace.
        files: their number.
        bytes: their size.
    """

    what: str
    files: int
    bytes: int


def pinned_versions(workspace: Workspace) -> dict[str, frozenset[int]]:
    """Table -> versions that a pin of this workspace names.

    Raises:
        UnreadablePinError: a pin cannot be read.
    """
    found: dict[str, set[int]] = {}
    for path in sorted((workspace.root / "pins").glob("*.json")):
        try:
            pin = Pin.model_validate_json(path.read_bytes())
        except ValidationError as error:
            raise UnreadablePinError.from_file(path, str(error.errors()[0]["msg"])) from None
        for name, source in pin.tables.items():
            found.setdefault(name, set()).add(source.version)
    return {name: frozenset(versions) for name, versions in found.items()}


def is_left_alone(table: Table, pinned: dict[str, frozenset[int]]) -> bool:
    """Gold tables that a pin names stay as they are, file by file."""
    return table.name.startswith("gold.") and table.name in pinned


def remove_superseded(lake: Lake, table: Table, pinned: Iterable[int], cutoff: datetime, *, dry_run: bool) -> Freed:
    """Remove the data files of one table that no kept version needs and that are older than ``cutoff``.

    The table's lock is held: whatever no version names is of a writer that died.
    """
    files = size = 0
    with exclusive(lake.root / ".locks", table.name):
        needed = live_files(lake, table)
        dead = [path for path in data_files(lake, table) if path not in needed]
        if not dead:
            return Freed(table.name, 0, 0)
        for version in kept_versions(lake, table, pinned, cutoff):
            needed |= live_files(lake, table, version)
        for path in dead:
            stat = path.stat()
            if path in needed or stat.st_mtime > cutoff.timestamp():
                continue
            files, size = files + 1, size + stat.st_size
            if not dry_run:
                remove_file(path)
                reach(f"maintain/removed/{table.name}")
    return Freed(table.name, files, size)


def kept_versions(lake: Lake, table: Table, pinned: Iterable[int], cutoff: datetime) -> list[int]:
    """Versions committed after ``cutoff``, the one that was the newest then, and the pinned ones."""
    newest_first = [(int(entry["version"]), int(entry["timestamp"])) for entry in lake.delta(table).history()]
    kept = set(pinned) & {version for version, _ in newest_first}
    for version, milliseconds in newest_first:
        kept.add(version)
        if milliseconds <= cutoff.timestamp() * 1000:
            break
    return sorted(kept)
