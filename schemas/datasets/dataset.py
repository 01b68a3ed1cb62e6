"""A published set as one value: columns, key, order, and the column by which its rows are kept in separate files."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from schemas.table import column

#: Where a row's document came from; every set carries these, so that it can be counted by source and traced without the lake.
SOURCE_COLUMNS: tuple[pa.Field, ...] = (
    column("doc_id", pa.string(), "bronze.documents"),
    column("cluster_id", pa.string(), "near-duplicate cluster of the document"),
    column("source", pa.string(), "collection of the document"),
    column("uri", pa.string(), "address of the document"),
    column("licence", pa.string(), "licence of the document", null=True),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """One published set.

    Attributes:
        name: of the set and of its folder below ``datasets/``.
        schema: Arrow schema of its files; the order of the columns is frozen.
        key: columns that name one row; files are sorted by them.
        segment: the column whose value decides in which group of files a row lies, so that what did not change keeps its files;
            None where the set is one group.
        comment: what a row is.
    """

    name: str
    schema: pa.Schema
    key: tuple[str, ...]
    segment: str | None
    comment: str


def with_source(*columns: pa.Field) -> pa.Schema:
    """A schema of ``columns`` (each named as in a table) followed by :data:`SOURCE_COLUMNS`, each name once."""
    own = [field for field in columns if field.name not in {source.name for source in SOURCE_COLUMNS}]
    return pa.schema([*own, *SOURCE_COLUMNS])
