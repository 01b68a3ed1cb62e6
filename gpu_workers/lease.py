"""Leases: who may work on a shard, and the sign of life that keeps it (G§3.1-2).

A lease saves work and guards nothing: a paused worker may come back after its lease was taken. Safety lies in the commit,
of which the first one wins.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Sequence
from pathlib import Path

from schemas.handoff import Beat, Claim
from udfs.killpoints import reach
from udfs.store.run import HandoffRun, beat_name, claim_name, out_folder, superseded_folder, to_bytes


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


def is_live(run: HandoffRun, sid: str, attempt: int, now: float) -> bool:
    """Whether an attempt holds its lease at ``now`` (the store's clock, seconds)."""
    beat = run.beat(sid, attempt)
    if beat is not None and beat.state != "working":
        return False
    claim = run.claim(sid, attempt)
    if claim is not None and claim.host == host_identity() and not _alive(claim.pid):
        return False
    signs = [t for t in (run.store.mtime(beat_name(sid, attempt)), run.store.mtime(claim_name(sid, attempt))) if t is not None]
    return bool(signs) and now - max(signs) <= run.plan.lease_seconds


def was_released(run: HandoffRun, sid: str, attempt: int) -> bool:
    """Whether the attempt gave its lease back unasked-for: it does not count as a failure."""
    beat = run.beat(sid, attempt)
    return beat is not None and beat.state == "released"


def fruitless(run: HandoffRun, sid: str, attempts: Sequence[int]) -> list[int]:
    """Ended attempts that brought the shard no further: neither released nor with a finished part, or refused by the ingester.

    A worker that is preempted again and again but leaves a part each time gets on; only standing still uses up attempts.
    """
    refused = run.quarantined(sid)
    lost = []
    for attempt in attempts:
        parts = run.store.list(out_folder(sid, attempt)) or run.store.list(superseded_folder(sid, attempt))
        if attempt in refused or not (parts or was_released(run, sid, attempt)):
            lost.append(attempt)
    return lost


def poisoned(run: HandoffRun, sid: str, attempts: Sequence[int]) -> set[str]:
    """Items that were in flight in at least two attempts that died, or gave up, at work."""
    seen: dict[str, int] = {}
    for attempt in attempts:
        beat = run.beat(sid, attempt)
        for key in beat.in_flight if beat is not None and beat.state != "released" else ():
            seen[key] = seen.get(key, 0) + 1
    return {key for key, deaths in seen.items() if deaths >= 2}


class Lease:
    """A claimed attempt. A thread renews it only while the engine gets on: a hung engine loses it."""

    def __init__(self, run: HandoffRun, sid: str, attempt: int) -> None:
        self.run, self.sid, self.attempt = run, sid, attempt
        self._lock = threading.Lock()
        self._beat = Beat(state="working", done=0)
        self._moved = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name=f"beat-{sid}", daemon=True)

    @classmethod
    def claim(cls, run: HandoffRun, sid: str, attempt: int, worker_id: str) -> Lease | None:
        """The lease of ``attempt``, None where another worker was first."""
        claim = Claim(shard=sid, attempt=attempt, worker_id=worker_id, host=host_identity(), pid=os.getpid())
        if not run.store.create_if_absent(claim_name(sid, attempt), to_bytes(claim)):
            return None
        reach("claimed")
        lease = cls(run, sid, attempt)
        lease._thread.start()
        return lease

    def tick(self) -> None:
        """The engine got on (a token, an item); costs nothing, the thread writes it down."""
        self._moved = True

    def begun(self, keys: Sequence[str]) -> None:
        """Items go to the engine now; written at once, because the next thing may be death."""
        self._write(self._beat.model_copy(update={"in_flight": tuple(keys)}))
        for key in keys:
            reach(f"item={key}")

    def done(self, count: int) -> None:
        """``count`` items are finished and lie in parts; nothing is in flight."""
        self._write(Beat(state="working", done=count))

    def end(self, state: str = "working", reason: str | None = None) -> None:
        """Stop renewing. ``released`` or ``failed`` frees the shard at once."""
        self._ended.set()
        self._thread.join()
        if state != "working":
            self._write(Beat.model_validate({"state": state, "done": self._beat.done, "in_flight": self._beat.in_flight, "reason": reason}))

    def _renew(self) -> None:
        # Four chances within one lease, so that one slow write does not lose it.
        while not self._ended.wait(self.run.plan.lease_seconds / 4):
            if self._moved:
                self._moved = False
                self._write(self._beat)

    def _write(self, beat: Beat) -> None:
        with self._lock:
            self._beat = beat
            self.run.store.put(beat_name(self.sid, self.attempt), to_bytes(beat), durable=False)
