"""What a job is given, and the frame around its work: is it done already, what did it read, write and count."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any

from jobs.lake.errors import MissingInputError
from jobs.lake.layout import Lake
from jobs.lake.locks import exclusive
from jobs.lake.migrate import create_tables, table_version
from jobs.lake.write import SliceWrite, WriteResult, read_table, sql_text, write_slice
from jobs.ledger import append_event, read_events
from jobs.logs import RUN_ID
from jobs.session import build_session
from jobs.workspace import Workspace
from schemas.conf import Config
from schemas.errors import VerilakeError
from schemas.ids import canonical_json, content_id
from schemas.ops.job_runs import JOB_RUNS
from schemas.table import Table
from udfs.killpoints import reach

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOG = logging.getLogger("verilake.jobs")

#: Which verb fills a table, for the error that a missing input gives.
FILLED_BY = {
    "bronze.documents": "verilake ingest PATH...", "silver.documents": "verilake curate", "silver.document_verdicts": "verilake curate",
    "silver.qa": "verilake convert", "silver.qa_verdicts": "verilake admit", "gold.tasks": "verilake admit", "gold.prompts": "verilake admit",
    "gold.round_plan": "verilake plan", "bronze.rollouts": "verilake rollout", "silver.trajectories": "verilake ingest-rollouts",
    "silver.rewards": "verilake ingest-rollouts", "silver.tokens": "verilake ingest-rollouts", "silver.interactions": "verilake ingest-rollouts",
    "silver.trajectory_verdicts": "verilake check", "silver.task_stats": "verilake feedback",
    "gold.rl": "verilake feedback", "gold.regression": "verilake feedback",
}  # fmt: skip


@dataclass(frozen=True)
class JobReport:
    """What a job did. ``did`` is False where everything was already there."""

    job: str
    scope: str
    fingerprint: str
    did: bool
    counts: dict[str, Any]
    writes: dict[str, WriteResult]
    seconds: float


@dataclass
class JobContext:
    """Everything a job may use; made by the command line, by a spark-submit entry or by a test.

    Attributes:
        workspace: where.
        config: validated configuration.
        now: the clock as an argument: the one time that this process writes into volatile columns.
        job_run_id: names this process in log lines and in the ledger.
        session: a session to use; built on first need where None, so that a job with nothing to do starts no JVM.
        restate: whether write-once slices may be replaced.
        progress: told, within a station, how many shards have ended and of how many.
    """

    workspace: Workspace
    config: Config
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    job_run_id: str = ""
    session: SparkSession | None = None
    restate: bool = False
    progress: Callable[[str, int, int], None] = lambda _what, _ended, _total: None

    def __post_init__(self) -> None:
        if not self.job_run_id:
            self.job_run_id = content_id("run", self.now.isoformat(), id(self))[:12]
        RUN_ID.set(self.job_run_id)
        self.lake.check_current()

    @cached_property
    def lake(self) -> Lake:
        """The workspace's tables."""
        return Lake(self.workspace.lake_root)

    @cached_property
    def spark(self) -> SparkSession:
        """The session; the lake's tables exist once it is handed out."""
        session = self.session if self.session is not None else build_session(self.config)
        create_tables(session, self.lake)
        return session

    def read(self, table: Table, *slices: str | int, version: int | None = None) -> DataFrame:
        """The table as a frame, all of it or the named slices only."""
        frame = read_table(self.spark, self.lake, table, version=version)
        if not slices:
            return frame
        values = ", ".join(f"'{sql_text(str(value))}'" for value in slices)
        return frame.where(f"cast({table.partition} as string) IN ({values})")

    @contextmanager
    def open(
        self,
        job: str,
        scope: str,
        *,
        reads: Mapping[Table, Sequence[str | int]],
        writes: Mapping[Table, str | int],
        settings: Any = None,
        versions: Mapping[str, str] | None = None,
    ) -> Iterator[JobRun]:
        """The frame around one job: resolves inputs, waits for another copy of it, records the result.

        Args:
            job: name of the job, as its module.
            scope: ``ingest=<id>`` or ``round=<n>``.
            reads: input slices; their fingerprints go into this job's own.
            writes: the slice of each table that the job fills.
            settings: the configuration that matters to the result (a section, or any JSON value).
            versions: versions of rules, graders, templates that matter to the result.

        Raises:
            MissingInputError: an input slice does not exist.
        """
        started = time.monotonic()
        with exclusive(self.workspace.locks_root, f"{job}.{scope}"):
            inputs = self._inputs(reads)
            conf_hash = content_id(settings.model_dump(mode="json") if hasattr(settings, "model_dump") else settings)
            fingerprint = content_id(job, scope, inputs, conf_hash, dict(versions or {}), max(map(table_version, writes), default=0))
            run = JobRun(self, job, scope, fingerprint, inputs, {t: str(s) for t, s in writes.items()}, conf_hash)
            _LOG.info("%s %s: %s", job, scope, "nothing to do" if run.done else "running")
            try:
                yield run
            except VerilakeError as error:
                with suppress(VerilakeError, OSError):  # a full disk must not hide what it caused
                    run.record("failed", time.monotonic() - started, error=str(error))
                raise
            run.finish(time.monotonic() - started)

    def _inputs(self, reads: Mapping[Table, Sequence[str | int]]) -> dict[str, dict[str, str]]:
        inputs: dict[str, dict[str, str]] = {}
        for table, wanted in reads.items():
            held = self.lake.slices(table)
            for value in map(str, wanted):
                if value not in held:
                    raise MissingInputError.from_slice(table.name, value, FILLED_BY.get(table.name, "the job that fills it"))
                inputs.setdefault(table.name, {})[value] = held[value].fingerprint
        return inputs


