"""The workspace's own store after the workspace was moved or copied.

MLflow writes the artifact folder of an experiment and of each run into its database as an absolute path. A copy would therefore write
the artifacts of new rounds into the workspace it was copied from, and a moved one would show none. The paths are brought to where the
workspace is now; this is done to the sqlite of a workspace alone, never to a store that somebody named.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from jobs.tracking.destination import ARTIFACTS, DATABASE, Destination
from jobs.workspace import Workspace

_COLUMNS = (("experiments", "artifact_location"), ("runs", "artifact_uri"))


def relocate(workspace: Workspace, where: Destination) -> int:
    """Bring artifact paths to this workspace; returns how many experiments had others.

    Raises:
        sqlite3.Error: the file is no database of MLflow.
    """
    path = workspace.root / DATABASE
    if where.key != "" or where.artifacts is None or not path.is_file():
        return 0
    with closing(sqlite3.connect(path, timeout=10)) as held, held:
        if not held.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'experiments'").fetchone():
            return 0
        found = {
            str(row[0]) for row in held.execute("SELECT DISTINCT artifact_location FROM experiments WHERE artifact_location IS NOT NULL")
        }
        stale = sorted(old for old in found if old != where.artifacts and _ours(old))
        for old in stale:
            for table, column in _COLUMNS:
                # By length, not by pattern: a path may hold every character that LIKE or GLOB reads.
                held.execute(
                    f"UPDATE {table} SET {column} = ? || substr({column}, ?) WHERE {column} = ? OR substr({column}, 1, ?) = ?",
                    (where.artifacts, len(old) + 1, old, len(old) + 1, f"{old}/"),
                )
    return len(stale)


def _ours(location: str) -> bool:
    """Whether a workspace laid this folder: its name is ours, on a file system."""
    parts = urlsplit(location)
    return parts.scheme == "file" and Path(parts.path).name == ARTIFACTS
