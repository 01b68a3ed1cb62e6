"""Which published bytes held rows of documents, and which checkpoints were offered these bytes: read from the files themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from jobs.lake.layout import Lake
from jobs.ledger import read_events
from jobs.workspace import Workspace
from schemas.ids import canonical_json
from schemas.ops.bindings import BINDINGS

_PARQUET = b"PAR1"


@dataclass(frozen=True)
class OfferedSet:
    """A published set with rows of these documents.

    Attributes:
        tag: of the publication; ``datasets/`` for what lies in the workspace now.
        dataset: the set.
        rows: rows of these documents in the files that are here.
        missing: files of the set that this workspace does not hold (any more), so that nobody can look into them.
    """

    tag: str
    dataset: str
    rows: int
    missing: int = 0


@dataclass(frozen=True)
class OfferedCheckpoint:
    """A checkpoint that was offered such a set."""

    checkpoint_id: str
    tag: str
    datasets: tuple[str, ...]


@dataclass
class Files:
    """Parquet files by path and how many rows of the documents each holds; every file is read once."""

    doc_ids: frozenset[str]
    _known: dict[Path, int] = field(default_factory=dict)

    def rows(self, path: Path) -> int:
        """Rows of these documents in a file; 0 for a file that is no Parquet or names no document."""
        if path not in self._known:
            self._known[path] = rows_of(path, {"doc_id": self.doc_ids})
        return self._known[path]


def is_parquet(path: Path) -> bool:
    """By its first bytes, whatever its name."""
    with path.open("rb") as stream:
        return stream.read(4) == _PARQUET


def rows_of(path: Path, ids: Mapping[str, frozenset[str] | frozenset[bytes]]) -> int:
    """Rows of a Parquet file in which one of the columns named by ``ids`` has one of their values; 0 where it is no Parquet."""
    if not path.is_file() or not is_parquet(path):
        return 0
    with pq.ParquetFile(path) as held:
        columns = [name for name in ids if name in held.schema_arrow.names and ids[name]]
        table = held.read(columns=columns) if columns else None
    if table is None or not table.num_rows:
        return 0
    hits = [pc.is_in(table.column(name), value_set=pa.array(sorted(ids[name]), table.column(name).type)) for name in columns]
    found = hits[0]
    for other in hits[1:]:
        found = pc.or_(found, other)
    return int(pc.sum(found).as_py() or 0)


def offered_sets(workspace: Workspace, files: Files) -> list[OfferedSet]:
    """Every published set, of any round and attempt, in which rows of the documents lie, and what lies in ``datasets/`` now."""
    out = [OfferedSet("datasets/", name, rows) for name, rows in _present(workspace, files)]
    from jobs.publish.history import History
    from jobs.publish.objects import Snapshot

    history = History(workspace.root)
    for published in history.publications():
        snapshot = Snapshot(history, published.tag, published.commit)
        for dataset, listing in sorted(snapshot.listings.items()):
            if not snapshot.cache.path(listing).is_file():
                out.append(OfferedSet(published.tag, dataset, 0, missing=1))
                continue
            held = snapshot.files(dataset).values()
            rows, missing = sum(files.rows(path) for path in held), sum(not path.is_file() for path in held)
            if rows or missing:
                out.append(OfferedSet(published.tag, dataset, rows, missing))
    return out


def offered_checkpoints(lake: Lake, sets: list[OfferedSet]) -> list[OfferedCheckpoint]:
    """Checkpoints that ops.bindings ties to one of these sets."""
    import json

    hit = {(found.tag, found.dataset) for found in sets if found.rows or found.missing}
    out = set()
    for event in read_events(lake, BINDINGS):
        names = tuple(sorted(name for name in json.loads(event["sets"]) if (event["tag"], name) in hit))
        if names:
            out.add(OfferedCheckpoint(event["checkpoint_id"], event["tag"], names))
    return sorted(out, key=lambda found: canonical_json([found.checkpoint_id, found.tag]))


def _present(workspace: Workspace, files: Files) -> Iterator[tuple[str, int]]:
    folder = workspace.root / "datasets"
    for place in sorted(folder.iterdir()) if folder.is_dir() else []:
        rows = sum(files.rows(path) for path in sorted(place.rglob("*")) if path.is_file())
        if rows:
            yield place.name, rows
