"""What changed between two rounds beside the scores: prompts, ingests, settings, templates, verifiers, policy, sampling, code, published sets.

Facts of the rounds come from the tables, so that a published round and one that is not are held against each other alike. Values
of settings and the published bytes are known from pins and manifests alone; without them the ledger's hash only says whether settings differ.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from jobs.publish.history import History
from jobs.publish.objects import Snapshot
from jobs.views.reader import LakeReader, alias
from jobs.workspace import Workspace
from schemas.errors import VerilakeError
from schemas.gold.prompts import PROMPTS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.tasks import TASKS
from schemas.ids import canonical_json
from schemas.ops.job_runs import JOB_RUNS
from schemas.publication import Manifest, Pin, pin_name
from schemas.silver.calls import CALLS
from schemas.silver.rewards import REWARDS

#: Between the parts of a fact that is a list.
LIST = "; "
#: Ids that a change names; the counts are whole.
NAMED = 20


@dataclass(frozen=True)
class Moved:
    """Ids on one side only: whole counts, the first NAMED of each in order."""

    came: int
    went: int
    stayed: int
    first_came: tuple[str, ...]
    first_went: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """A fact with two values; None where a side has none. ``values`` is False where it is only known that they differ."""

    what: str
    before: str | None
    after: str | None
    values: bool = True


@dataclass(frozen=True)
class SetChange:
    """A published set on both sides; shared files and bytes are None where a manifest cannot be read."""

    name: str
    rows: tuple[int, int]
    bytes: tuple[int, int]
    files: tuple[int, int]
    shared_files: int | None
    shared_bytes: int | None


@dataclass(frozen=True)
class Changes:
    """All that differs."""

    tasks: Moved
    prompts: Moved
    ingests: Moved
    settings: list[Change]
    facts: list[Change]
    published: tuple[bool, bool]
    sets: list[SetChange]


def read_changes(workspace: Workspace, reader: LakeReader, first: int, second: int) -> Changes:
    """What differs between two planned rounds."""
    trained = [_trained(reader, number) for number in (first, second)]
    facts = [_facts(reader, number) for number in (first, second)]
    events = [event for event in reader.events(JOB_RUNS) if event["state"] == "finished"]
    jobs = [_jobs(events, number) for number in (first, second)]
    ingests = [_ingests(reader, side, number) for side, number in zip(jobs, (first, second), strict=True)]
    pins = [read_pin(workspace, number) for number in (first, second)]
    code = {"code": tuple(", ".join(sorted({event["code_hash"] for event in side.values()})) for side in jobs)}
    return Changes(
        tasks=_moved({task for _, task in trained[0]}, {task for _, task in trained[1]}),
        prompts=_moved({prompt for prompt, _ in trained[0]}, {prompt for prompt, _ in trained[1]}),
        ingests=_moved(*ingests),
        settings=_settings(pins[0], pins[1], jobs[0], jobs[1]),
        facts=[*_differences(*facts), *_differences(*({name: sides[n] for name, sides in code.items()} for n in (0, 1)))],
        published=(pins[0] is not None, pins[1] is not None),
        sets=_sets(workspace, pins[0], pins[1]),
    )


def read_pin(workspace: Workspace, round_no: int) -> Pin | None:
    """The round's pin; None where it is not published, or its file is no pin."""
    path = workspace.root / pin_name(round_no)
    try:
        return Pin.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _trained(reader: LakeReader, round_no: int) -> set[tuple[str, str]]:
    rows = reader.select(f"SELECT prompt_id, task_id FROM {alias(ROUND_PLAN)} WHERE round = {round_no} AND role = 'train'", ROUND_PLAN)
    return {(row["prompt_id"], row["task_id"]) for row in rows}


def _moved(before: set[str], after: set[str]) -> Moved:
    came, went = sorted(after - before), sorted(before - after)
    return Moved(len(came), len(went), len(before & after), tuple(came[:NAMED]), tuple(went[:NAMED]))


def _facts(reader: LakeReader, round_no: int) -> dict[str, str]:
    """Facts of one round that are few enough to be written out."""
    where = f"round = {round_no}"
    plan, calls = alias(ROUND_PLAN), alias(CALLS)
    drawn = "engine || '@' || engine_version || ', temperature ' || temperature || ', top_p ' || top_p || ', ' || logprobs_mode"
    queries: dict[str, tuple[str, tuple[Any, ...]]] = {
        "policy": (f"SELECT DISTINCT policy_id AS v FROM {plan} WHERE {where}", (ROUND_PLAN,)),
        "templates": (
            f"SELECT DISTINCT q.template AS v FROM {plan} p JOIN {alias(PROMPTS)} q ON q.prompt_id = p.prompt_id WHERE p.{where}",
            (ROUND_PLAN, PROMPTS),
        ),
        "verifiers": (f"SELECT DISTINCT verifier_name || '@' || verifier_version AS v FROM {alias(REWARDS)} WHERE {where}", (REWARDS,)),
        "sampling": (f"SELECT DISTINCT {drawn} AS v FROM {calls} WHERE {where}", (CALLS,)),
        "samples planned by role": (
            f"SELECT role || ' ' || count(*) || ' prompts, ' || sum(n_samples) || ' samples' AS v FROM {plan} WHERE {where} GROUP BY role",
            (ROUND_PLAN,),
        ),
    }
    return {name: LIST.join(sorted(row["v"] for row in reader.select(sql, *tables))) for name, (sql, tables) in queries.items()}


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[Change]:
    names = [*before, *(name for name in after if name not in before)]
    return [Change(name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)]


