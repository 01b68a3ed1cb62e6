"""sql: DuckDB over the lake, read-only and shut off from files and network."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jobs.views.reader import LakeReader
from jobs.workspace import Workspace
from schemas.catalog import ALL_TABLES
from schemas.errors import VerilakeError

if TYPE_CHECKING:
    import duckdb

#: Rows that are returned unless the caller says otherwise.
ROWS = 1000
_MEMORY = "2GB"
_NEVER_HERE = re.compile(
    r"permission|disabled by configuration|disabled through configuration|configuration has been locked", re.IGNORECASE
)


class QueryError(VerilakeError):
    """A query that DuckDB refuses."""

    exit_code = 2

    @classmethod
    def from_message(cls, message: str) -> QueryError:
        """DuckDB's own words, and what is allowed where it was forbidden."""
        first = message.strip()
        hint = "\n`verilake sql` reads tables of the lake alone: no files, no extensions, no settings." if _NEVER_HERE.search(first) else ""
        return cls(first + hint)

    @classmethod
    def from_write(cls, word: str) -> QueryError:
        """A statement that is no query."""
        return cls(f"{word} is not allowed: `verilake sql` only reads. Use SELECT, WITH, FROM, DESCRIBE, SUMMARIZE, SHOW or EXPLAIN.")


@dataclass(frozen=True)
class QueryResult:
    """Columns and rows of a query; ``truncated`` where there were more rows than asked for."""

    columns: list[str]
    types: list[str]
    rows: list[tuple[Any, ...]]
    truncated: bool


@dataclass(frozen=True)
class ColumnInfo:
    """A column as the schema module describes it."""

    name: str
    type: str
    nullable: bool
    comment: str


@dataclass(frozen=True)
class TableInfo:
    """A table of the lake; ``rows`` is None where this lake has none of that name."""

    name: str
    comment: str
    key: tuple[str, ...]
    partition: str | None
    rows: int | None
    columns: list[ColumnInfo]


def list_tables(workspace: Workspace) -> list[TableInfo]:
    """All tables with their columns and comments.

    Raises:
        NoLakeError: the workspace holds no lake.
    """
    reader = LakeReader.open(workspace)
    infos = []
    for table in ALL_TABLES:
        figures = reader.figures(table)
        columns = [
            ColumnInfo(field.name, str(field.type), field.nullable, (field.metadata or {}).get(b"comment", b"").decode())
            for field in table.schema
        ]
        infos.append(TableInfo(table.name, table.comment, table.key, table.partition, figures[0] if figures else None, columns))
    return infos


def run_query(workspace: Workspace, sql: str, *, limit: int | None = ROWS) -> QueryResult:
    """Run one query; tables are named ``layer.table``.

    Args:
        workspace: where.
        sql: one statement of DuckDB's dialect.
        limit: most rows to return; all where None.

    Raises:
        NoLakeError: the workspace holds no lake.
        QueryError: the statement is wrong, writes, or reaches outside the lake.
    """
    import duckdb

    reader = LakeReader.open(workspace)
    with duckdb.connect(":memory:") as connection:
        _lay_views(connection, reader)
        try:
            _only_reads(connection, sql)
            result = connection.execute(sql)
            described = result.description or []
            rows = result.fetchall() if limit is None else result.fetchmany(limit + 1)
        except duckdb.Error as error:
            raise QueryError.from_message(str(error)) from None
    truncated = limit is not None and len(rows) > limit
    return QueryResult([str(c[0]) for c in described], [str(c[1]) for c in described], rows[:limit] if truncated else rows, truncated)


def _lay_views(connection: duckdb.DuckDBPyConnection, reader: LakeReader) -> None:
    """One view a table over its Arrow dataset (DuckDB's own Delta extension cannot be loaded offline), then every door is shut."""
    connection.execute("SET TimeZone = 'UTC'")
    layers: set[str] = set()
    for table in ALL_TABLES:
        delta = reader.delta(table)
        if delta is None:
            continue
        layer, _, name = table.name.partition(".")
        if layer not in layers:
            connection.execute(f"CREATE SCHEMA {layer}")
            layers.add(layer)
        hidden = f"_{layer}_{name}"
        connection.register(hidden, reader.lake.dataset(table, delta))
        connection.execute(f"CREATE VIEW {layer}.{name} AS SELECT * FROM {hidden}")
    for setting in (
        "SET python_enable_replacements = false",  # a name must not reach a variable of this process
        "SET autoinstall_known_extensions = false",
        "SET autoload_known_extensions = false",
        f"SET memory_limit = '{_MEMORY}'",
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ):
        connection.execute(setting)


def _only_reads(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    import duckdb

    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise QueryError(f"one statement is expected, got {len(statements)}")
    allowed = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN, duckdb.StatementType.PRAGMA}
    if statements[0].type not in allowed:
        raise QueryError.from_write(statements[0].type.name)
