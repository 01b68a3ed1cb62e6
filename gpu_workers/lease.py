"""The lease of one attempt at a shard, and the sign of life that keeps it (G§3.1-2).

A lease saves work and guards nothing: a paused worker may come back after its lease was taken. Safety lies in the commit,
of which the first one wins.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Sequence

from schemas.handoff import Beat, Claim
from udfs.killpoints import reach
from udfs.store.leases import host_identity
from udfs.store.run import HandoffRun, beat_name, claim_name, to_bytes


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
        reach("before_claim")
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
        """All items that the engine has now; written at once, because the next thing may be death."""
        self._write(self._beat.model_copy(update={"in_flight": tuple(keys)}))
        for key in keys:
            reach(f"item={key}")

    def done(self, count: int, finished: Collection[str]) -> None:
        """``count`` items lie in parts by now, ``finished`` among them: no death is theirs any more."""
        left = tuple(key for key in self._beat.in_flight if key not in finished)
        self._write(self._beat.model_copy(update={"done": count, "in_flight": left}))

    def end(self, state: str = "working", reason: str | None = None, failure_class: str | None = None) -> None:
        """Stop renewing. ``released`` or ``failed`` frees the shard at once."""
        self._ended.set()
        self._thread.join()
        if state != "working":
            said = {"state": state, "reason": reason, "failure_class": failure_class}
            self._write(Beat.model_validate({**self._beat.model_dump(), **said}))

    def _renew(self) -> None:
        # Four chances within one lease, so that one slow write does not lose it.
        while not self._ended.wait(self.run.plan.lease_seconds / 4):
            if self._moved:
                self._moved = False
                try:
                    self._write(self._beat)
                except OSError:  # a full disk, a server that is away: the next chance, and the worker's own writes, tell
                    self._moved = True

    def _write(self, beat: Beat) -> None:
        with self._lock:
            self._beat = beat
            self.run.store.put(beat_name(self.sid, self.attempt), to_bytes(beat), durable=False)
