"""The whole loop: every ingest through conversion and admission, then round after round."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from jobs import (
    admit_tasks,
    check_quality,
    convert_corpus,
    curate_corpus,
    feed_back,
    ingest_rollouts,
    plan_round,
    publish_round,
    rollout_round,
    track_round,
    train_policy,
)
from jobs.context import JobContext, JobReport
from jobs.lake.errors import MissingInputError
from jobs.report import default_target, write_report
from jobs.rounds import is_closed
from jobs.sources.added import added_ingests
from schemas.bronze.documents import DOCUMENTS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.publication import pin_name

#: Called before a station (report None) and after it.
Watcher = Callable[[str, str, JobReport | None], None]


@dataclass(frozen=True)
class Station:
    """One step of the loop on one scope."""

    name: str
    scope: str
    run: Callable[[], JobReport]


def ingests(ctx: JobContext) -> list[str]:
    """All ingests of the lake in the order in which they came.

    Raises:
        MissingInputError: there is none.
    """
    filled = {name for name, commit in ctx.lake.slices(DOCUMENTS).items() if commit.rows > 0}
    if not filled:
        raise MissingInputError.from_slice("bronze.documents", "any ingest", "verilake ingest PATH...")
    return [name for name in ctx.lake.order(DOCUMENTS) if name in filled]


def corpus_stations(ctx: JobContext, ingest_id: str) -> list[Station]:
    """Curation, conversion and admission of one ingest; added tasks are candidates already."""
    scope = f"ingest={ingest_id}"
    if ingest_id in added_ingests(ctx.lake):
        return [Station("admit", scope, lambda: admit_tasks.run(ctx, ingest_id))]
    return [
        Station("curate", scope, lambda: curate_corpus.run(ctx, ingest_id)),
        Station("convert", scope, lambda: convert_corpus.run(ctx, ingest_id)),
        Station("admit", scope, lambda: admit_tasks.run(ctx, ingest_id)),
    ]


def round_stations(ctx: JobContext, round_no: int, policy_id: str) -> list[Station]:
    """One turn of the loop."""
    scope = f"round={round_no}"
    return [
        Station("plan", scope, lambda: plan_round.run(ctx, round_no, policy_id=policy_id)),
        Station("rollout", scope, lambda: rollout_round.run(ctx, round_no)),
        Station("ingest-rollouts", scope, lambda: ingest_rollouts.run(ctx, round_no)),
        Station("check", scope, lambda: check_quality.run(ctx, round_no)),
        Station("feedback", scope, lambda: feed_back.run(ctx, round_no)),
    ]


def outgoing_stations(ctx: JobContext, round_no: int) -> list[Station]:
    """What follows a closed round: its sets are published, the trainer reads them, a page is written. MLflow is told at the end.

    A round that a later one has already followed is published only where it never was, and not trained on any more: what its successor
    rolled out stays as it is.
    """
    scope = f"round={round_no}"
    followed = str(round_no + 1) in ctx.lake.slices(ROUND_PLAN)
    stations = []
    if not (followed and (ctx.workspace.root / pin_name(round_no)).is_file()):
        stations.append(Station("publish", scope, lambda: publish_round.run(ctx, round_no)))
    if ctx.config.train.trainer != "none" and not followed:
        stations.append(Station("train", scope, lambda: train_policy.run(ctx, round_no)))
    stations.append(Station("report", scope, lambda: _report(ctx, round_no)))
    return stations


def _report(ctx: JobContext, round_no: int) -> JobReport:
    """The page about a round, written anew where the round was published since."""
    started = time.monotonic()
    path, pin = default_target(ctx.workspace, round_no), ctx.workspace.root / pin_name(round_no)
    stale = not path.is_file() or path.stat().st_mtime < pin.stat().st_mtime
    if stale:
        write_report(ctx.workspace, round_no, path)
    return JobReport("report", f"round={round_no}", "", stale, {"bytes": path.stat().st_size}, {}, time.monotonic() - started)


def run_rounds(ctx: JobContext, rounds: int, watch: Watcher) -> list[JobReport]:
    """Bring the lake to ``rounds`` closed and published rounds; what is done already is not done again.

    Raises:
        MissingInputError: the lake has no documents.
    """
    reports: list[JobReport] = []
    stations = [station for ingest_id in ingests(ctx) for station in corpus_stations(ctx, ingest_id)]
    reports.extend(_step(station, watch) for station in stations)
    for round_no in range(1, rounds + 1):
        if round_no > 1 and ctx.config.convert.quotas.per_cell and not is_closed(ctx, round_no):
            reports.extend(_step(station, watch) for station in stations)  # what the round before has filled decides about documents
        if is_closed(ctx, round_no):
            watch("round", f"round={round_no}", None)
        else:
            policy_id = rollout_round.current_policy(ctx)
            reports.extend(_step(station, watch) for station in round_stations(ctx, round_no, policy_id))
        reports.extend(_step(station, watch) for station in outgoing_stations(ctx, round_no))
    # Once for all rounds that wait: a server that does not answer is waited for once.
    tracked = track_round.run_pending(ctx) if ctx.config.track.enabled else []
    for report in tracked:
        watch("track", report.scope, report)
    return [*reports, *tracked]


def _step(station: Station, watch: Watcher) -> JobReport:
    watch(station.name, station.scope, None)
    report = station.run()
    watch(station.name, station.scope, report)
    return report
