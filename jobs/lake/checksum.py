"""The logical checksum of a set of rows: it does not depend on their order, on files or on partitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemas.table import Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Checksum:
    """Row count, xor and sum (both mod 2^64) of the rows' 64-bit hashes; two together because xor alone is blind to pairs."""

    rows: int
    xor: int
    total: int

    @classmethod
    def from_row(cls, row: Any) -> Checksum:
        """From a row with the columns of :func:`aggregates`; an empty set has xor and total 0."""
        return cls(rows=int(row["rows"]), xor=int(row["xor"] or 0) & _MASK, total=int(row["total"] or 0) & _MASK)

    def minus(self, earlier: Checksum) -> Checksum:
        """What was added to ``earlier`` to get this."""
        return Checksum(rows=self.rows - earlier.rows, xor=self.xor ^ earlier.xor, total=(self.total - earlier.total) & _MASK)

    def __str__(self) -> str:
        return f"{self.rows}-{self.xor:016x}-{self.total:016x}"


def aggregates(table: Table) -> list[Column]:
    """The three aggregate columns over the stable columns of ``table``.

    xxhash64 skips nulls, so that (null, 'a') and ('a', null) would be equal: each nullable column brings its nullness along.
    """
    from pyspark.sql import functions as F

    parts = []
    for name in table.stable_columns:
        parts.append(F.col(name))
        if table.schema.field(name).nullable:
            parts.append(F.col(name).isNull())
    row_hash = F.xxhash64(*parts)
    return [
        F.count(F.lit(1)).alias("rows"),
        F.bit_xor(row_hash).alias("xor"),
        F.sum(row_hash.cast("decimal(38,0)")).alias("total"),
    ]


def checksum_of(frame: DataFrame, table: Table) -> Checksum:
    """Checksum of a frame with the table's columns; one pass."""
    return Checksum.from_row(frame.agg(*aggregates(table)).first())
