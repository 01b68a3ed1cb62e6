"""status: what this lake holds, how far each round has come, what is stale, and the command to run next."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from jobs.lake.layout import Lake, SliceCommit
from jobs.rounds import SEQUENCE
from jobs.views.reader import LakeReader, NoLakeError, alias
from jobs.workspace import Workspace
from schemas.bronze.documents import DOCUMENTS
from schemas.bronze.rejects import REJECTS
from schemas.bronze.rollouts import ROLLOUTS
from schemas.catalog import ALL_TABLES, TABLES
from schemas.gold.alerts import ALERTS
from schemas.gold.preferences import PREFERENCES
from schemas.gold.regression import REGRESSION
from schemas.gold.repair_queue import REPAIR_QUEUE
from schemas.gold.round_metrics import ROUND_METRICS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.sft import SFT
from schemas.ops.job_runs import JOB_RUNS
from schemas.ops.rounds import ROUNDS
from schemas.publication import pin_name
from schemas.silver.calls import CALLS
from schemas.silver.document_verdicts import DOCUMENT_VERDICTS
from schemas.silver.interactions import INTERACTIONS
from schemas.silver.qa import QA
from schemas.silver.qa_verdicts import QA_VERDICTS
from schemas.silver.rewards import REWARDS
from schemas.silver.task_stats import TASK_STATS
from schemas.silver.tokens import TOKENS
from schemas.silver.trajectories import TRAJECTORIES
from schemas.silver.trajectory_verdicts import TRAJECTORY_VERDICTS
from schemas.table import LAKE_SCHEMA_VERSION, Table

#: The state a round has reached once all of these tables hold its slice, in the order of ``ops.rounds.seq``. Tables are the truth, the ledger follows.
ROUND_STATES: tuple[tuple[str, tuple[Table, ...]], ...] = (
    ("planned", (ROUND_PLAN,)),
    ("rolled_out", (TRAJECTORIES, INTERACTIONS, TOKENS, REWARDS, CALLS)),
    ("checked", (TRAJECTORY_VERDICTS, ROUND_METRICS, ALERTS)),
    ("closed", (TASK_STATS, SFT, PREFERENCES, REGRESSION, REPAIR_QUEUE)),
)
#: What an ingest goes through, and the verb that takes it on.
INGEST_STATIONS = (("curate", DOCUMENT_VERDICTS), ("convert", QA), ("admit", QA_VERDICTS))
_NEXT_OF_ROUND = {
    "planned": "verilake rollout --round {n}",
    "rolled_out": "verilake check --round {n}",
    "checked": "verilake feedback --round {n}",
}


@dataclass(frozen=True)
class IngestStatus:
    """One ingest, and the stations that have not taken it on yet."""

    ingest_id: str
    seq: int
    documents: int
    rejects: int
    at: datetime
    waiting_for: tuple[str, ...]


@dataclass(frozen=True)
class RoundStatus:
    """One round: the state that its tables show; ``in_ledger`` says whether ops.rounds says the same."""

    round: int
    state: str
    policy_id: str | None
    at: datetime
    in_ledger: bool


@dataclass(frozen=True)
class TableStatus:
    """Newest version of one table."""

    name: str
    rows: int
    bytes: int
    files: int
    version: int


@dataclass(frozen=True)
class Stale:
    """A finished job whose inputs have changed since."""

    job: str
    scope: str
    why: str


@dataclass(frozen=True)
class Status:
    """Everything ``verilake status`` prints."""

    workspace: str
    schema_version: int | None
    ingests: list[IngestStatus]
    rounds: list[RoundStatus]
    tables: list[TableStatus]
    stale: list[Stale]
    failed: list[Stale]
    next_command: str


def read_status(workspace: Workspace) -> Status:
    """Look at a workspace; one without a lake is a state like any other.

    Raises:
        LakeVersionError: the lake was made by a newer verilake.
    """
    try:
        reader = LakeReader.open(workspace)
    except NoLakeError:
        return Status(str(workspace.root), None, [], [], [], [], [], "verilake ingest PATH...")
    lake = reader.lake
    slices = {table.name: lake.slices(table) for table in ALL_TABLES}
    ingests = _ingests(reader, slices)
    rounds = _rounds(reader, slices, workspace)
    events = reader.events(JOB_RUNS)
    stale = _stale(events, slices)
    return Status(
        workspace=str(workspace.root), schema_version=lake.schema_version(), ingests=ingests, rounds=rounds, tables=_tables(reader), stale=stale,
        failed=_failed(events), next_command=_next(lake, ingests, rounds, stale, set(slices[ROLLOUTS.name])),
    )  # fmt: skip


def _tables(reader: LakeReader) -> list[TableStatus]:
    out = []
    for table in ALL_TABLES:
        figures, delta = reader.figures(table), reader.delta(table)
        if figures is not None and delta is not None:
            out.append(TableStatus(table.name, *figures, version=delta.version()))
    return out


def _ingests(reader: LakeReader, slices: dict[str, dict[str, SliceCommit]]) -> list[IngestStatus]:
    """In the order of their first commit. Rows are counted, not taken from commits: a takedown lowers them."""
    documents, rejects = (
        {row["ingest_id"]: int(row["n"]) for row in reader.select(f"SELECT ingest_id, count(*) AS n FROM {alias(t)} GROUP BY ingest_id", t)}
        for t in (DOCUMENTS, REJECTS)
    )
    out = []
    for seq, ident in enumerate(reader.lake.order(DOCUMENTS), start=1):
        held = documents.get(ident, 0)
        waiting = tuple(verb for verb, table in INGEST_STATIONS if ident not in slices[table.name]) if held else ()
        out.append(IngestStatus(ident, seq, held, rejects.get(ident, 0), _time(slices[DOCUMENTS.name][ident]), waiting))
    return out


def _rounds(reader: LakeReader, slices: dict[str, dict[str, SliceCommit]], workspace: Workspace) -> list[RoundStatus]:
    """From the tables' own userMetadata, and from the pins for what left the house; the ledger adds the policy, and is compared."""
    newest: dict[int, dict[str, Any]] = {}
    for event in reader.events(ROUNDS):
        if (event["seq"], event["at"], event["event_id"]) > _rank(newest.get(event["round"])):
            newest[event["round"]] = event
    numbers = sorted({int(value) for value in slices[ROUND_PLAN.name]} | set(newest))
    out = []
    for number in numbers:
        reached = [
            (state, max((slices[t.name][str(number)] for t in tables), key=lambda commit: commit.timestamp_ms))
            for state, tables in ROUND_STATES
            if all(str(number) in slices[t.name] for t in tables)
        ]
        found = newest.get(number)
        state = reached[-1][0] if reached else found["state"] if found else "planned"
        if state == "closed" and (workspace.root / pin_name(number)).is_file():
            state = found["state"] if found and found["seq"] > SEQUENCE["closed"] else "published"
        at = _time(reached[-1][1]) if reached else found["at"] if found else datetime.fromtimestamp(0, UTC)
        out.append(RoundStatus(number, state, found["policy_id"] if found else None, at, found is not None and found["state"] == state))
    return out


