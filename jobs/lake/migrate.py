"""Creates every table before any writer: concurrent creation is a conflict that Delta cannot settle (L§1.2)."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from deltalake import write_deltalake

from jobs.lake.layout import VERSION_FILE, Lake
from jobs.lake.locks import exclusive
from jobs.lake.types import spark_schema
from schemas.catalog import ALL_TABLES
from schemas.table import LAKE_SCHEMA_VERSION, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


#: Tables created at once: each waits mostly for the JVM, none touches another's files.
_AT_ONCE = 4


def create_tables(spark: SparkSession, lake: Lake) -> None:
    """Create what is missing; safe to run again, and by two processes at once.

    Raises:
        LakeVersionError: the lake was made by a newer verilake.
    """
    lake.check_version()
    if lake.exists():
        return
    with exclusive(lake.root / ".locks", "migration"):
        if lake.exists():
            return
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            # list(): an error in any of them ends the migration before the version file is written
            list(pool.map(lambda table: _create(spark, lake, table), ALL_TABLES))
        part = lake.root / f".{VERSION_FILE}.part"
        part.write_text(json.dumps({"schema_version": LAKE_SCHEMA_VERSION}) + "\n", "utf-8")
        part.replace(lake.root / VERSION_FILE)


def _create(spark: SparkSession, lake: Lake, table: Table) -> None:
    if table.writer == "spark":
        _create_with_spark(spark, lake, table)
    else:
        _create_with_deltalake(lake, table)


def _create_with_spark(spark: SparkSession, lake: Lake, table: Table) -> None:
    from delta.tables import DeltaTable

    types = spark_schema(table.schema)
    builder = DeltaTable.createIfNotExists(spark).location(str(lake.path(table))).comment(table.comment)
    for field in types.fields:
        comment = (table.schema.field(field.name).metadata or {}).get(b"comment", b"").decode()
        builder = builder.addColumn(field.name, field.dataType, nullable=field.nullable, comment=comment)
    for key, value in table.properties.items():
        builder = builder.property(key, value)
    for name, condition in table.checks.items():
        builder = builder.property(f"delta.constraints.{name}", condition)
    if table.partition:
        builder = builder.partitionedBy(table.partition)
    builder.execute()


def _create_with_deltalake(lake: Lake, table: Table) -> None:
    write_deltalake(
        str(lake.path(table)), table.schema.empty_table(), mode="ignore", description=table.comment,
        configuration={k: v for k, v in table.properties.items() if k.startswith("delta.")},
    )  # fmt: skip
