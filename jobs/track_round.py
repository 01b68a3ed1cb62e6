"""track_round: a published round -> an MLflow run below its campaign's.

The round is published whatever becomes of this: a store that cannot be reached leaves it pending, and the next `verilake track` or
`verilake run` logs it. Once logged, asking again reads files alone and imports no mlflow.
"""

from __future__ import annotations

import logging
import tempfile
import time
from pathlib import Path
from typing import Any

from jobs.context import JobContext, JobReport
from jobs.lake.locks import exclusive
from jobs.ledger import read_events
from jobs.publish.errors import NotPublishedError
from jobs.rounds import note_state
from jobs.tracking.artifacts import manifests_of, write_artifacts
from jobs.tracking.client import TrackingError, connected, translated
from jobs.tracking.destination import Destination, destination
from jobs.tracking.published import Publication, listings, publications
from jobs.tracking.record import make_record
from jobs.tracking.relocate import relocate
from jobs.tracking.runs import find_experiment, log_round
from jobs.views.reader import LakeReader
from jobs.views.visible import visible
from schemas.ops.bindings import BINDINGS
from schemas.ops.rounds import ROUNDS
from udfs.killpoints import reach

_LOG = logging.getLogger("verilake.track")
JOB = "track_round"


def run(ctx: JobContext, round_no: int) -> JobReport:
    """Log one published round; nothing to do where that was done for this publication, its checkpoints and this store.

    Args:
        ctx: context.
        round_no: a published round.

    Returns:
        ``did`` is False with ``pending`` 1 in the counts where the store could not be reached.

    Raises:
        NotPublishedError: the round has no publication.
        TrackingUriError: ``track.uri`` cannot be used.
        UnknownMetricError: the round's pin holds a figure that conf/metrics.toml does not know.
    """
    held = _published(ctx, round_no).get(round_no)
    if held is None:
        raise NotPublishedError.from_round(round_no)
    return _track(ctx, [held])[0]


def run_pending(ctx: JobContext) -> list[JobReport]:
    """Log every published round that is not logged yet, in order; a store that fails once is not asked again.

    Raises:
        TrackingUriError: ``track.uri`` cannot be used.
    """
    held = _published(ctx)
    return _track(ctx, [held[round_no] for round_no in _pending(ctx, held)])


def pending(ctx: JobContext) -> list[int]:
    """Published rounds that are not logged yet, in order; none where tracking is switched off.

    Raises:
        TrackingUriError: ``track.uri`` cannot be used.
    """
    return _pending(ctx, _published(ctx))


def _pending(ctx: JobContext, published: dict[int, Publication]) -> list[int]:
    if not ctx.config.track.enabled:
        return []
    where, done = destination(ctx.config.track, ctx.workspace), _logged(ctx)
    return [number for number, held in published.items() if held.fingerprint(where, _experiment(ctx, held)) not in done]


def _published(ctx: JobContext, only: int | None = None) -> dict[int, Publication]:
    return publications(ctx.workspace, read_events(ctx.lake, BINDINGS), only)


def _logged(ctx: JobContext) -> set[str]:
    return {str(event["fingerprint"]) for event in read_events(ctx.lake, ROUNDS) if event["state"] == "tracked"}


def _experiment(ctx: JobContext, held: Publication) -> str:
    return ctx.config.track.experiment or f"verilake/{held.pin.campaign}"


def _track(ctx: JobContext, rounds: list[Publication]) -> list[JobReport]:
    """One connection for all of them. The lock covers the campaign: its run is shared by its rounds."""
    if not ctx.config.track.enabled:
        return [_report(held, "", counts={"disabled": 1}) for held in rounds]
    where = destination(ctx.config.track, ctx.workspace)
    reports: list[JobReport] = []
    with exclusive(ctx.workspace.locks_root, JOB):
        done = _logged(ctx)
        fingerprints = [held.fingerprint(where, _experiment(ctx, held)) for held in rounds]
        waiting = [held for held, mark in zip(rounds, fingerprints, strict=True) if mark not in done]
        logged, failure = _log_all(ctx, where, waiting) if waiting else ({}, None)
    for held, mark in zip(rounds, fingerprints, strict=True):
        if held.pin.round in logged:
            reports.append(logged[held.pin.round])
        else:
            reports.append(_report(held, mark, counts={} if mark in done else {"pending": 1}))
    if failure is not None:
        left = [held.pin.round for held in waiting if held.pin.round not in logged]
        _LOG.warning(
            "%s. Published and kept, but not logged yet: round %s. Log later with: verilake track", failure, ", ".join(map(str, left))
        )
    return reports


def _log_all(ctx: JobContext, where: Destination, rounds: list[Publication]) -> tuple[dict[int, JobReport], TrackingError | None]:
    """Reports of the rounds that were logged, and what stopped the others."""
    done: dict[int, JobReport] = {}
    reader = LakeReader.open(ctx.workspace)
    try:
        with translated(where):
            relocate(ctx.workspace, where)
        with connected(where, ctx.config.track.timeout_seconds) as client:
            for held in rounds:
                done[held.pin.round] = _log(ctx, client, where, reader, held)
    except TrackingError as error:
        return done, error
    return done, None


def _log(ctx: JobContext, client: Any, where: Destination, reader: LakeReader, held: Publication) -> JobReport:
    started, pin, experiment = time.monotonic(), held.pin, _experiment(ctx, held)
    sets = manifests_of(ctx.workspace, held)
    manifests = {name: manifest for name, (_, manifest, _) in sets.items()}
    record = make_record(reader, held, manifests, listings(ctx.workspace, held), read_events(ctx.lake, ROUNDS))
    with tempfile.TemporaryDirectory(prefix="verilake-track-") as folder:
        tables = write_artifacts(ctx.workspace, reader, held, record, sets, Path(folder), ctx.config.track.sample_rows)
        # Only what speaks to the store: a fault of ours must not pass for one of the store.
        with translated(where):
            logged = log_round(client, find_experiment(client, where, experiment), record, Path(folder), tables)
    fingerprint = held.fingerprint(where, experiment)
    note_state(ctx, pin.round, "tracked", policy_id=pin.policy_id, fingerprint=fingerprint)
    reach("track/ledger")
    counts = {
        "metrics": len(record.metrics), "params": len(record.params), "inputs": len(record.inputs),
        "experiment": visible(experiment, 100), "run": logged.run_id,
    }  # fmt: skip
    return _report(held, fingerprint, counts=counts, did=True, seconds=time.monotonic() - started)


def _report(held: Publication, fingerprint: str, *, counts: dict[str, Any], did: bool = False, seconds: float = 0.0) -> JobReport:
    return JobReport(JOB, f"round={held.pin.round}", fingerprint, did, counts, {}, seconds)


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("track")
