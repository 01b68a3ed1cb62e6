"""publish_round: the sets of a closed round -> datasets/, MANIFEST.json, pins/, dvc.lock, a commit and a tag in the workspace's git.

The commit is the moment of publication: before it everything can be taken back, after it everything can be made up for.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.context import JobContext, JobReport, JobRun
from jobs.lake.locks import exclusive
from jobs.publish.assemble import Earlier, Facts, StagedSet, assemble
from jobs.publish.errors import ExportError, HistoryError, NotPublishedError
from jobs.publish.export import WrittenSegment, export_segments
from jobs.publish.history import IDENTITY, TRAILER, History, Published, tag_of
from jobs.publish.objects import STAGE, Cache, Snapshot
from jobs.publish.pins import gather_facts, make_pin, params_bytes, pin_bytes
from jobs.publish.remote import configure, push
from jobs.publish.repository import LAID, lay_repository
from jobs.publish.sets import frame_of
from jobs.publish.slices import GOLD, SegmentPlan, SetPlan, Slices
from jobs.publish.swap import Staging, to_cache
from jobs.rounds import is_closed, note_state, planned_policy
from jobs.views.reader import LakeReader
from schemas.ids import content_id
from schemas.publication import pin_name
from schemas.table import Table
from udfs.export.shards import writer_versions
from udfs.killpoints import reach

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOG = logging.getLogger("verilake.publish")


@dataclass(frozen=True)
class _Publication:
    """One publication in the making."""

    ctx: JobContext
    history: History
    staging: Staging
    slices: Slices
    round_no: int
    attempt: int
    fingerprint: str
    sets: Sequence[SetPlan]
    earlier: Sequence[Snapshot]

    @property
    def tag(self) -> str:
        return tag_of(self.round_no, self.attempt)


def run(ctx: JobContext, round_no: int, *, again: bool = True) -> JobReport:
    """Publish one closed round.

    Args:
        ctx: context; its session is used only where rows must be read.
        round_no: round that feedback has closed.
        again: publish a round that has changed since its publication once more, under a further tag; else the one it has stands.

    Raises:
        NotPublishedError: the round is not closed, or an earlier one is not published.
        ExportError: rows lack their source, or the disk is full.
        HistoryError: git or DVC refused.
    """
    if not is_closed(ctx, round_no):
        raise NotPublishedError.from_open_round(round_no)
    with exclusive(ctx.workspace.locks_root, "publication"):
        publication = _prepare(ctx, round_no, again=again)
        with ctx.open(
            "publish_round", f"round={round_no}",
            reads={table: [round_no] for table in GOLD.values()}, writes={},
            settings={"publish": {"row_group_rows": ctx.config.publish.row_group_rows}},
            versions={"publication": publication.fingerprint, "tag": publication.tag},
        ) as job:  # fmt: skip
            committed = _committed(publication)
            if committed is None:
                committed = _publish(publication)
            _complete(publication, committed, job)
        push(publication.history, ctx.config.publish.remote)
    return job.report()


def _prepare(ctx: JobContext, round_no: int, *, again: bool) -> _Publication:
    """What is there, what it would be made from, and which attempt that is."""
    lay_repository(ctx.workspace.root)
    history, staging = History(ctx.workspace.root), Staging(ctx.workspace.root)
    published = history.publications()
    staging.recover(history)
    newest = {p.round_no: p for p in published}
    for number in range(1, round_no):
        if number not in newest:
            raise NotPublishedError.from_gap(round_no, number)
    slices = Slices(LakeReader.open(ctx.workspace), writer_versions(ctx.config.publish.row_group_rows))
    sets = slices.sets(round_no)
    fingerprint = content_id(round_no, [[plan.dataset.name, [s.fingerprint for s in plan.segments]] for plan in sets])
    held = newest.get(round_no)
    attempt = 1
    if held is not None:
        stands = not again or _stands(history, held, sets, slices, fingerprint)
        attempt, fingerprint = (held.attempt, held.fingerprint) if stands else (held.attempt + 1, fingerprint)
    sources = [p for p in (held, newest.get(round_no - 1)) if p is not None]
    earlier = [Snapshot(history, p.tag, p.commit) for p in sources]
    return _Publication(ctx, history, staging, slices, round_no, attempt, fingerprint, sets, earlier)


def _stands(history: History, held: Published, sets: Sequence[SetPlan], slices: Slices, fingerprint: str) -> bool:
    """Whether the newest publication is still what would be published now."""
    if held.fingerprint != fingerprint:
        return False
    if not slices.tombstoned:
        return True
    snapshot = Snapshot(history, held.tag, held.commit)
    found = [Earlier.of(snapshot, plan.dataset.name, slices.tombstoned, slices.takedowns) for plan in sets]
    return all(earlier is not None and not earlier.touched for earlier in found)


def _committed(publication: _Publication) -> Published | None:
    """This publication where it is in git already: whole, or without its tag because the process died between the two."""
    tagged = next((p for p in publication.history.publications() if p.tag == publication.tag), None)
    return tagged or publication.history.untagged(publication.tag)


def _publish(publication: _Publication) -> Published:
    """Export, swap, commit; on any error everything is as before."""
    ctx, staging, history = publication.ctx, publication.staging, publication.history
    cache, added = Cache.of(history.root), list[Path]()
    history.branch()
    try:
        with _full_disk_named(history.root):
            staging.begin()
            facts = gather_facts(ctx, publication.slices, publication.round_no)
            sets = _stage(publication, facts)
            reach("publish/export")
            pin = make_pin(ctx, publication.slices, facts, sets, publication.attempt, publication.tag)
            for staged in sets.values():
                added += to_cache(cache, staged)
            reach("publish/hash")
            small = {"params.yaml": params_bytes(pin), pin_name(pin.round): pin_bytes(pin)}
            staging.swap(publication.tag, sets, small)
            configure(history, ctx.config.publish.remote)
            history.dvc("commit", "--force", "--quiet", STAGE)
            reach("publish/dvc")
            message = f"Publish {publication.tag}\n\n{TRAILER} {publication.tag} {publication.fingerprint}\n"
            commit = history.commit((*LAID, *small, "dvc.lock"), message, ctx.now)
    except BaseException:
        if not _is_committed(publication):
            for path in added:
                path.unlink(missing_ok=True)
            staging.roll_back()
        raise
    finally:
        staging.sweep()
    reach("publish/git")
    return Published(publication.round_no, publication.attempt, publication.tag, commit, publication.fingerprint)


def _is_committed(publication: _Publication) -> bool:
    """After an error or an interrupt: did the commit land all the same?"""
    try:
        return publication.history.untagged(publication.tag) is not None
    except HistoryError:
        return False


def _stage(publication: _Publication, facts: Facts) -> dict[str, StagedSet]:
    """Every set in its staging folder."""
    slices, config = publication.slices, publication.ctx.config.publish
    export, staged = _exporter(publication, facts), {}
    for plan in publication.sets:
        name = plan.dataset.name
        held = [Earlier.of(snapshot, name, slices.tombstoned, slices.takedowns) for snapshot in publication.earlier]
        earlier = [found for found in held if found is not None]
        staged[name] = assemble(plan, earlier, publication.staging.set_folder(name), export, facts, config.row_group_rows)
    return staged


def _exporter(
    publication: _Publication, facts: Facts
) -> Callable[[SetPlan, Sequence[SegmentPlan], Mapping[str, int]], dict[str, WrittenSegment]]:
    """Writes segments with Spark; the session is asked for only when there is one to write."""
    ctx, slices = publication.ctx, publication.slices
    opened: dict[str, DataFrame] = {}

    def read(table: Table, *values: str | int) -> DataFrame:
        # At the version that the manifest names; opening a table at a version costs a second, so each is opened once.
        if table.name not in opened:
            opened[table.name] = ctx.read(table, version=facts.tables[table.name][1])
        whole = opened[table.name]
        return whole.where(whole[table.partition].cast("string").isin([str(value) for value in values])) if values else whole

    def export(plan: SetPlan, pending: Sequence[SegmentPlan], buckets: Mapping[str, int]) -> dict[str, WrittenSegment]:
        tombstoned = ctx.spark.createDataFrame([(doc,) for doc in slices.tombstoned], "doc_id string") if slices.tombstoned else None
        frame = frame_of(plan, [segment.value for segment in pending], publication.round_no, read, tombstoned)
        return export_segments(frame, plan.dataset, pending, buckets, publication.staging.attempts, ctx.config.publish)

    return export


def _complete(publication: _Publication, committed: Published, job: JobRun) -> None:
    """What follows the commit; each step is done where it was not."""
    ctx, history, round_no = publication.ctx, publication.history, publication.round_no
    if history.resolve(f"refs/tags/{committed.tag}") is None:
        history.refresh((*LAID, "params.yaml", "dvc.lock", pin_name(round_no)))
        history.tag(committed.tag, committed.commit)
    reach("publish/tag")
    if job.done:
        return
    pin = Snapshot(history, committed.tag, committed.commit).pin()
    counts = {f"{name}": {"rows": held.rows, "files": held.files} for name, held in pin.sets.items()}
    job.count(tag=committed.tag, commit=committed.commit[:12], **counts)  # type: ignore[arg-type]
    if history.identity():
        _LOG.warning("git knows no name and no address here: the commit of %s is by %s <%s>", committed.tag, *IDENTITY)
    note_state(
        ctx, round_no, "published", policy_id=planned_policy(ctx, round_no), fingerprint=content_id(publication.fingerprint, committed.tag)
    )
    reach("publish/ledger")


@contextmanager
def _full_disk_named(root: Path) -> Iterator[None]:
    """However deep in Spark, Arrow, git or DVC a full disk was noticed, it is named once and clearly."""
    try:
        yield
    except ExportError:
        raise
    except Exception as error:
        told = [error, error.__cause__, error.__context__]
        if any(getattr(one, "errno", None) == errno.ENOSPC or "No space left on device" in str(one) for one in told):
            raise ExportError.from_full_disk(str(root)) from error
        raise


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("publish")
