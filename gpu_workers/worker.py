"""The loop of one worker: claim a shard, work it, until nothing is open or it is asked to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from gpu_workers.errors import EXIT_DEAD_LETTERS, EXIT_DRAINED, EXIT_STOPPED
from gpu_workers.lease import Lease, fruitless, is_live
from gpu_workers.log import Log, report
from gpu_workers.programs.program import Program, describe
from gpu_workers.shard import ShardWork
from schemas.errors import VerilakeError
from schemas.handoff import Beat, DeadLetter
from schemas.ids import content_id
from udfs.store.run import HandoffRun, commit_name, dead_name, to_bytes

#: What may go wrong around the engine on one shard without being the end of the worker: the shard's files, the disk.
SHARD_ERRORS = (VerilakeError, OSError)


@dataclass
class Worker:
    """One worker in one run.

    Attributes:
        run: the planned run.
        program: what is done with items, its engine loaded.
        worker_id: name in claims, commits and rows.
        log: structured log.
        asked_to_stop: True once a signal arrived.
        poll_seconds: pause while other workers hold all open shards, or while ``control/pause`` is there.
    """

    run: HandoffRun
    program: Program
    worker_id: str
    log: Log
    asked_to_stop: Callable[[], bool]
    poll_seconds: float = 0.5

    def drain(self) -> int:
        """Work until every shard has a commit or a dead letter; returns the exit code."""
        while not self.stopping():
            if self.run.store.exists("control/pause"):
                time.sleep(self.poll_seconds)
                continue
            open_shards = self._open_shards()
            if not open_shards:
                return EXIT_DEAD_LETTERS if self.run.dead() else EXIT_DRAINED
            lease, exhausted = self._claim_one(open_shards)
            if lease is not None:
                self._work(lease, exhausted)
            elif self._open_shards():
                time.sleep(min(self.poll_seconds, self.run.plan.lease_seconds / 4))
        return EXIT_STOPPED

    def stopping(self) -> bool:
        """Asked by signal or by ``control/stop``."""
        return self.asked_to_stop() or self.run.store.exists("control/stop")

    def _open_shards(self) -> list[str]:
        """Shards that have neither a commit nor a dead letter, in an order of this worker's own, so that workers do not collide."""
        ended = self.run.committed() | self.run.dead()
        return sorted((sid for sid in self.run.plan.shards if sid not in ended), key=lambda sid: content_id(self.worker_id, sid))

    def _claim_one(self, open_shards: list[str]) -> tuple[Lease | None, bool]:
        """A lease on one of the shards, and whether its attempts are exhausted; no lease where others hold them all."""
        now = self.run.store.now()
        for sid in open_shards:
            attempts = self.run.attempts(sid)
            if attempts and is_live(self.run, sid, attempts[-1], now):
                continue
            lost = len(fruitless(self.run, sid, attempts))
            if lost >= 2 * self.run.plan.max_attempts:  # not even giving up succeeds
                self._write_letter(sid, attempts)
                continue
            lease = Lease.claim(self.run, sid, (attempts[-1] if attempts else 0) + 1, self.worker_id)
            if lease is not None:
                return lease, lost >= self.run.plan.max_attempts
        return None, False

    def _work(self, lease: Lease, exhausted: bool) -> None:
        self.log.event("claimed", shard=lease.sid, attempt=lease.attempt, exhausted=exhausted)
        if self.run.store.exists(commit_name(lease.sid)):  # it was committed between the survey and the claim
            lease.end("released", "already committed")
            return
        shard = ShardWork(lease, self.program, self.worker_id, self.log, self.stopping)
        before = [attempt for attempt in self.run.attempts(lease.sid) if attempt < lease.attempt]
        try:
            outcome = shard.give_up(*self._why(lease.sid, before)) if exhausted else shard.work()
        except SHARD_ERRORS as error:
            lease.end("failed", describe(error))
            self.log.event("shard_failed", level="error", shard=lease.sid, attempt=lease.attempt, reason=describe(error))
            return
        lease.end("released" if outcome == "released" else "working")
        self.log.event(outcome, shard=lease.sid, attempt=lease.attempt)
        if outcome == "committed":
            if exhausted:
                self._write_letter(lease.sid, before)
            self._report("committed", lease.sid)

    def _why(self, sid: str, attempts: list[int]) -> tuple[str, str]:
        """Failure class and reason of a shard that got no further."""
        last = self._last_beat(sid, attempts)
        if attempts[-1] in self.run.quarantined(sid):
            return "malformed", "the ingester refused every commit; see quarantine/"
        if last is not None and last.state == "failed":
            return "engine_error", last.reason or "the attempt failed"
        return "engine_dead", "the process died" + (f" with {', '.join(last.in_flight)} in flight" if last and last.in_flight else "")

    def _last_beat(self, sid: str, attempts: list[int]) -> Beat | None:
        beats = [self.run.beat(sid, attempt) for attempt in attempts]
        return next((beat for beat in reversed(beats) if beat is not None), None)

    def _write_letter(self, sid: str, attempts: list[int]) -> None:
        failure_class, reason = self._why(sid, attempts)
        last = self._last_beat(sid, attempts)
        in_flight = last.in_flight if last is not None else ()
        letter = DeadLetter(shard=sid, attempts=len(attempts), failure_class=failure_class, reason=reason, in_flight=in_flight)
        if self.run.store.create_if_absent(dead_name(sid), to_bytes(letter)):
            self.log.event("dead_letter", level="error", shard=sid, failure_class=failure_class, reason=reason)
            self._report("dead_letter", sid)

    def _report(self, event: str, sid: str) -> None:
        """Progress for the process that started this one."""
        commit = self.run.commit(sid)
        ended = len(self.run.committed() | self.run.dead())
        report(
            event,
            run_id=self.run.plan.run_id,
            shard=sid,
            worker_id=self.worker_id,
            rows=commit.rows if commit is not None else 0,
            failures=commit.failures if commit is not None else {},
            ended=ended,
            total=len(self.run.plan.shards),
        )
