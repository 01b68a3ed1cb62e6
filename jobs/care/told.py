"""What a takedown says to people: what it reached, what it did, and what is left for them to do."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.takedown import Takedown
from jobs.views.visible import visible

#: Documents that are named one by one.
_NAMED = 10


def lines_of(found: Takedown, *, dry_run: bool, purge: bool) -> list[str]:
    """The report, line by line; texts of documents are not among it."""
    return [
        *_documents(found),
        *_reached(found),
        *_offered(found),
        *_done(found, dry_run=dry_run, purge=purge),
        *_next(found, dry_run=dry_run),
    ]


def _documents(found: Takedown) -> Iterator[str]:
    same = f", {found.same_text} of them for having the same text" if found.same_text else ""
    yield f"takedown {found.takedown_id[:12]}: {len(found.documents)} documents{same}"
    for document in found.documents[:_NAMED]:
        why = f" (same text as {document.same_text_as[:12]})" if document.same_text_as else ""
        yield f"  {document.doc_id[:12]}  {visible(document.uri, 100)}{why}"
    if len(found.documents) > _NAMED:
        yield f"  ... and {len(found.documents) - _NAMED} more"


def _reached(found: Takedown) -> Iterator[str]:
    yield "rows reached:"
    for name, rows in found.reach.rows.items():
        yield f"  {name:<28} {rows.count:>8,}"
    yield f"rounds: {', '.join(map(str, found.reach.rounds)) or 'none'}"
    if found.eval_prompts:
        yield f"{found.eval_prompts} prompts of the fixed eval set are among them: rounds before and after cannot be compared any more, and compare says so"


def _offered(found: Takedown) -> Iterator[str]:
    for held in found.sets:
        gone = f", {held.missing} of its files are not here (any more)" if held.missing else ""
        where = held.tag if held.tag.startswith("round-") else "in the workspace now"
        yield f"published set {held.dataset}, {where}: {held.rows} rows{gone}"
    for checkpoint in found.checkpoints:
        yield f"checkpoint {visible(checkpoint.checkpoint_id, 60)} was offered {', '.join(checkpoint.datasets)} of {checkpoint.tag}"


def _done(found: Takedown, *, dry_run: bool, purge: bool) -> Iterator[str]:
    if dry_run:
        yield f"dry run: nothing was written; {found.new} documents have no tombstone yet"
        return
    yield f"{found.new} tombstones written, {found.retired} tasks retired"
    if not purge:
        return
    yield f"purged {sum(found.purged.values()):,} rows of {len(found.purged)} tables, removed {len(found.removed)} files and hand-off runs"
    if found.blanked:
        yield f"blanked {sum(found.blanked.values()):,} rows of other documents that quoted them"
    if found.broken:
        yield f"these publications have lost bytes and cannot be checked out whole any more: {', '.join(found.broken)}"
    for address in found.remotes:
        yield f"the DVC remote {visible(address, 100)} is out of reach from here: remove the objects there that this workspace's cache has lost"


def _next(found: Takedown, *, dry_run: bool) -> Iterator[str]:
    rounds = sorted({int(s.tag.removeprefix("round-").partition(".")[0]) for s in found.sets if s.tag.startswith("round-")})
    if rounds and not dry_run:
        yield f"next: verilake publish --round {rounds[-1]} (a new attempt without these rows)"
