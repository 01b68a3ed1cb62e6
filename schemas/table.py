"""A table as one value: columns with comments, key, partitioning, checks, and the columns that record time or machine."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dc_field

import pyarrow as pa

#: Version of the lake's whole layout; a lake that carries a newer one is refused (``migrate`` brings an older one forward).
LAKE_SCHEMA_VERSION = 5

TIMESTAMP = pa.timestamp("us", tz="UTC")
STRINGS = pa.list_(pa.field("element", pa.string(), nullable=True))
INTS = pa.list_(pa.field("element", pa.int32(), nullable=True))
FLOATS = pa.list_(pa.field("element", pa.float32(), nullable=True))
DOUBLES = pa.list_(pa.field("element", pa.float64(), nullable=True))


def column(name: str, dtype: pa.DataType, comment: str, *, null: bool = False) -> pa.Field:
    """One column; ``null=True`` where the value may be missing."""
    return pa.field(name, dtype, nullable=null, metadata={"comment": comment})


@dataclass(frozen=True, kw_only=True, eq=False)  # one value per table: compared and hashed by identity, so that it can be a key
class Table:
    """One table of the lake.

    Attributes:
        name: ``layer.table``; the path below the lake root is ``layer/table``.
        schema: Arrow schema, the order of which is frozen.
        key: columns that name one row within the whole table.
        partition: the one column by which slices are written and replaced (``ingest_id``, ``round``, ``origin``
            ...); None for the ledger, which is read whole.
        volatile: columns that record time or machine; left out of logical checksums.
        volatile_rows: the rows themselves are about time or machines (figures by worker): the whole table is left out where two
            workspaces are compared.
        checks: name -> SQL condition; null is spelled out, because Delta's CHECK rejects null.
        append_only: Delta's ``appendOnly`` (forbids replace and delete; DESIGN section 4 allows it on two tables).
        write_once: a slice once written is only replaced by an explicit restatement.
        writer: ``spark``, or ``deltalake`` for the ledger tables that are written without a JVM.
        target_file_mb: wished file size of one slice.
    """

    name: str
    schema: pa.Schema
    key: tuple[str, ...]
    partition: str | None
    comment: str
    volatile: tuple[str, ...] = ()
    volatile_rows: bool = False
    checks: dict[str, str] = dc_field(default_factory=dict)
    append_only: bool = False
    write_once: bool = False
    writer: str = "spark"
    target_file_mb: int = 128

    def __post_init__(self) -> None:
        names = set(self.schema.names)
        named = (*self.key, *self.volatile, *((self.partition,) if self.partition else ()))
        wrong = [c for c in named if c not in names]
        if wrong:
            msg = f"{self.name}: not columns of the schema: {', '.join(wrong)}"
            raise ValueError(msg)

    @property
    def path(self) -> str:
        """Where the table lies below the lake root."""
        return self.name.replace(".", "/")

    @property
    def stable_columns(self) -> list[str]:
        """Columns that the logical checksum covers: all but those that record time or machine."""
        return [n for n in self.schema.names if n not in self.volatile]

    @property
    def properties(self) -> dict[str, str]:
        """Delta properties pinned at creation (DESIGN section 4, L§1.6)."""
        pinned = {
            "delta.logRetentionDuration": "interval 3650 days",
            "delta.deletedFileRetentionDuration": "interval 3650 days",
            "verilake.schemaVersion": str(LAKE_SCHEMA_VERSION),
        }
        if self.writer == "spark":
            pinned["delta.enableInCommitTimestamps"] = "true"
            pinned["delta.enableDeletionVectors"] = "false"
        if self.append_only:
            pinned["delta.appendOnly"] = "true"
        return pinned
