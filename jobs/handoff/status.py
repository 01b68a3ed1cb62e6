"""Where hand-off runs stand: shards by state, leases, rates, failures. Files alone are read: no JVM, no lake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from schemas.handoff import Commit, Quarantined
from udfs.store.leases import is_live, last_sign
from udfs.store.run import HandoffRun, claim_name

#: Rates are those of the last hour, in seconds.
WINDOW = 3600.0
#: Letters and refusals that are named; the others are counted.
NAMED = 20


@dataclass(frozen=True)
class LeaseStatus:
    """A shard in work, or one whose worker was not heard of for longer than its lease."""

    shard: str
    attempt: int
    worker_id: str
    live: bool
    age_seconds: float
    done: int
    in_flight: int


@dataclass(frozen=True)
class WorkerRate:
    """What one worker committed in the last hour; ``per_second`` counts rows from its first claim of them to its last commit."""

    worker_id: str
    shards: int
    rows: int
    per_second: float | None


@dataclass(frozen=True)
class RunStatus:
    """One run.

    Attributes:
        shards: committed, dead, leased, stalled (claimed, and the lease is over), open.
        rows: rows that commits hold, failed ones included.
        failures: failed rows by class.
        taken_in: whether the ingester has fixed what goes into the lake.
        control: control files that are there, with what they say.
        letters, refused: (shard, class or attempt, reason), at most ``NAMED`` of each; the counts are in ``dead`` and ``quarantined``.
    """

    program: str
    run_id: str
    engine: str
    round: int | None
    policy_version: int
    shards: dict[str, int]
    rows: int
    failures: dict[str, int]
    taken_in: bool
    control: dict[str, str]
    leases: tuple[LeaseStatus, ...]
    workers: tuple[WorkerRate, ...]
    dead: int
    quarantined: int
    letters: tuple[tuple[str, str, str], ...]
    refused: tuple[tuple[str, int, str], ...]

    @property
    def is_open(self) -> bool:
        """Whether workers have something to do."""
        return self.shards["leased"] + self.shards["stalled"] + self.shards["open"] > 0


def read_run(run: HandoffRun) -> RunStatus:
    """The state of one run.

    Raises:
        RunError: a file of it cannot be what the layout says.
    """
    plan = run.plan
    when = {entry.name.removesuffix(".json"): entry.mtime for entry in run.store.entries("commit")}
    commits = [commit for sid in sorted(when) if (commit := run.commit(sid)) is not None]
    dead = run.dead()
    left = [sid for sid in plan.shards if sid not in when and sid not in dead]
    leases = tuple(_leases(run, left))
    live = sum(lease.live for lease in leases)
    states = {
        "committed": len(commits), "dead": len(dead), "leased": live, "stalled": len(leases) - live, "open": len(left) - len(leases)
    }  # fmt: skip
    quarantine = run.store.list("quarantine")
    return RunStatus(
        program=plan.program, run_id=plan.run_id, engine=plan.engine, round=plan.round, policy_version=plan.policy_version, shards=states,
        rows=sum(commit.rows for commit in commits), failures=_failures(commits), taken_in=bool(run.store.list("ingest")),
        control={name: (run.store.read(f"control/{name}") or b"").decode("utf-8", "replace").strip() for name in run.store.list("control")},
        leases=leases, workers=tuple(_rates(run, commits, when)), dead=len(dead), quarantined=len(quarantine),
        letters=tuple(_letters(run, sorted(dead)[:NAMED])), refused=tuple(_refused(run, quarantine[:NAMED])),
    )  # fmt: skip


def _failures(commits: Iterable[Commit]) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for commit in commits:
        counted.update(commit.failures)
    return dict(sorted(counted.items()))


def _leases(run: HandoffRun, left: list[str]) -> Iterable[LeaseStatus]:
    begun = set(run.store.list("claims")) & set(left)
    now = run.store.now() if begun else 0.0
    for sid in sorted(begun):
        attempts = run.attempts(sid)
        claim = run.claim(sid, attempts[-1]) if attempts else None
        if claim is None:
            continue
        beat, sign = run.beat(sid, claim.attempt), last_sign(run, sid, claim.attempt)
        yield LeaseStatus(
            shard=sid, attempt=claim.attempt, worker_id=claim.worker_id, live=is_live(run, sid, claim.attempt, now),
            age_seconds=round(max(0.0, now - (sign if sign is not None else now)), 1),
            done=beat.done if beat is not None else 0, in_flight=len(beat.in_flight) if beat is not None else 0,
        )  # fmt: skip


def _rates(run: HandoffRun, commits: list[Commit], when: dict[str, float]) -> Iterable[WorkerRate]:
    newest = max(when.values(), default=0.0)
    # An hour before the newest commit, not before now: a run that has ended says how fast it was.
    recent = [commit for commit in commits if newest - when[commit.shard] <= WINDOW]
    for worker_id in sorted({commit.worker_id for commit in recent}):
        mine = [commit for commit in recent if commit.worker_id == worker_id]
        claimed = filter(None, map(partial(_claimed_at, run), mine))
        rows, end = sum(commit.rows for commit in mine), max(when[commit.shard] for commit in mine)
        seconds = end - min(claimed, default=end)
        yield WorkerRate(worker_id, len(mine), rows, round(rows / seconds, 3) if seconds > 0 else None)


def _claimed_at(run: HandoffRun, commit: Commit) -> float | None:
    return run.store.mtime(claim_name(commit.shard, commit.attempt))


def _letters(run: HandoffRun, dead: list[str]) -> Iterable[tuple[str, str, str]]:
    for sid in dead:
        letter = run.dead_letter(sid)
        if letter is not None:
            yield sid, letter.failure_class, letter.reason


def _refused(run: HandoffRun, names: list[str]) -> Iterable[tuple[str, int, str]]:
    for name in names:
        data = run.store.read(f"quarantine/{name}")
        if data is not None:
            held = Quarantined.model_validate_json(data)
            yield held.commit.shard, held.commit.attempt, held.reason
