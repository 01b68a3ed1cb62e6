"""Creates every table before any writer, and brings an older lake forward step by step.

Concurrent creation is a conflict that Delta cannot settle (L§1.2): both happen under one lock, and the version file is written last.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltalake import write_deltalake

from jobs.files import put
from jobs.lake.fill import fill_conversions, fill_rl, rounds_without_rl
from jobs.lake.layout import VERSION_FILE, Lake
from jobs.lake.locks import exclusive
from jobs.lake.types import spark_schema
from schemas.bronze.benchmark_items import BENCHMARK_ITEMS
from schemas.bronze.judgements import JUDGEMENTS
from schemas.bronze.replies import REPLIES
from schemas.bronze.rescored import RESCORED
from schemas.bronze.rollouts import ROLLOUTS
from schemas.catalog import ALL_TABLES
from schemas.conf import Config
from schemas.gold.rl import RL
from schemas.ops.bindings import BINDINGS
from schemas.ops.tombstones import TOMBSTONES
from schemas.silver.calls import CALLS
from schemas.silver.contamination import CONTAMINATION
from schemas.silver.conversions import CONVERSIONS
from schemas.silver.document_profiles import DOCUMENT_PROFILES
from schemas.silver.documents import DOCUMENTS as SILVER_DOCUMENTS
from schemas.silver.eval_samples import EVAL_SAMPLES
from schemas.silver.interactions import INTERACTIONS
from schemas.silver.judge_audits import JUDGE_AUDITS
from schemas.silver.rewards import REWARDS
from schemas.silver.trajectories import TRAJECTORIES
from schemas.table import LAKE_SCHEMA_VERSION, Table
from udfs.killpoints import reach

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


#: Tables created at once: each waits mostly for the JVM, none touches another's files.
_AT_ONCE = 4


@dataclass(frozen=True)
class Step:
    """What brings a lake from ``version`` - 1 to ``version``.

    Attributes:
        version: schema version of the lake afterwards.
        what: in words.
        adds: tables that it creates; creating one that is there is nothing, so that a killed step is simply done again.
        fills: writes what the new tables need from the old ones; done again, it finds what is written.
        notes: what is made of older rows; looked at before the step.
        widens: tables that get the nullable columns which they lack; those are null in the rows that are there.
        renews: tables that are laid anew and empty: the job that fills them does so again.
        restates: widened tables whose older rows must be computed again, because a null would be wrong in them.
        complements: new tables that ``fills`` fills for whatever their jobs have done: what those wrote stays as it is.
    """

    version: int
    what: str
    adds: tuple[Table, ...] = ()
    fills: Callable[[SparkSession, Lake, Config], None] = lambda _spark, _lake, _config: None
    notes: Callable[[Lake], list[str]] = lambda _lake: []
    widens: tuple[Table, ...] = ()
    renews: tuple[Table, ...] = ()
    restates: tuple[Table, ...] = ()
    complements: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Migration:
    """What a migration will do, or did.

    Attributes:
        found: schema version that the lake had.
        steps: to be taken, in order; none where the lake is current.
        notes: what is made of older rows.
    """

    found: int
    steps: tuple[Step, ...]
    notes: tuple[str, ...]


def _rl_notes(lake: Lake) -> list[str]:
    missing = ", ".join(map(str, rounds_without_rl(lake)))
    return [f"gold.rl of round {missing}: made from the tables, by the [feedback] settings in force now"] if missing else []


STEPS: tuple[Step, ...] = (
    Step(2, "tables of publication, binding, evaluation and takedown", (RL, EVAL_SAMPLES, BINDINGS, TOMBSTONES), fill_rl, _rl_notes),
    Step(
        3, "figures of Gopher, C4 and FineWeb, language, personal data, MinHash signatures, in profiles that are computed again; kept documents carry the last two; tables of decontamination",
        adds=(BENCHMARK_ITEMS, CONTAMINATION), widens=(SILVER_DOCUMENTS,), restates=(SILVER_DOCUMENTS,), renews=(DOCUMENT_PROFILES,),
    ),
    Step(
        4, "several turns, tools, environments, usage and tests in rollouts and what is made of them; tables of judges and of re-scored tokens",
        adds=(JUDGEMENTS, RESCORED), widens=(ROLLOUTS, TRAJECTORIES, INTERACTIONS, REWARDS, CALLS),
    ),
    Step(
        5, "stages, models and personas in replies; tables of what became of each document in conversion, and of audits of the checking model; judgements and re-scored tokens by run",
        # no job of an older version filled the two that are laid anew
        adds=(JUDGE_AUDITS,), widens=(REPLIES,), complements=(CONVERSIONS,), fills=fill_conversions, renews=(JUDGEMENTS, RESCORED),
    ),
)  # fmt: skip


def table_version(table: Table) -> int:
    """Schema version since which the rows of ``table`` hold: what a job's fingerprint carries.

    A lake that was only given further tables, or columns that older rows may lack, is not stale.
    """
    return max((step.version for step in STEPS if table in (*step.adds, *step.renews, *step.restates)), default=1)


def create_tables(spark: SparkSession, lake: Lake) -> None:
    """Create all tables of a new lake; safe to run again, and by two processes at once.

    Raises:
        LakeVersionError: the lake has another schema version than this verilake.
    """
    lake.check_current()
    if lake.exists():
        return
    with exclusive(lake.root / ".locks", "migration"):
        lake.check_current()
        if lake.exists():
            return
        _create_all(spark, lake, ALL_TABLES)
        _write_version(lake, LAKE_SCHEMA_VERSION)


def plan_migration(lake: Lake) -> Migration:
    """The steps that bring ``lake`` to this verilake's schema version; starts no JVM.

    Raises:
        LakeVersionError: the lake is newer.
    """
    lake.check_version()
    found = lake.schema_version()
    if found is None:  # a lake whose creation was cut short is completed by the next job, in the newest version
        return Migration(LAKE_SCHEMA_VERSION, (), ())
    steps = tuple(step for step in STEPS if step.version > found)
    return Migration(found, steps, tuple(note for step in steps for note in step.notes(lake)))


def migrate(lake: Lake, config: Config, session: Callable[[], SparkSession]) -> Migration:
    """Take the steps that are left, each whole before its version is written; returns what was done.

    Args:
        lake: the lake.
        config: settings in force.
        session: makes the Spark session; not called where nothing is to do.

    Raises:
        LakeVersionError: the lake is newer than this verilake.
    """
    if not plan_migration(lake).steps:
        return plan_migration(lake)
    with exclusive(lake.root / ".locks", "migration"):
        migration = plan_migration(lake)  # another process may have taken them meanwhile
        for step in migration.steps:
            spark = session()
            for table in step.renews:
                _remove(spark, lake, table)
            _create_all(spark, lake, (*step.adds, *step.complements, *step.renews))
            for table in step.widens:
                _widen(spark, lake, table)
            step.fills(spark, lake, config)
            reach(f"migrate/{step.version}")
            _write_version(lake, step.version)
    return migration


def _write_version(lake: Lake, version: int) -> None:
    put(lake.root / VERSION_FILE, (json.dumps({"schema_version": version}) + "\n").encode())


def _create_all(spark: SparkSession, lake: Lake, tables: tuple[Table, ...]) -> None:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        # list(): an error in any of them ends the migration before the version file is written
        list(pool.map(lambda table: _create(spark, lake, table), tables))


def _create(spark: SparkSession, lake: Lake, table: Table) -> None:
    if table.writer == "spark":
        _create_with_spark(spark, lake, table)
    else:
        _create_with_deltalake(lake, table)
    reach(f"migrate/created/{table.name}")


def _remove(spark: SparkSession, lake: Lake, table: Table) -> None:
    """Delete a table's files; one that a death left half deleted is deleted whole the next time."""
    shutil.rmtree(lake.path(table), ignore_errors=True)
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # noqa: SLF001 -- else it remembers the old log
    reach(f"migrate/removed/{table.name}")


def _widen(spark: SparkSession, lake: Lake, table: Table) -> None:
    """Add the columns that the table lacks, at its end."""
    path = str(lake.path(table))
    held = set(spark.read.format("delta").load(path).columns)
    for field in spark_schema(table.schema).fields:
        if field.name not in held:
            comment = (table.schema.field(field.name).metadata or {}).get(b"comment", b"").decode().replace("'", "\\'")
            spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMNS ({field.name} {field.dataType.simpleString()} COMMENT '{comment}')")
    reach(f"migrate/widened/{table.name}")


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
