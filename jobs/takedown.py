"""takedown: a source leaves. Its documents get tombstones and their tasks are retired; with purge their bytes go as well.

Killed at any instant and run again it comes to the same end: tombstones are events that are written once, the retired versions are a slice
like any other, and a purge works from the children of every table up to its documents, which it still finds until they go last.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from jobs.care.erase import blank_rejects, erase_rows, protect
from jobs.care.files import purge_files, remotes
from jobs.care.offered import Files, OfferedCheckpoint, OfferedSet, offered_checkpoints, offered_sets
from jobs.care.quotes import REMOVED, blank_quotes, find_quotes
from jobs.care.reach import HOLDERS, OWNER_COLUMN, Reach, ids_of_every_version, reach_of
from jobs.care.remains import remove_remains
from jobs.care.retire import next_versions
from jobs.care.selection import Document, Selector, select_documents, tombstone, tombstoned
from jobs.context import JobContext
from jobs.lake.layout import Lake
from jobs.ledger import append_events
from jobs.plan.candidates import in_force
from jobs.workspace import Workspace
from schemas.bronze.documents import DOCUMENTS
from schemas.bronze.rejects import REJECTS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.tasks import TASKS
from schemas.ops.tombstones import TOMBSTONES
from udfs.killpoints import reach as instant
from udfs.readers.record import FIRST_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

_LOG = logging.getLogger("verilake.takedown")


@dataclass(frozen=True)
class Takedown:
    """What a takedown reached, and what it did.

    Attributes:
        takedown_id: content hash of what was asked for.
        documents: all of them; those of the same text as one that was asked for say which.
        reach: rows of every table, before anything was removed.
        eval_prompts: prompts of the fixed eval set among them: rounds before and after cannot be compared any more.
        sets: published sets that hold such rows, by tag; ``datasets/`` is what lies in the workspace now.
        checkpoints: what was offered one of these sets.
        broken: tags of publications that lose bytes by the purge.
        new: documents that had no tombstone before.
        retired: task versions that were added.
        purged: table -> rows removed.
        blanked: table -> rows of other documents that quoted one of these, and from which the quotation was taken.
        removed: files removed, relative to the workspace.
        remotes: addresses of DVC remotes that are no directories here, and must be cleared by their owner.
    """

    takedown_id: str
    documents: tuple[Document, ...]
    reach: Reach
    eval_prompts: int
    sets: tuple[OfferedSet, ...]
    checkpoints: tuple[OfferedCheckpoint, ...]
    broken: tuple[str, ...] = ()
    new: int = 0
    retired: int = 0
    purged: dict[str, int] = field(default_factory=dict)
    blanked: dict[str, int] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    remotes: tuple[str, ...] = ()

    @property
    def same_text(self) -> int:
        """Documents that were not asked for themselves."""
        return sum(document.same_text_as is not None for document in self.documents)

    def to_json(self) -> dict[str, Any]:
        """For ``--json``: counts and names, no text."""
        return {
            "takedown_id": self.takedown_id, "documents": [d.doc_id for d in self.documents], "same_text": self.same_text, "new": self.new,
            "retired": self.retired, "rows": {name: rows.by_slice for name, rows in self.reach.rows.items()}, "rounds": self.reach.rounds,
            "eval_prompts": self.eval_prompts, "sets": [asdict(s) for s in self.sets], "checkpoints": [asdict(c) for c in self.checkpoints],
            "broken": list(self.broken), "purged": self.purged, "blanked": self.blanked, "removed": list(self.removed), "remotes": list(self.remotes),
        }  # fmt: skip


def survey(workspace: Workspace, selector: Selector) -> Takedown:
    """What a takedown would reach; changes nothing and starts no JVM.

    Raises:
        UnknownSelectorError: a value of the selector fits no document.
    """
    lake = Lake(workspace.lake_root)
    documents = select_documents(lake, selector)
    doc_ids = frozenset(document.doc_id for document in documents)
    found = reach_of(lake, doc_ids)
    sets = offered_sets(workspace, Files(doc_ids))
    return Takedown(
        takedown_id=selector.takedown_id, documents=tuple(documents), reach=found, eval_prompts=_eval_prompts(lake, found), sets=tuple(sets),
        checkpoints=tuple(offered_checkpoints(lake, sets)), broken=tuple(dict.fromkeys(s.tag for s in sets if s.tag.startswith("round-"))),
        new=len(doc_ids - tombstoned(lake)), remotes=tuple(url for url in remotes(workspace.root) if "://" in url),
    )  # fmt: skip


def run(ctx: JobContext, selector: Selector, *, reason: str, purge: bool = False) -> Takedown:
    """Take documents down.

    Args:
        ctx: context.
        selector: what is meant.
        reason: why, for the ledger.
        purge: whether their bytes go as well.

    Raises:
        UnknownSelectorError: a value of the selector fits no document; nothing was written.
    """
    from dataclasses import replace

    found = survey(ctx.workspace, selector)
    _tombstones(ctx, found, selector, "tombstoned", reason)
    instant("takedown/tombstoned")
    retired = _retire(ctx, found)
    if not purge:
        return replace(found, retired=retired)
    purged, blanked, removed = _purge(ctx, found)
    instant("takedown/purged")
    _tombstones(ctx, found, selector, "purged", reason)
    return replace(found, retired=retired, purged=purged, blanked=blanked, removed=tuple(removed))


def _tombstones(ctx: JobContext, found: Takedown, selector: Selector, state: str, reason: str) -> None:
    append_events(ctx.lake, TOMBSTONES, [tombstone(document, selector, state, reason, ctx.now) for document in found.documents])


def _retire(ctx: JobContext, found: Takedown) -> int:
    """Write the retired versions; the number of them, 0 where an earlier run did it."""
    origin = f"takedown={found.takedown_id}"
    doc_ids = [document.doc_id for document in found.documents]
    with ctx.open("takedown", origin, reads={}, writes={TASKS: origin}, settings=sorted(doc_ids)) as job:
        if job.done:
            return 0
        others = [value for value in ctx.lake.slices(TASKS) if value != origin]
        newest = in_force(ctx.read(TASKS, *others)) if others else ctx.read(TASKS).limit(0)
        written = job.write(TASKS, lambda: next_versions(newest, doc_ids, origin=origin))
        job.count(input=len(doc_ids), same_text=found.same_text, retired=written.rows)
    return written.rows


def _purge(ctx: JobContext, found: Takedown) -> tuple[dict[str, int], dict[str, int], list[str]]:
    """Files first, for they are told by ids that the tables still hold; then tables from their children up to the documents."""
    lake, doc_ids = ctx.lake, frozenset(document.doc_id for document in found.documents)
    quotes = find_quotes(ctx.spark, lake, doc_ids)
    ids = ids_of_every_version(lake, doc_ids, quotes.ids.get("prompt_id", frozenset()))
    removed = purge_files(ctx.workspace, quotes.ids | ids)
    blanked, forgotten = blank_quotes(ctx.spark, lake, quotes, found.takedown_id)
    first_bytes = _first_bytes(lake, sorted(doc_ids))
    blanked[REJECTS.name] = blank_rejects(ctx.spark, lake, first_bytes, found.takedown_id)
    removed += forgotten
    removed += remove_remains(lake, REJECTS, "first_bytes", frozenset(first_bytes))
    purged: dict[str, int] = {}
    for table in reversed(HOLDERS):
        wanted = {OWNER_COLUMN[table.name]: ids.get(OWNER_COLUMN[table.name], frozenset())}
        if table in REMOVED:
            wanted[REMOVED[table][1]] = quotes.ids.get(REMOVED[table][1], frozenset())
        rows = 0
        for column, values in wanted.items():
            rows += erase_rows(ctx.spark, lake, table, column, sorted(values), found.takedown_id)
            removed += remove_remains(lake, table, column, values)
        purged[table.name] = rows
        protect(ctx.spark, lake, table)
        _LOG.info("takedown: %s: %d rows purged", table.name, rows)
    protect(ctx.spark, lake, REJECTS)
    return _some(purged), _some(blanked), removed


def _some(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def _first_bytes(lake: Lake, doc_ids: Sequence[str]) -> list[bytes]:
    """What a reject that repeats one of these documents shows of it."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    wanted = ds.field("doc_id").isin(pa.array(list(doc_ids), pa.string()))
    texts = lake.dataset(DOCUMENTS).to_table(columns=["text"], filter=wanted).column("text").to_pylist()
    return sorted({text[:FIRST_BYTES].encode()[:FIRST_BYTES] for text in texts})


def _eval_prompts(lake: Lake, found: Reach) -> int:
    import pyarrow as pa
    import pyarrow.dataset as ds

    prompts = found.ids.get("prompt_id", frozenset())
    if not prompts:
        return 0
    wanted = ds.field("prompt_id").isin(pa.array(sorted(prompts), pa.string())) & (ds.field("why") == "eval_fixed")
    return len(set(lake.dataset(ROUND_PLAN).to_table(columns=["prompt_id"], filter=wanted).column("prompt_id").to_pylist()))


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("takedown")
