"""Taking commits in: prove them, refuse what is unsound, fix the list that goes in, read exactly that list (G§3.5)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.context import JobContext
from jobs.handoff.drain import drain
from jobs.handoff.errors import HandoffError
from jobs.lake.types import spark_schema
from schemas.handoff import PART_SCHEMAS, Commit, IngestBatch
from udfs.killpoints import reach
from udfs.store.parts import judge_commit
from udfs.store.run import HandoffRun, RunError, to_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOG = logging.getLogger("verilake.handoff")
#: A run is taken in whole, as one batch and one Delta transaction.
BATCH = 1
_JUDGED = "sid string, reason string"


def batch_name(batch: int) -> str:
    """The write-ahead file of a batch."""
    return f"ingest/{batch}.json"


def pending_commits(run: HandoffRun) -> list[str]:
    """Shards that have a commit which no write-ahead file lists, in order."""
    listed = _written_ahead(run)
    taken = {_shard_of(name) for name in listed.commits} if listed is not None else set()
    return sorted(run.committed() - taken)


def collect(ctx: JobContext, run: HandoffRun) -> list[Commit]:
    """Drain a run and fix the commits that go into the lake.

    Unsound commits are quarantined with their reason and their shards worked again. The list is written ahead of the Delta
    transaction; a restart takes the same list, whatever has happened to the directory since.

    Raises:
        HandoffError: the run cannot be drained, or a shard's commits are refused again and again.
    """
    listed = _written_ahead(run)
    if listed is None:
        reasons: dict[str, str] = {}
        # Each refusal uses up an attempt; after that a worker commits the rest as failed, and once more may be refused.
        for _ in range(2 * run.plan.max_attempts + 1):
            _drain(ctx, run)
            reasons = _refuse(run, verify(ctx, run))
            if not reasons:
                break
        else:
            shard, reason = min(reasons.items())
            raise HandoffError.from_refused(run.store.uri, shard, reason)
        listed = _write_ahead(run)
    reach(f"handoff/{run.plan.program}/written_ahead")
    return [_listed_commit(run, name) for name in listed.commits]


def _drain(ctx: JobContext, run: HandoffRun) -> None:
    if ctx.config.work.launcher == "spark":
        drain(run, ctx.config.work, ctx.progress, lambda: ctx.spark)
    else:
        drain(run, ctx.config.work, ctx.progress)


def verify(ctx: JobContext, run: HandoffRun) -> dict[str, str]:
    """Pending commits that are unsound, with the reason; executors read the files."""
    names = pending_commits(run)
    if not names:
        return {}
    frame = ctx.spark.createDataFrame(pa.table({"sid": names})).repartition(min(len(names), 4 * ctx.spark.sparkContext.defaultParallelism))
    judged = frame.mapInArrow(partial(_judge, root=run.store.uri), _JUDGED).where("reason IS NOT NULL").collect()
    return {row["sid"]: row["reason"] for row in judged}


def delivered(ctx: JobContext, run: HandoffRun, commits: list[Commit]) -> DataFrame:
    """The rows of these commits and no other file."""
    schema = spark_schema(PART_SCHEMAS[run.plan.program])
    paths = [str(run.files.path(part.path)) for commit in commits for part in commit.files]
    return ctx.spark.read.schema(schema).parquet(*paths) if paths else ctx.spark.createDataFrame([], schema)


def _judge(batches: Iterator[pa.RecordBatch], root: str) -> Iterator[pa.RecordBatch]:
    run = HandoffRun(root)
    for batch in batches:
        names = batch.column("sid").to_pylist()
        reasons = [_reason(run, name) for name in names]
        yield pa.RecordBatch.from_pydict({"sid": pa.array(names, pa.string()), "reason": pa.array(reasons, pa.string())})


def _reason(run: HandoffRun, sid: str) -> str | None:
    try:
        commit = run.commit(sid)
        return judge_commit(run, commit) if commit is not None else "the commit is gone"
    except RunError as error:
        return str(error)


def _refuse(run: HandoffRun, reasons: dict[str, str]) -> dict[str, str]:
    reach(f"handoff/{run.plan.program}/judged")
    for sid, reason in sorted(reasons.items()):
        commit = run.commit(sid)
        if commit is not None:
            _LOG.warning("%s: commit of shard %s, attempt %d, refused: %s", run.plan.program, sid, commit.attempt, reason)
            run.quarantine(commit, reason)
    return reasons


def _write_ahead(run: HandoffRun) -> IngestBatch:
    names = tuple(f"{commit.shard}.{commit.attempt}" for sid in run.plan.shards if (commit := run.commit(sid)) is not None)
    batch = IngestBatch(batch=BATCH, commits=names, fingerprint=run.plan.fingerprint)
    run.store.create_if_absent(batch_name(BATCH), to_bytes(batch))
    return _written_ahead(run) or batch


def _written_ahead(run: HandoffRun) -> IngestBatch | None:
    data = run.store.read(batch_name(BATCH))
    return IngestBatch.model_validate_json(data) if data is not None else None


def _shard_of(name: str) -> str:
    return name.rpartition(".")[0]


def _listed_commit(run: HandoffRun, name: str) -> Commit:
    sid = _shard_of(name)
    commit = run.commit(sid)
    if commit is None or f"{sid}.{commit.attempt}" != name:
        raise HandoffError.from_refused(run.store.uri, sid, f"{name} was listed for the lake and is no longer there")
    return commit