def _rank(event: dict[str, Any] | None) -> tuple[int, datetime, str]:
    return (event["seq"], event["at"], event["event_id"]) if event else (0, datetime.fromtimestamp(0, UTC), "")


def _time(commit: SliceCommit) -> datetime:
    return datetime.fromtimestamp(commit.timestamp_ms / 1000, UTC)


def _newest(events: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    newest: dict[tuple[str, str], dict[str, Any]] = {}
    for event in sorted(events, key=lambda e: (e["at"], e["event_id"])):
        newest[event["job"], event["scope"]] = event
    return dict(sorted(newest.items()))


def _stale(events: list[dict[str, Any]], slices: dict[str, dict[str, SliceCommit]]) -> list[Stale]:
    """Jobs that read a slice as it was before it was written anew.

    Write-once slices are left out: a planned round stays as it was planned.
    """
    out = []
    for (job, scope), event in _newest([e for e in events if e["state"] == "finished"]).items():
        written = [TABLES[name] for name in json.loads(event["writes"]) if name in TABLES]
        if any(table.write_once for table in written):
            continue
        changed = []
        for name, read in json.loads(event["reads"]).items():
            held = slices.get(name, {})
            changed += [f"{name} {_short(value)}" for value, mark in read.items() if value not in held or held[value].fingerprint != mark]
        if changed:
            out.append(Stale(job, scope, f"changed since: {', '.join(sorted(changed)[:4])}{' ...' if len(changed) > 4 else ''}"))
    return out


def _failed(events: list[dict[str, Any]]) -> list[Stale]:
    """Jobs whose newest event is a failure."""
    newest = _newest(events)
    return [Stale(job, scope, event["error"] or "") for (job, scope), event in newest.items() if event["state"] == "failed"]


def _short(value: str) -> str:
    kind, equals, ident = value.rpartition("=")
    return f"{kind}{equals}{ident[:12]}"


def _next(lake: Lake, ingests: list[IngestStatus], rounds: list[RoundStatus], stale: list[Stale], delivered: set[str]) -> str:
    """The command that brings the lake one step on; always safe to run."""
    if (lake.schema_version() or LAKE_SCHEMA_VERSION) < LAKE_SCHEMA_VERSION:
        return "verilake migrate"
    if not ingests:
        return "verilake ingest PATH..."
    verb = {"curate_corpus": "curate", "convert_corpus": "convert", "admit_tasks": "admit"}
    waiting = [(station, ingest.ingest_id) for station, _ in INGEST_STATIONS for ingest in ingests if station in ingest.waiting_for]
    waiting += [(verb[item.job], item.scope.removeprefix("ingest=")) for item in stale if item.job in verb]
    for station, _ in INGEST_STATIONS:
        found = next((ident for name, ident in waiting if name == station), None)
        if found is not None:
            return f"verilake {station} --ingest {found[:12]}"
    if not rounds:
        return "verilake plan --round 1"
    last = rounds[-1]
    if last.state == "closed":
        return f"verilake publish --round {last.round}"
    if last.state in {"published", "tracked"}:
        return f"verilake run --rounds {last.round + 1}"
    if last.state == "planned" and str(last.round) in delivered:
        return f"verilake ingest-rollouts --round {last.round}"
    return _NEXT_OF_ROUND[last.state].format(n=last.round)
