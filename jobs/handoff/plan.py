"""Laying a run: shards and what the engine needs first, the plan last, so that its presence says that all is there."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from jobs.context import JobContext
from jobs.handoff.errors import HandoffError
from jobs.handoff.files import clear
from jobs.handoff.shards import lay_shards
from schemas.handoff import ITEM_KEYS, SHARD_SCHEMAS, Program, RunPlan
from schemas.ids import content_id
from udfs.killpoints import reach
from udfs.store.run import PLAN, HandoffRun, to_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOG = logging.getLogger("verilake.handoff")


@dataclass(frozen=True)
class RunSpec:
    """What a run shall be.

    Attributes:
        program: convert or rollout.
        engine: which engine serves it.
        fingerprint: hash of everything that bears on its result; run id and directory derive from it.
        shard_size: items a shard.
        settings: what the worker must know, for it reads no configuration.
        round, policy_id, policy_version: of a rollout.
    """

    program: Program
    engine: str
    fingerprint: str
    shard_size: int
    settings: dict[str, Any] = field(default_factory=dict)
    round: int | None = None
    policy_id: str | None = None
    policy_version: int = 0

    @property
    def run_id(self) -> str:
        """Content hash: the same work finds the same run."""
        return content_id("handoff", self.program, self.fingerprint)


def run_of(ctx: JobContext, spec: RunSpec) -> HandoffRun:
    """The run's directory, whether laid or not."""
    return HandoffRun(ctx.workspace.handoff_root / spec.program / f"run={spec.run_id}")


def open_run(
    ctx: JobContext, spec: RunSpec, items: Callable[[], DataFrame | pa.Table], lay_policy: Callable[[HandoffRun], None] | None = None
) -> HandoffRun:
    """Lay a run, or find it laid.

    Args:
        ctx: context; the executors must see the workspace under the same path.
        spec: what it shall be.
        items: builds the items (columns of the program's shard schema), a frame or, where they are few, a table; not called where the run is
            laid already.
        lay_policy: writes what the engine needs beside the items, below ``plan/policy``.

    Raises:
        HandoffError: the directory holds another plan.
    """
    run = run_of(ctx, spec)
    if not run.store.exists(PLAN):
        clear(run.files)
        rows = lay_shards(run, items(), SHARD_SCHEMAS[spec.program], ITEM_KEYS[spec.program], spec.shard_size)
        if lay_policy is not None:
            lay_policy(run)
        clear(run.files)
        reach(f"handoff/{spec.program}/before_plan")
        run.store.create_if_absent(PLAN, to_bytes(_plan(ctx, spec, rows)))
        _LOG.info("%s run %s: %d shards, %d items", spec.program, spec.run_id, len(rows), sum(rows.values()))
    if run.plan.fingerprint != spec.fingerprint:
        raise HandoffError.from_fingerprint(run.store.uri, run.plan.fingerprint, spec.fingerprint)
    return run


def _plan(ctx: JobContext, spec: RunSpec, rows: dict[str, int]) -> RunPlan:
    work = ctx.config.work
    return RunPlan(
        run_id=spec.run_id,
        program=spec.program,
        engine=spec.engine,
        shards=tuple(rows),
        rows=rows,
        settings=spec.settings,
        lease_seconds=work.lease_seconds,
        max_attempts=work.max_attempts,
        round=spec.round,
        policy_id=spec.policy_id,
        policy_version=spec.policy_version,
        fingerprint=spec.fingerprint,
        max_uncommitted_bytes=ctx.config.handoff.max_uncommitted_mb * 2**20,
    )
