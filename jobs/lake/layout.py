"""Where tables lie and what their logs say; everything here works without a JVM."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from jobs.lake.errors import LakeVersionError
from schemas.table import LAKE_SCHEMA_VERSION, Table

VERSION_FILE = "verilake.json"


@dataclass(frozen=True)
class SliceCommit:
    """The newest commit that wrote a slice, as its own userMetadata tells."""

    table: str
    slice: str
    version: int
    fingerprint: str
    batch: int
    job: str
    rows: int
    timestamp_ms: int


@dataclass(frozen=True)
class Lake:
    """The tables below one root directory."""

    root: Path

    def path(self, table: Table) -> Path:
        """Directory of the table."""
        return self.root / table.path

    def exists(self) -> bool:
        """Whether the migration has created all tables."""
        return (self.root / VERSION_FILE).is_file()

    def schema_version(self) -> int | None:
        """Its schema version; None where the lake does not exist yet."""
        return int(json.loads((self.root / VERSION_FILE).read_text("utf-8"))["schema_version"]) if self.exists() else None

    def check_version(self) -> None:
        """Refuse a lake of a newer schema version; an older one can be read.

        Raises:
            LakeVersionError: with both versions named.
        """
        found = self.schema_version()
        if found is not None and found > LAKE_SCHEMA_VERSION:
            raise LakeVersionError.from_versions(str(self.root), found, LAKE_SCHEMA_VERSION)

    def check_current(self) -> None:
        """Refuse a lake of any other schema version: who writes needs every table.

        Raises:
            LakeVersionError: with both versions named, and what to do.
        """
        self.check_version()
        found = self.schema_version()
        if found is not None and found < LAKE_SCHEMA_VERSION:
            raise LakeVersionError.from_older(str(self.root), found, LAKE_SCHEMA_VERSION)

    def delta(self, table: Table) -> DeltaTable:
        """The table through deltalake."""
        return DeltaTable(str(self.path(table)))

    def commits(self, table: Table) -> list[SliceCommit]:
        """All commits of verilake's writer, newest first; empty where the table does not exist yet."""
        if not (self.path(table) / "_delta_log").is_dir():
            return []
        return [commit for entry in self.delta(table).history() if (commit := _parse(table.name, entry)) is not None]

    def slices(self, table: Table) -> dict[str, SliceCommit]:
        """Slice -> its newest commit, in order of the slices."""
        newest: dict[str, SliceCommit] = {}
        for commit in self.commits(table):
            newest.setdefault(commit.slice, commit)
        return dict(sorted(newest.items()))


def _parse(table: str, entry: dict[str, Any]) -> SliceCommit | None:
    try:
        meta = json.loads(entry.get("userMetadata") or "")
    except ValueError:
        return None
    if not isinstance(meta, dict) or "fingerprint" not in meta:
        return None
    rows = int(entry.get("operationMetrics", {}).get("numOutputRows", 0))
    return SliceCommit(
        table=table, slice=str(meta["slice"]), version=int(entry["version"]), fingerprint=str(meta["fingerprint"]),
        batch=int(meta.get("batch", 1)), job=str(meta.get("job", "")), rows=rows, timestamp_ms=int(entry.get("timestamp", 0)),
    )  # fmt: skip