class JobRun:
    """One run of one job, as handed out by :meth:`JobContext.open`."""

    def __init__(
        self,
        context: JobContext,
        job: str,
        scope: str,
        fingerprint: str,
        inputs: dict[str, dict[str, str]],
        outputs: dict[Table, str],
        conf_hash: str,
    ) -> None:
        self.context, self.job, self.scope, self.fingerprint = context, job, scope, fingerprint
        self._inputs, self._outputs, self._conf_hash = inputs, outputs, conf_hash
        self._writes: dict[str, WriteResult] = {}
        self._counts: dict[str, Any] = {}
        self._seconds = 0.0
        self._event = self._finished_event()

    def _finished_event(self) -> dict[str, Any] | None:
        """The ledger's event of this very run, where every output still carries its fingerprint."""
        lake = self.context.lake
        for table, value in self._outputs.items():
            if table.append_only:
                found = any(c.slice == value and c.fingerprint == self.fingerprint for c in lake.commits(table))
            else:
                held = lake.slices(table).get(value)
                found = held is not None and held.fingerprint == self.fingerprint
            if not found:
                return None
        event_id = self._event_id("finished")
        return next((e for e in read_events(lake, JOB_RUNS) if e["event_id"] == event_id), None)

    @property
    def done(self) -> bool:
        """Whether every output is there and the ledger knows it; then the job returns at once."""
        return self._event is not None

    def write(self, table: Table, frame: Callable[[], DataFrame], *, batch: int = 1) -> WriteResult:
        """Fill this job's slice of ``table``; does nothing where it holds this fingerprint already (after a crash, say)."""
        if table not in self._outputs:
            raise ValueError(f"{self.job} did not declare that it writes {table.name}")
        context = self.context
        intent = SliceWrite(
            table=table, slice=self._outputs[table], fingerprint=self.fingerprint, job=self.job, batch=batch,
            code_hash=code_hash(), restate=context.restate,
        )  # fmt: skip
        result = write_slice(context.spark, context.lake, intent, frame)
        self._writes[table.name] = result
        return result

    def read_written(self, table: Table) -> DataFrame:
        """This job's slice as it stands in the table."""
        return self.context.read(table, self._outputs[table])

    def count(self, **counts: float | dict[str, int]) -> None:
        """Figures of the job's funnel; ``input`` equals the sum of what became of it (law 1)."""
        self._counts.update(counts)

    def finish(self, seconds: float) -> None:
        """Record the run unless it was done before."""
        self._seconds = seconds
        if not self.done:
            missing = [t.name for t in self._outputs if t.name not in self._writes]
            if missing:
                raise ValueError(f"{self.job} ended without writing {', '.join(missing)}")
            reach(f"{self.job}/before_ledger")
            self.record("finished", seconds)

    def record(self, state: str, seconds: float, error: str | None = None) -> None:
        """Append an event to ops.job_runs; a failure before the lake exists has no place to go and is only logged."""
        if not self.context.lake.exists():
            return
        writes = {name: {"version": w.version, "rows": w.rows, "checksum": w.checksum} for name, w in sorted(self._writes.items())}
        append_event(self.context.lake, JOB_RUNS, {
            "event_id": self._event_id(state), "job": self.job, "scope": self.scope, "fingerprint": self.fingerprint, "state": state,
            "job_run_id": self.context.job_run_id, "reads": canonical_json(self._inputs), "writes": canonical_json(writes),
            "counts": canonical_json(self._counts), "conf_hash": self._conf_hash, "code_hash": code_hash(), "error": error,
            "seconds": seconds, "at": self.context.now,
        })  # fmt: skip

    def report(self) -> JobReport:
        """What was done, or what an earlier run did. Call it after the ``with`` block, or right away where ``done``."""
        if self._event is not None:
            return JobReport(self.job, self.scope, self.fingerprint, False, json.loads(self._event["counts"]), {}, 0.0)
        return JobReport(self.job, self.scope, self.fingerprint, True, self._counts, self._writes, self._seconds)

    def _event_id(self, state: str) -> str:
        # A failure is recorded each time; a success once for a fingerprint and the table versions it ended in.
        if state == "failed":
            return content_id(self.job, self.scope, self.fingerprint, state, self.context.job_run_id)
        slices = {t.name: (h.version if (h := self.context.lake.slices(t).get(v)) else None) for t, v in self._outputs.items()}
        return content_id(self.job, self.scope, self.fingerprint, state, slices)


def code_hash() -> str:
    """Hash over the source of the rooms that Spark runs; recorded with every commit, part of no identity."""
    global _CODE_HASH  # noqa: PLW0603  # computed once a process
    if _CODE_HASH is None:
        parts: list[tuple[str, str]] = []
        for room in ("schemas", "udfs", "jobs"):
            parts.extend(_sources(resources.files(room), room))
        _CODE_HASH = content_id(sorted(parts))
    return _CODE_HASH


_CODE_HASH: str | None = None


def _sources(folder: Any, prefix: str) -> Iterator[tuple[str, str]]:
    for item in sorted(folder.iterdir(), key=lambda entry: str(entry.name)):
        if item.is_dir() and item.name != "__pycache__":
            yield from _sources(item, f"{prefix}/{item.name}")
        elif item.name.endswith(".py"):
            yield f"{prefix}/{item.name}", content_id(item.read_text("utf-8"))
