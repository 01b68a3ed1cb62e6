"""Small SQL over the Delta tables through deltalake's own engine, which reads only the columns and row groups it needs."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from jobs.lake.layout import Lake
from jobs.workspace import Workspace
from schemas.errors import VerilakeError
from schemas.table import Table


class NoLakeError(VerilakeError):
    """The workspace holds no table yet."""

    exit_code = 3

    @classmethod
    def from_workspace(cls, workspace: Workspace) -> NoLakeError:
        """Says how to get one."""
        return cls(f"{workspace.root} holds no lake yet. Fill it with: verilake ingest PATH... --workspace {workspace.root}")


class LakeReader:
    """Tables of one lake, opened when they are first asked for."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self._builder = QueryBuilder()
        self._open: dict[str, DeltaTable | None] = {}

    @classmethod
    def open(cls, workspace: Workspace) -> LakeReader:
        """The lake of a workspace.

        Raises:
            NoLakeError: there is none.
            LakeVersionError: it was made by a newer verilake.
        """
        lake = Lake(workspace.lake_root)
        if not any(workspace.lake_root.glob("*/*/_delta_log")):
            raise NoLakeError.from_workspace(workspace)
        lake.check_version()
        return cls(lake)

    def delta(self, table: Table) -> DeltaTable | None:
        """The table, None where this lake has none of that name."""
        if table.name not in self._open:
            there = (self.lake.path(table) / "_delta_log").is_dir()
            self._open[table.name] = delta = self.lake.delta(table) if there else None
            if delta is not None:
                self._builder.register(alias(table), delta)
        return self._open[table.name]

    def select(self, sql: str, *tables: Table) -> list[dict[str, Any]]:
        """Rows of a query over ``tables``, which it names by :func:`alias`; none where one of them does not exist."""
        if any(self.delta(table) is None for table in tables):
            return []
        rows: list[dict[str, Any]] = pa.table(self._builder.execute(sql).read_all()).to_pylist()
        return rows

    def figures(self, table: Table) -> tuple[int, int, int] | None:
        """Rows, bytes and files of the newest version, from the log alone; None where the table does not exist."""
        delta = self.delta(table)
        if delta is None:
            return None
        added = pa.table(delta.get_add_actions())
        return sum(added["num_records"].to_pylist()), sum(added["size_bytes"].to_pylist()), added.num_rows


def alias(table: Table) -> str:
    """The name under which SQL of :class:`LakeReader` knows a table."""
    return table.name.replace(".", "_")


def literal(value: str | int) -> str:
    """A value as a literal of that SQL."""
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
