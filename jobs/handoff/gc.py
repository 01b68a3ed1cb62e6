"""Garbage of a hand-off run: parts that no commit names, of shards that have one (G§3.6)."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.handoff import Commit, Quarantined
from udfs.killpoints import reach
from udfs.store.leases import is_live
from udfs.store.run import HandoffRun, commit_name
from udfs.store.store import Entry

#: Private files of writers that died; a slow writer touches its own far more often.
TMP_SECONDS = 3600.0


def garbage(run: HandoffRun) -> list[Entry]:
    """Files that nothing needs, by their names below the run.

    A part goes when its shard has had a commit for two leases, nobody works at it, and no commit names the part: neither the one
    that won nor one that was refused, which a person may want to look at. What is younger than two leases stays.
    """
    now, patience = run.store.now(), 2 * run.plan.lease_seconds
    refused = _refused(run)
    found = list(_tmp(run, now))
    for sid in sorted(run.committed()):
        commit, since = run.commit(sid), run.store.mtime(commit_name(sid))
        if commit is None or since is None or now - since <= patience or _worked_at(run, commit, now):
            continue
        named = {part.path for part in commit.files} | refused.get(sid, set())
        found += [entry for entry in _parts(run, sid) if entry.name not in named and now - entry.mtime > patience]
    return found


def clear(run: HandoffRun, found: list[Entry]) -> None:
    """Remove what :func:`garbage` found; what is gone meanwhile is no matter."""
    for entry in found:
        run.store.remove(entry.name)
        reach("handoff/gc")


def _refused(run: HandoffRun) -> dict[str, set[str]]:
    """Shard -> parts that refused commits name."""
    named: dict[str, set[str]] = {}
    for name in run.store.list("quarantine"):
        data = run.store.read(f"quarantine/{name}")
        if data is not None:
            commit = Quarantined.model_validate_json(data).commit
            named.setdefault(commit.shard, set()).update(part.path for part in commit.files)
    return named


def _worked_at(run: HandoffRun, commit: Commit, now: float) -> bool:
    """Whether another attempt than the winner holds a lease: it may adopt what lies there, should the commit be refused."""
    later = [attempt for attempt in run.attempts(commit.shard) if attempt != commit.attempt]
    return any(is_live(run, commit.shard, attempt, now) for attempt in later)


def _parts(run: HandoffRun, sid: str) -> Iterator[Entry]:
    for room in ("out", "superseded"):
        for attempt in run.store.list(f"{room}/{sid}"):
            folder = f"{room}/{sid}/{attempt}"
            yield from (Entry(f"{folder}/{entry.name}", entry.size, entry.mtime) for entry in run.store.entries(folder))


def _tmp(run: HandoffRun, now: float) -> Iterator[Entry]:
    patience = max(TMP_SECONDS, 2 * run.plan.lease_seconds)
    for entry in run.store.entries(".tmp"):
        if now - entry.mtime > patience:
            yield Entry(f".tmp/{entry.name}", entry.size, entry.mtime)
