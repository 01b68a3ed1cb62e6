"""funnel: at every station the rows that came in, and what became of each; a sum that does not hold is named."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from jobs.views.conversion import STAGES
from jobs.views.reader import LakeReader, alias
from jobs.workspace import Workspace
from schemas.bronze.documents import DOCUMENTS
from schemas.bronze.rejects import REJECTS
from schemas.bronze.rollouts import ROLLOUTS
from schemas.gold.preferences import PREFERENCES
from schemas.gold.prompts import PROMPTS
from schemas.gold.repair_queue import REPAIR_QUEUE
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.sft import SFT
from schemas.gold.tasks import TASKS
from schemas.ops.job_runs import JOB_RUNS
from schemas.ops.tombstones import TOMBSTONES
from schemas.silver.conversions import CONVERSIONS
from schemas.silver.document_verdicts import DOCUMENT_VERDICTS
from schemas.silver.documents import DOCUMENTS as SILVER_DOCUMENTS
from schemas.silver.qa import QA
from schemas.silver.qa_verdicts import QA_VERDICTS
from schemas.silver.trajectories import TRAJECTORIES
from schemas.silver.trajectory_verdicts import TRAJECTORY_VERDICTS

#: The part of a sum that its station has not reached yet.
WAITING = "waiting"


@dataclass(frozen=True)
class Sum:
    """``total`` rows of ``what`` went into a station; ``parts`` is what became of them.

    ``total`` is None where nothing says how many came in (a lake whose ledger is gone).
    """

    station: str
    scope: str
    what: str
    total: int | None
    parts: dict[str, int]

    @property
    def holds(self) -> bool | None:
        """Whether the parts add up to the total; None where the total is unknown."""
        return None if self.total is None else sum(self.parts.values()) == self.total

    @property
    def difference(self) -> int:
        """Rows too many (positive) or lost (negative) among the parts."""
        return sum(self.parts.values()) - (self.total or 0)


@dataclass(frozen=True)
class Funnel:
    """All sums in the order of the stations."""

    sums: list[Sum]

    @property
    def failing(self) -> list[Sum]:
        """Sums that do not hold."""
        return [item for item in self.sums if item.holds is False]


@dataclass
class _Tally:
    """Totals and parts by scope, filled from queries."""

    total: dict[Any, int] = field(default_factory=dict)
    parts: dict[Any, dict[str, int]] = field(default_factory=dict)

    def add(self, scope: Any, part: str, count: int) -> None:
        inner = self.parts.setdefault(scope, {})
        inner[part] = inner.get(part, 0) + count

    def sums(self, station: str, what: str, name: Callable[[Any], str], order: Iterable[Any], *, waits: bool = True) -> list[Sum]:
        """One sum a scope; a scope without any part has not been reached, and all of it waits."""
        out = []
        for scope in order:
            total = self.total.get(scope)
            parts = self.parts.get(scope, {})
            if not parts and total and waits:
                parts = {WAITING: total}
            if total is not None or parts:
                out.append(Sum(station, name(scope), what, total, dict(sorted(parts.items(), key=_kept_first))))
        return out


def read_funnel(workspace: Workspace, reader: LakeReader | None = None, *, round_no: int | None = None) -> Funnel:
    """Add up every station from the tables themselves.

    Args:
        workspace: where.
        reader: its tables, where they are open already.
        round_no: of the rounds this one alone; reading all of a long campaign takes long.

    Raises:
        NoLakeError: the workspace holds no lake.
    """
    held = reader or LakeReader.open(workspace)
    ingests = _ingests(held)
    where = "" if round_no is None else f"WHERE round = {int(round_no)}"
    rounds = [row["round"] for row in held.select(f"SELECT DISTINCT round FROM {alias(ROUND_PLAN)} {where} ORDER BY round", ROUND_PLAN)]
    sums = [*_ingest(held, ingests), *_curate(held, ingests), *_convert(held, ingests), *_admit(held, ingests), *_pool(held)]
    for part in (_planned, _graded, _judged, _outputs):
        sums += part(held, rounds, where)
    return Funnel(sums)


def _kept_first(item: tuple[str, int]) -> tuple[bool, str]:
    return (":" in item[0], item[0])


def _ingest_scope(ident: Any) -> str:
    return f"ingest={ident}"


def _round_scope(number: Any) -> str:
    return f"round={number}"


def _ingests(reader: LakeReader) -> list[str]:
    """Ingests in the order in which they came; those without a document last."""
    sql = f"SELECT ingest_id, min(ingest_seq) AS seq FROM {alias(DOCUMENTS)} GROUP BY ingest_id ORDER BY seq, ingest_id"
    found = [row["ingest_id"] for row in reader.select(sql, DOCUMENTS)]
    refused = reader.select(f"SELECT DISTINCT ingest_id FROM {alias(REJECTS)} ORDER BY ingest_id", REJECTS)
    return list(dict.fromkeys([*found, *(row["ingest_id"] for row in refused)]))


def _ingest(reader: LakeReader, ingests: list[str]) -> list[Sum]:
    """Records = documents + rejects + what a takedown purged; how many records there were only the ledger knows."""
    tally = _Tally()
    for row in reader.select(f"SELECT ingest_id, count(*) AS n FROM {alias(DOCUMENTS)} GROUP BY ingest_id", DOCUMENTS):
        tally.add(row["ingest_id"], "documents", row["n"])
    for row in reader.select(f"SELECT ingest_id, reason, count(*) AS n FROM {alias(REJECTS)} GROUP BY ingest_id, reason", REJECTS):
        tally.add(row["ingest_id"], f"reject: {row['reason']}", row["n"])
    for event in reader.events(JOB_RUNS):
        if event["job"] in {"ingest_corpus", "add_tasks"} and event["state"] == "finished":
            tally.total[event["scope"].removeprefix("ingest=")] = int(json.loads(event["counts"]).get("input", 0))
    for event in reader.events(TOMBSTONES):
        facts = json.loads(event["selector"]).get("document")
        if event["state"] == "purged" and facts:
            tally.add(facts["ingest_id"], "purged", 1)
    return tally.sums("ingest", "records", _ingest_scope, ingests, waits=False)


def _curate(reader: LakeReader, ingests: list[str]) -> list[Sum]:
    """Documents = kept + duplicates + rejected by reason; kept = rows of silver.documents."""
    states, kept = _Tally(), _Tally()
    for row in reader.select(f"SELECT ingest_id, count(*) AS n FROM {alias(DOCUMENTS)} GROUP BY ingest_id", DOCUMENTS):
        states.total[row["ingest_id"]] = row["n"]
    sql = f"SELECT ingest_id, state, reason, count(*) AS n FROM {alias(DOCUMENT_VERDICTS)} GROUP BY ingest_id, state, reason"
    for row in reader.select(sql, DOCUMENT_VERDICTS):
        states.add(row["ingest_id"], row["state"] if row["state"] == "kept" else f"{row['state']}: {row['reason']}", row["n"])
        if row["state"] == "kept":
            kept.total[row["ingest_id"]] = kept.total.get(row["ingest_id"], 0) + row["n"]
    for row in reader.select(f"SELECT ingest_id, count(*) AS n FROM {alias(SILVER_DOCUMENTS)} GROUP BY ingest_id", SILVER_DOCUMENTS):
        kept.add(row["ingest_id"], "in silver.documents", row["n"])
    return states.sums("curate", "documents", _ingest_scope, ingests) + kept.sums("curate", "kept", _ingest_scope, ingests, waits=False)


#: What comes to each stage of conversion, and from which stage it must have passed.
_COMES = {
    "extract": ("kept documents", None),
    "filter": ("kept documents", None),
    "identify": ("documents", "filter"),
    "generate": ("personas", None),
    "evidence": ("questions", "generate"),
    "check": ("questions", "evidence"),
}


def _convert(reader: LakeReader, ingests: list[str]) -> list[Sum]:
    """Kept documents = outcomes of the first stage; each later stage's outcomes = what the stage before it let pass.

    A lake of before there were stages says nothing of them until it is migrated.
    """
    if reader.delta(CONVERSIONS) is None:
        return []
    sql = f"SELECT ingest_id, count(*) AS n FROM {alias(SILVER_DOCUMENTS)} GROUP BY ingest_id"
    documents = {row["ingest_id"]: row["n"] for row in reader.select(sql, SILVER_DOCUMENTS)}
    done = {row["ingest_id"] for row in reader.select(f"SELECT DISTINCT ingest_id FROM {alias(QA)}", QA)}
    tallies = {stage: _Tally() for stage in STAGES}
    passed: Counter[tuple[str, str]] = Counter()
    sql = f"SELECT ingest_id, stage, state, reason, count(*) AS n FROM {alias(CONVERSIONS)} GROUP BY ingest_id, stage, state, reason"
    for row in reader.select(sql, CONVERSIONS):
        stage, ident, state = row["stage"], row["ingest_id"], row["state"]
        tallies[stage].add(ident, state if state == "passed" else f"{state}: {row['reason']}", row["n"])
        passed[stage, ident] += row["n"] if state == "passed" else 0
    sums: list[Sum] = []
    for stage, tally in tallies.items():
        what, before = _COMES[stage]
        for ident, parts in tally.parts.items():
            first = documents.get(ident, 0) if what == "kept documents" else sum(parts.values())
            tally.total[ident] = first if before is None else passed[before, ident]
        if stage == "extract":  # an ingest that no stage has reached, whichever engine will convert it
            unreached = {ident: n for ident, n in documents.items() if ident not in tallies["filter"].parts}
            tally.total |= unreached
            for ident in unreached.keys() - tally.parts.keys() - done:  # once it is converted, a document without a state is lost
                tally.add(ident, WAITING, unreached[ident])
        sums += tally.sums("convert" if stage == "extract" else f"convert: {stage}", what, _ingest_scope, ingests, waits=False)
    return sums


def _admit(reader: LakeReader, ingests: list[str]) -> list[Sum]:
    """Candidates = admitted + rejected by reason; admitted = tasks."""
    states, tasks = _Tally(), _Tally()
    for row in reader.select(f"SELECT ingest_id, count(*) AS n FROM {alias(QA)} GROUP BY ingest_id", QA):
        states.total[row["ingest_id"]] = row["n"]
    sql = f"SELECT ingest_id, state, reason, count(*) AS n FROM {alias(QA_VERDICTS)} GROUP BY ingest_id, state, reason"
    for row in reader.select(sql, QA_VERDICTS):
        states.add(row["ingest_id"], "admitted" if row["state"] == "admitted" else f"rejected: {row['reason']}", row["n"])
        if row["state"] == "admitted":
            tasks.total[row["ingest_id"]] = tasks.total.get(row["ingest_id"], 0) + row["n"]
    sql = f"SELECT origin, count(*) AS n FROM {alias(TASKS)} WHERE version = 1 AND source_kind <> 'constraint' GROUP BY origin"
    for row in reader.select(sql, TASKS):
        tasks.add(row["origin"].removeprefix("ingest="), "tasks", row["n"])
    return states.sums("admit", "candidates", _ingest_scope, ingests) + tasks.sums("admit", "admitted", _ingest_scope, ingests, waits=False)


def _pool(reader: LakeReader) -> list[Sum]:
    """Prompts by form; only those whose task exists count, so that an orphan shows as a difference."""
    total = reader.select(f"SELECT count(*) AS n FROM {alias(PROMPTS)}", PROMPTS)
    if not total or not total[0]["n"]:
        return []
    sql = (
        f"SELECT p.form, count(*) AS n FROM {alias(PROMPTS)} p JOIN {alias(TASKS)} t "
        "ON p.task_id = t.task_id AND p.task_version = t.version GROUP BY p.form ORDER BY p.form"
    )
    return [Sum("admit", "pool", "prompts", total[0]["n"], {row["form"]: row["n"] for row in reader.select(sql, PROMPTS, TASKS)})]


def _planned(reader: LakeReader, rounds: list[int], where: str) -> list[Sum]:
    """Planned samples = rollouts + declared failures; planned prompts by role."""
    roles, samples = _Tally(), _Tally()
    for row in reader.select(
        f"SELECT round, role, count(*) AS n, sum(n_samples) AS s FROM {alias(ROUND_PLAN)} {where} GROUP BY round, role", ROUND_PLAN
    ):
        roles.total[row["round"]] = roles.total.get(row["round"], 0) + row["n"]
        roles.add(row["round"], row["role"], row["n"])
        samples.total[row["round"]] = samples.total.get(row["round"], 0) + row["s"]
    sql = f"SELECT round, failure_class, count(*) AS n FROM {alias(ROLLOUTS)} {where} GROUP BY round, failure_class"
    for row in reader.select(sql, ROLLOUTS):
        samples.add(row["round"], "rollouts" if row["failure_class"] is None else f"failed: {row['failure_class']}", row["n"])
    return roles.sums("plan", "prompts", _round_scope, rounds) + samples.sums("rollout", "planned samples", _round_scope, rounds)


def _graded(reader: LakeReader, rounds: list[int], where: str) -> list[Sum]:
    """Delivered rollouts = trajectories by status."""
    tally = _Tally()
    for row in reader.select(f"SELECT round, count(*) AS n FROM {alias(ROLLOUTS)} {where} GROUP BY round", ROLLOUTS):
        tally.total[row["round"]] = row["n"]
    for row in reader.select(
        f"SELECT round, status, count(*) AS n FROM {alias(TRAJECTORIES)} {where} GROUP BY round, status", TRAJECTORIES
    ):
        tally.add(row["round"], row["status"], row["n"])
    return tally.sums("ingest-rollouts", "delivered rollouts", _round_scope, rounds)


def _judged(reader: LakeReader, rounds: list[int], where: str) -> list[Sum]:
    """Trajectories = accepted + flagged + rejected by reason."""
    tally = _Tally()
    for row in reader.select(f"SELECT round, count(*) AS n FROM {alias(TRAJECTORIES)} {where} GROUP BY round", TRAJECTORIES):
        tally.total[row["round"]] = row["n"]
    sql = f"SELECT round, state, reason, count(*) AS n FROM {alias(TRAJECTORY_VERDICTS)} {where} GROUP BY round, state, reason"
    for row in reader.select(sql, TRAJECTORY_VERDICTS):
        tally.add(row["round"], row["state"] if row["state"] == "accepted" else f"{row['state']}: {row['reason']}", row["n"])
    return tally.sums("check", "trajectories", _round_scope, rounds)


def _outputs(reader: LakeReader, rounds: list[int], where: str) -> list[Sum]:
    """What went out of each round; only rows whose trajectory (or task) exists count as a part."""
    out: list[Sum] = []
    origins = (
        (SFT, "SFT rows", "from a trajectory", TRAJECTORIES, "o.round = t.round AND o.trajectory_id = t.trajectory_id"),
        (
            PREFERENCES,
            "preference pairs",
            "from two trajectories",
            TRAJECTORIES,
            "o.round = t.round AND o.chosen_trajectory_id = t.trajectory_id",
        ),
        (REPAIR_QUEUE, "repairs", "of a task", TASKS, "o.task_id = t.task_id AND o.task_version = t.version"),
    )
    for table, what, part, parent, on in origins:
        tally = _Tally()
        for row in reader.select(f"SELECT round, count(*) AS n FROM {alias(table)} {where} GROUP BY round", table):
            tally.total[row["round"]] = row["n"]
        # Rows of a round come from trajectories of that round; tasks belong to no round.
        held = f"(SELECT * FROM {alias(parent)} {where})" if parent is TRAJECTORIES else alias(parent)
        second = f"JOIN {held} u ON o.round = u.round AND o.rejected_trajectory_id = u.trajectory_id" if table is PREFERENCES else ""
        sql = f"SELECT o.round, count(*) AS n FROM (SELECT * FROM {alias(table)} {where}) o JOIN {held} t ON {on} {second} GROUP BY o.round"
        for row in reader.select(sql, table, parent):
            tally.add(row["round"], part, row["n"])
        out += tally.sums("feedback", what, _round_scope, rounds, waits=False)
    return out