def _jobs(events: list[dict[str, Any]], round_no: int) -> dict[tuple[str, str], dict[str, Any]]:
    """(job, scope) -> the run that this round is made of: its own stations, and those of each ingest that its plan read.

    Ingest stations are followed by fingerprint, so that an ingest curated anew since is not taken for what the round had.
    """
    by_mark = {event["fingerprint"]: event for event in events}
    own = {
        event["job"]: event for event in events if event["scope"] == f"round={round_no}"
    }  # events come in order of time: the newest stays
    found = {(job, "round"): event for job, event in sorted(own.items())}
    open_marks = [mark for event in own.values() for read in json.loads(event["reads"]).values() for mark in read.values()]
    seen: set[str] = set()
    while open_marks:
        mark = open_marks.pop()
        event = by_mark.get(mark)
        if event is None or mark in seen or not event["scope"].startswith("ingest="):
            continue
        seen.add(mark)
        found[event["job"], event["scope"]] = event
        open_marks += [inner for read in json.loads(event["reads"]).values() for inner in read.values()]
    return found


def _ingests(reader: LakeReader, jobs: Mapping[tuple[str, str], dict[str, Any]], round_no: int) -> set[str]:
    """Ingests that the round's plan drew its tasks from."""
    plan = jobs.get(("plan_round", "round"))
    if plan is None:
        from jobs.handoff.rollouts import planned_ingests  # a tenth of a second that is seldom needed

        return set(planned_ingests(reader.lake, round_no))
    origins = json.loads(plan["reads"]).get(TASKS.name, {})
    return {origin.removeprefix("ingest=") for origin in origins if origin.startswith("ingest=")}


def _settings(
    first: Pin | None, second: Pin | None, before: Mapping[tuple[str, str], dict[str, Any]], after: Mapping[tuple[str, str], dict[str, Any]]
) -> list[Change]:
    """Values where both rounds are pinned; else the stations whose settings differ by the ledger's hash."""
    if first is not None and second is not None:
        filters = _differences({f"filter {k}": v for k, v in first.filters.items()}, {f"filter {k}": v for k, v in second.filters.items()})
        return [*_differences(_flat(first.conf), _flat(second.conf)), *filters]
    return [
        Change(f"settings of {job}, {scope}", before[job, scope]["conf_hash"], after[job, scope]["conf_hash"], values=False)
        for job, scope in sorted(before.keys() & after.keys())
        if before[job, scope]["conf_hash"] != after[job, scope]["conf_hash"]
    ]


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    """``section.key`` -> canonical JSON of its value, in order of the keys."""
    if not isinstance(value, Mapping) or not value:
        return {prefix: canonical_json(value)} if prefix else {}
    return {k: v for name in sorted(value) for k, v in _flat(value[name], f"{prefix}.{name}" if prefix else str(name)).items()}


def _sets(workspace: Workspace, first: Pin | None, second: Pin | None) -> list[SetChange]:
    if first is None or second is None:
        return []
    history = History(workspace.root)
    manifests = [_manifests(history, pin) for pin in (first, second)]
    out = []
    for name in sorted(first.sets.keys() & second.sets.keys()):
        a, b = first.sets[name], second.sets[name]
        held = [side.get(name) for side in manifests]
        shared: tuple[int, int] | None = None
        if held[0] is not None and held[1] is not None:
            known = {file.sha256 for file in held[0].files}
            common = [file for file in held[1].files if file.sha256 in known]
            shared = (len(common), sum(file.bytes for file in common))
        out.append(
            SetChange(
                name, (a.rows, b.rows), (a.bytes, b.bytes), (a.files, b.files), shared[0] if shared else None, shared[1] if shared else None
            )
        )
    return out


def _manifests(history: History, pin: Pin) -> dict[str, Manifest]:
    """Set -> manifest of a publication, as far as git and the cache of this workspace still hold them."""
    found: dict[str, Manifest] = {}
    try:
        commit = history.resolve(f"refs/tags/{pin.tag}")
        if commit is None:
            return {}
        snapshot = Snapshot(history, pin.tag, commit)
        for name in sorted(snapshot.listings.keys() & pin.sets.keys()):
            found[name] = snapshot.manifest(name)
    except (VerilakeError, OSError, ValueError, LookupError, TypeError):
        return found  # a cache that was cleared, say: compare goes on without shared files
    return found
