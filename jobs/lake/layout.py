"""Where tables lie and what their logs say; everything here works without a JVM."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalake import DeltaTable

from jobs.lake.errors import LakeVersionError
from schemas.table import LAKE_SCHEMA_VERSION, Table

if TYPE_CHECKING:
    import pyarrow.dataset as ds

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

    def dataset(self, table: Table, delta: DeltaTable | None = None) -> ds.Dataset:
        """The table (or the version of it that ``delta`` has open) as an Arrow dataset: ``.to_table(columns=, filter=)``.

        Every Arrow read of the lake goes through here. deltalake's own datasets read through Python objects, which Arrow's threads may
        let go of when the process is already ending: one process in five then dies of SIGABRT after its work (apache/arrow#34314).
        """
        import pyarrow.fs as pa_fs  # with pandas behind it: not for who only asks where tables lie

        files = pa_fs.SubTreeFileSystem(str(self.path(table).absolute()), pa_fs.LocalFileSystem())
        return (delta or self.delta(table)).to_pyarrow_dataset(filesystem=files)

    def commits(self, table: Table) -> list[SliceCommit]:
        """All commits of verilake's writer, newest first; empty where the table does not exist yet."""
        return [commit for version, info, meta in self._log(table) if (commit := _parse(table.name, version, info, meta)) is not None]

    def order(self, table: Table) -> list[str]:
        """Slices in the order of their first commits: one that is written again keeps its place."""
        return list(dict.fromkeys(commit.slice for commit in reversed(self.commits(table))))

    def slices(self, table: Table) -> dict[str, SliceCommit]:
        """Slice -> its newest commit, in order of the slices; ``rows`` without what a takedown has purged since.

        A purge takes rows away and is no new content: slices keep the fingerprint and version of the job that wrote them.
        """
        newest: dict[str, SliceCommit] = {}
        left: dict[str, int] = {}
        for version, info, meta in self._log(table):
            commit = _parse(table.name, version, info, meta)
            if commit is None:
                left = {**_left_by_purge(meta), **left}
            elif commit.slice not in newest:
                newest[commit.slice] = replace(commit, rows=left.get(commit.slice, commit.rows))
        return dict(sorted(newest.items()))

    def _log(self, table: Table) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
        """Version, commitInfo and what our writer said of it (empty for others), of every commit, newest first.

        From the log's own files, not through the table: replaying a log of hundreds of commits costs a fifth of a second, reading
        their heads a hundredth.
        """
        for path in sorted((self.path(table) / "_delta_log").glob("[0-9]*.json"), reverse=True):
            if path.stem.isdigit():
                info = _commit_info(path)
                yield int(path.stem), info, _metadata(info)


def _commit_info(path: Path) -> dict[str, Any]:
    """The commitInfo of one commit; Delta writes it first where commits carry their time, which those of our writer do."""
    with path.open("rb") as lines:
        action = json.loads(lines.readline() or b"{}")
    return action.get("commitInfo") or {}


def _metadata(info: dict[str, Any]) -> dict[str, Any]:
    try:
        meta = json.loads(info.get("userMetadata") or "{}")
    except ValueError:
        return {}
    return meta if isinstance(meta, dict) else {}


def _left_by_purge(meta: dict[str, Any]) -> dict[str, int]:
    """Slice -> rows that a purge left of it, as its commit says; empty for any other commit."""
    return {str(name): int(rows) for name, rows in meta.get("left", {}).items()}


def _parse(table: str, version: int, info: dict[str, Any], meta: dict[str, Any]) -> SliceCommit | None:
    if "fingerprint" not in meta:
        return None
    rows = int(info.get("operationMetrics", {}).get("numOutputRows", 0))
    return SliceCommit(
        table=table, slice=str(meta["slice"]), version=version, fingerprint=str(meta["fingerprint"]),
        batch=int(meta.get("batch", 1)), job=str(meta.get("job", "")), rows=rows, timestamp_ms=int(info.get("timestamp", 0)),
    )  # fmt: skip
