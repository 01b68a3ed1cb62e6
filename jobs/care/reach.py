"""Which rows of which table belong to documents: found through the owners of jobs/views/links.py, reading only the columns that name them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.dataset as ds

from jobs.care.remains import ids_in_all_files
from jobs.lake.layout import Lake
from jobs.views.links import OWNERS
from schemas.bronze.documents import DOCUMENTS
from schemas.table import Table

#: In the order of the way of the data; every table that holds rows of documents.
HOLDERS: tuple[Table, ...] = (DOCUMENTS, *(link.child for link in OWNERS))
#: By which column a table's rows are told.
OWNER_COLUMN: dict[str, str] = {DOCUMENTS.name: "doc_id"} | {link.child.name: link.on[0][0] for link in OWNERS}
#: The kind of id that this column holds, as the parent names it.
_OWNER_ID: dict[str, str] = {DOCUMENTS.name: "doc_id"} | {link.child.name: link.on[0][1] for link in OWNERS}
_PARENTS = {link.parent.name: link.on[0][1] for link in OWNERS}


@dataclass(frozen=True)
class Rows:
    """Rows of one table.

    Attributes:
        table: name.
        owners: values of the owner's column by which they were found.
        by_slice: slice -> rows.
    """

    table: str
    owners: frozenset[str]
    by_slice: dict[str, int]

    @property
    def count(self) -> int:
        """All of them."""
        return sum(self.by_slice.values())


@dataclass(frozen=True)
class Reach:
    """What documents led to.

    Attributes:
        rows: table -> its rows, in the order of the way of the data; tables without any are left out.
        ids: kind of id (``doc_id``, ``task_id``, ``prompt_id`` ...) -> all that belong to the documents.
    """

    rows: dict[str, Rows]
    ids: dict[str, frozenset[str]] = field(default_factory=dict)

    @property
    def rounds(self) -> list[int]:
        """Rounds in which any of the rows lie."""
        held = {value for name, rows in self.rows.items() if _partition(name) == "round" for value in rows.by_slice}
        return sorted(map(int, held))


def reach_of(lake: Lake, doc_ids: Iterable[str]) -> Reach:
    """Follow documents through every table."""
    ids: dict[str, frozenset[str]] = {"doc_id": frozenset(doc_ids)}
    found: dict[str, Rows] = {}
    for table in HOLDERS:
        owner = OWNER_COLUMN[table.name]
        own = _PARENTS.get(table.name)
        owners = ids.get(_OWNER_ID[table.name], frozenset())
        rows, held = _scan(lake, table, owner, owners, own)
        if own is not None:
            ids[own] = ids.get(own, frozenset()) | held
        if rows:
            found[table.name] = Rows(table.name, owners, dict(sorted(rows.items())))
    return Reach(found, ids)


def _scan(lake: Lake, table: Table, owner: str, owners: frozenset[str], own: str | None) -> tuple[Counter[str], frozenset[str]]:
    """Rows by slice, and the values of ``own`` (the id by which other tables name these rows)."""
    if not owners or not (lake.path(table) / "_delta_log").is_dir():
        return Counter(), frozenset()
    assert table.partition is not None  # noqa: S101  # only the ledger has none
    columns = list(dict.fromkeys([table.partition, *([own] if own else [])]))
    held = lake.dataset(table).to_table(columns=columns, filter=ds.field(owner).isin(pa.array(sorted(owners), pa.string())))
    rows = Counter(str(value) for value in held.column(table.partition).to_pylist())
    return rows, frozenset(held.column(own).to_pylist()) if own else frozenset()


def _partition(name: str) -> str | None:
    return next(table.partition for table in HOLDERS if table.name == name)


def ids_of_every_version(lake: Lake, doc_ids: Iterable[str], prompt_ids: Iterable[str] = ()) -> dict[str, frozenset[str]]:
    """Kind of id -> all that ever belonged to these documents, in any version whose files are still there.

    Args:
        lake: where.
        doc_ids: documents.
        prompt_ids: prompts of other documents that are to go as well.
    """
    ids: dict[str, frozenset[str]] = {"doc_id": frozenset(doc_ids), "prompt_id": frozenset(prompt_ids)}
    for table in HOLDERS:
        owner, own = OWNER_COLUMN[table.name], _PARENTS.get(table.name)
        if own is not None:
            ids[own] = ids.get(own, frozenset()) | ids_in_all_files(lake, table, owner, ids.get(owner, frozenset()), own)
    return ids
