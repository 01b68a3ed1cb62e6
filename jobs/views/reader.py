"""Small SQL over the Delta tables through deltalake's own engine, which reads only the columns and row groups it needs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from jobs.lake.layout import Lake
from jobs.workspace import Workspace
from schemas.errors import VerilakeError
from schemas.table import Table

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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

    def named(self, table: Table, columns: Iterable[str]) -> str:
        """A list for SELECT; what an older lake's table lacks is null."""
        delta = self.delta(table)
        held = set() if delta is None else {field.name for field in delta.schema().fields}
        return ", ".join(name if name in held or not held else f"CAST(NULL AS varchar) AS {name}" for name in columns)

    def select(self, sql: str, *tables: Table) -> list[dict[str, Any]]:
        """Rows of a query over ``tables``, which it names by :func:`alias`; none where one of them does not exist."""
        if any(self.delta(table) is None for table in tables):
            return []
        return _rows(pa.RecordBatchReader.from_stream(self._builder.execute(sql)).read_all())

    def events(self, table: Table) -> list[dict[str, Any]]:
        """All events of a ledger table in order of time; none where the ledger is gone."""
        return self.select(f"SELECT * FROM {alias(table)} ORDER BY at, event_id", table)

    def figures(self, table: Table) -> tuple[int, int, int] | None:
        """Rows, bytes and files of the newest version, from the log alone; None where the table does not exist."""
        delta = self.delta(table)
        if delta is None:
            return None
        added = pa.RecordBatchReader.from_stream(delta.get_add_actions()).read_all()
        return sum(added["num_records"].to_pylist()), sum(added["size_bytes"].to_pylist()), added.num_rows


def _rows(found: pa.Table) -> list[dict[str, Any]]:
    """Rows as dicts. Points in time go by way of integers: pyarrow imports pandas (a second) to convert them itself."""
    columns = []
    for column in found.columns:
        if pa.types.is_timestamp(column.type):
            micros = column.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_pylist()
            columns.append([None if value is None else _EPOCH + timedelta(microseconds=value) for value in micros])
        else:
            columns.append(column.to_pylist())
    return [dict(zip(found.column_names, values, strict=True)) for values in zip(*columns, strict=True)]


def alias(table: Table) -> str:
    """The name under which SQL of :class:`LakeReader` knows a table."""
    return table.name.replace(".", "_")


def literal(value: str | int) -> str:
    """A value as a literal of that SQL."""
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
