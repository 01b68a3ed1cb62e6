"""The whole loop: every ingest through conversion and admission, then round after round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jobs import admit_tasks, check_quality, convert_corpus, curate_corpus, feed_back, ingest_rollouts, plan_round, rollout_round
from jobs.context import JobContext, JobReport
from jobs.lake.errors import MissingInputError
from jobs.rounds import is_closed
from schemas.bronze.documents import DOCUMENTS

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
    found = [commit for commit in ctx.lake.slices(DOCUMENTS).values() if commit.rows > 0]
    if not found:
        raise MissingInputError.from_slice("bronze.documents", "any ingest", "verilake ingest PATH...")
    first: dict[str, int] = {}
    for commit in reversed(ctx.lake.commits(DOCUMENTS)):
        # An ingest's first commit decides; a restated one keeps its place.
        first.setdefault(commit.slice, commit.version)
    return sorted((commit.slice for commit in found), key=lambda ident: first[ident])


def corpus_stations(ctx: JobContext, ingest_id: str) -> list[Station]:
    """Curation, conversion and admission of one ingest."""
    scope = f"ingest={ingest_id}"
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


def run_rounds(ctx: JobContext, rounds: int, watch: Watcher) -> list[JobReport]:
    """Bring the lake to ``rounds`` closed rounds; what is done stays done, closed rounds are not looked at again."""
    reports: list[JobReport] = []
    stations = [station for ingest_id in ingests(ctx) for station in corpus_stations(ctx, ingest_id)]
    reports.extend(_step(station, watch) for station in stations)
    for round_no in range(1, rounds + 1):
        if is_closed(ctx, round_no):
            watch("round", f"round={round_no}", None)
            continue
        policy_id = rollout_round.current_policy(ctx)
        reports.extend(_step(station, watch) for station in round_stations(ctx, round_no, policy_id))
    return reports


def _step(station: Station, watch: Watcher) -> JobReport:
    watch(station.name, station.scope, None)
    report = station.run()
    watch(station.name, station.scope, report)
    return report
