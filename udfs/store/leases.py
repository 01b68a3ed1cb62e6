"""What files tell about leases: who is alive, which attempts came to nothing, and which items deaths point at (G§3.1-2, poison).

Workers decide by it who may claim what; the jobs' side shows and clears by it.
"""

from __future__ import annotations

import os
import socket
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from schemas.handoff import Beat
from udfs.store.run import HandoffRun, beat_name, claim_name, out_folder, superseded_folder


def host_identity() -> str:
    """Host, boot and process-id namespace: within one such identity a process id can be asked whether it lives."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()[:8]
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:  # not Linux: the host's name has to do
        boot = namespace = "?"
    return f"{socket.gethostname()}#{boot}#{namespace}"


def _alive(pid: int) -> bool:
    """Whether a process of this identity exists; a reused id errs towards waiting for the lease."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _paused(pid: int) -> bool:
    """Whether a process is stopped by a signal; where nobody can tell (not Linux), it is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[0] in "Tt"
    except (OSError, IndexError):
        return False


def last_sign(run: HandoffRun, sid: str, attempt: int) -> float | None:
    """When the attempt last showed life, by the store's clock (seconds)."""
    signs = [t for t in (run.store.mtime(beat_name(sid, attempt)), run.store.mtime(claim_name(sid, attempt))) if t is not None]
    return max(signs, default=None)


def is_live(run: HandoffRun, sid: str, attempt: int, now: float) -> bool:
    """Whether an attempt holds its lease at ``now`` (the store's clock, seconds).

    A sign that lies further in the future than a lease is long is as dead as one so far in the past: the clock was set back, and who
    is alive writes another sign soon.
    """
    beat = run.beat(sid, attempt)
    if beat is not None and beat.state != "working":
        return False
    claim = run.claim(sid, attempt)
    if claim is not None and claim.host == host_identity() and not _alive(claim.pid):
        return False
    sign = last_sign(run, sid, attempt)
    # An attempt that was refused has ended, whoever lives: its shard waits for nobody.
    return sign is not None and abs(now - sign) <= run.plan.lease_seconds and attempt not in run.quarantined(sid)


def was_released(beat: Beat | None) -> bool:
    """Whether the attempt gave its lease back unasked-for: it does not count as a failure."""
    return beat is not None and beat.state == "released"


@dataclass
class Deaths:
    """Which items were in flight when attempts at a shard died.

    One item alone in flight in ``enough`` deaths is poison. Items in flight in two deaths together with others, or all of them where
    two deaths named none, are suspects: tried apart from the rest, in groups smaller than before, each further death tells more.
    """

    enough: int = 2
    named: Counter[str] = field(default_factory=Counter)
    alone: Counter[str] = field(default_factory=Counter)
    unnamed: int = 0

    def add(self, in_flight: Sequence[str]) -> None:
        """Another death, with these items in flight."""
        self.named.update(in_flight)
        if len(in_flight) == 1:
            self.alone.update(in_flight)
        self.unnamed += not in_flight

    def poison(self) -> set[str]:
        """Items that are to blame."""
        return {key for key, number in self.alone.items() if number >= self.enough}

    def suspects(self, keys: Iterable[str]) -> list[list[str]]:
        """Those of ``keys`` that are to be tried apart, by how many deaths point at them, the least suspect first."""
        ranks: dict[int, list[str]] = {}
        for key in keys:
            if self.unnamed + self.named[key] >= 2:
                ranks.setdefault(self.named[key], []).append(key)
        return [ranks[rank] for rank in sorted(ranks)]

    def tell_more_with(self, in_flight: Collection[str]) -> bool:
        """Whether one more death, with these in flight, tells something: it makes poison or suspects, or splits those of one rank.

        Each can happen only so often as there are items, so that a shard cannot be attempted for ever.
        """
        ranks = {self.named[key] for key in in_flight}
        if len(in_flight) == 1 and self.alone[next(iter(in_flight))] == self.enough - 1:
            return True
        if any(self.unnamed + rank == 1 for rank in ranks):
            return True
        if len(ranks) != 1 or self.unnamed + min(ranks) < 2:
            return False
        return min(ranks) == 0 or set(in_flight) < {key for key, rank in self.named.items() if rank in ranks}


def enough_deaths(run: HandoffRun) -> int:
    """Deaths with an item alone in flight that make it poison: two by default, more where ``max_attempts`` allows for preemption."""
    return max(2, run.plan.max_attempts - 1)


def deaths(run: HandoffRun, sid: str, attempts: Sequence[int]) -> Deaths:
    """What the deaths among these ended attempts point at; one that was refused, or gave up on the shard's files, died of nothing."""
    found, refused = Deaths(enough_deaths(run)), run.quarantined(sid)
    for attempt in attempts:
        beat = run.beat(sid, attempt)
        if attempt not in refused and _died(run, sid, attempt, beat):
            found.add(beat.in_flight if beat is not None else ())
    return found


def _died(run: HandoffRun, sid: str, attempt: int, beat: Beat | None) -> bool:
    """Whether the process died or hung at work, as far as anyone can tell: one of this host that is paused, or beats again, did not."""
    if beat is not None and beat.state != "working":
        return beat.state == "failed" and bool(beat.in_flight)
    claim = run.claim(sid, attempt)
    if claim is None or claim.host != host_identity() or not _alive(claim.pid):
        return True
    return not _paused(claim.pid) and not is_live(run, sid, attempt, run.store.now())


def fruitless(run: HandoffRun, sid: str, attempts: Sequence[int]) -> list[int]:
    """Ended attempts that brought the shard no further, or were refused by the ingester.

    A finished part is progress, and so is a death that tells more of which item is to blame; a released attempt counts for nothing.
    A worker that is preempted again and again but leaves a part each time gets on; only standing still uses up attempts.
    """
    refused, seen, lost = run.quarantined(sid), Deaths(enough_deaths(run)), []
    for attempt in attempts:
        beat = run.beat(sid, attempt)
        if was_released(beat) and attempt not in refused:
            continue
        in_flight = beat.in_flight if beat is not None else ()
        parts = run.store.list(out_folder(sid, attempt)) or run.store.list(superseded_folder(sid, attempt))
        if attempt in refused or not (parts or seen.tell_more_with(in_flight)):
            lost.append(attempt)
        if attempt not in refused and _died(run, sid, attempt, beat):
            seen.add(in_flight)
    return lost
