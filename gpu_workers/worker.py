"""The loop of one worker: claim a shard, work it, until nothing is open or it is asked to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gpu_workers.control import Control
from gpu_workers.engines.engine import EngineDeadError, EngineHangError
from gpu_workers.errors import EXIT_DEAD_LETTERS, EXIT_DRAINED, EXIT_ENGINE_DEAD, EXIT_STOPPED
from gpu_workers.lease import Lease
from gpu_workers.log import Log, report
from gpu_workers.programs.program import Program, describe
from gpu_workers.shard import ShardWork
from schemas.errors import VerilakeError
from schemas.handoff import Beat, DeadLetter
from schemas.ids import content_id
from udfs.store.leases import fruitless, is_live
from udfs.store.run import HandoffRun, commit_name, dead_name, out_folder, to_bytes
from udfs.store.store import is_store_fault

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
        patience_seconds: so long a store may stay away (a full disk, a server that does not answer) before the worker ends.
    """

    run: HandoffRun
    program: Program
    worker_id: str
    log: Log
    asked_to_stop: Callable[[], bool]
    poll_seconds: float = 0.5
    patience_seconds: float = 600.0
    #: Leases of which the end could not be told, with state and reason; and since when the store is away.
    _unsaid: list[tuple[Lease, str, str]] = field(default_factory=list)
    _away_since: float | None = None
    _told_full: bool = False

    def __post_init__(self) -> None:
        self._control = Control(self.run, self.asked_to_stop, self.log)
        self._order = sorted(self.run.plan.shards, key=lambda sid: content_id(self.worker_id, sid))

    def drain(self) -> int:
        """Work until every shard has a commit or a dead letter; returns the exit code.

        Raises:
            OSError: the store stayed away for ``patience_seconds``.
        """
        while True:
            try:
                self._say()
                return self._drain()
            except OSError as error:
                now = time.monotonic()
                self._away_since = self._away_since or now
                away = now - self._away_since
                if not is_store_fault(error) or away > self.patience_seconds:
                    raise
                pause = min(30.0, max(self.poll_seconds, away / 2))
                self.log.event("store_fault", level="error", reason=describe(error), away_seconds=round(away, 1))
                if self._sleep_unless_stopped(pause):
                    return EXIT_STOPPED

    def _drain(self) -> int:
        while not self._control.stop():
            if self._control.pause():
                time.sleep(self.poll_seconds)
                continue
            open_shards = self._open_shards()
            if not open_shards:
                return EXIT_DEAD_LETTERS if self.run.dead() else EXIT_DRAINED
            lease, exhausted = self._claim_one(open_shards)
            if lease is not None:
                try:
                    self._work(lease, exhausted)
                except EngineDeadError:
                    return EXIT_ENGINE_DEAD
                self._away_since = None
            elif self._open_shards():
                time.sleep(min(self.poll_seconds, self.run.plan.lease_seconds / 4))
        return EXIT_STOPPED

    def _sleep_unless_stopped(self, seconds: float) -> bool:
        """Whether a signal asked to end meanwhile; ``control/`` cannot be asked, the store is away."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.asked_to_stop():
            time.sleep(min(0.1, seconds))
        return self.asked_to_stop()

    def _open_shards(self) -> list[str]:
        """Shards that have neither a commit nor a dead letter, in an order of this worker's own, so that workers do not collide."""
        ended = self.run.committed() | self.run.dead()
        return [sid for sid in self._order if sid not in ended]

    def _claim_one(self, open_shards: list[str]) -> tuple[Lease | None, bool]:
        """A lease on one of the shards, and whether its attempts are exhausted; no lease where others hold them all."""
        now = self.run.store.now()
        full = self._uncommitted_bytes(open_shards) > self.run.plan.max_uncommitted_bytes > 0
        for sid in open_shards:
            attempts = self.run.attempts(sid)
            if attempts and is_live(self.run, sid, attempts[-1], now):
                continue
            if full and not attempts:  # what was begun may always be finished: only that makes it less
                continue
            lost = len(fruitless(self.run, sid, attempts))
            if lost >= 2 * self.run.plan.max_attempts:  # not even giving up succeeds
                self._write_letter(sid, attempts)
                continue
            lease = Lease.claim(self.run, sid, (attempts[-1] if attempts else 0) + 1, self.worker_id)
            if lease is not None:
                return lease, lost >= self.run.plan.max_attempts
        if full and not self._told_full:
            self.log.event("back_pressure", level="warning", max_uncommitted_bytes=self.run.plan.max_uncommitted_bytes)
        self._told_full = full
        return None, False

    def _uncommitted_bytes(self, open_shards: list[str]) -> int:
        """Bytes in parts of shards without a commit; 0 where the plan sets no bound, for then nobody asks."""
        if not self.run.plan.max_uncommitted_bytes:
            return 0
        begun = set(self.run.store.list("out"))
        folders = [out_folder(sid, attempt) for sid in open_shards if sid in begun for attempt in self.run.attempts(sid)]
        return sum(entry.size for folder in folders for entry in self.run.store.entries(folder))

    def _work(self, lease: Lease, exhausted: bool) -> None:
        self.log.event("claimed", shard=lease.sid, attempt=lease.attempt, exhausted=exhausted)
        before = [attempt for attempt in self.run.attempts(lease.sid) if attempt < lease.attempt]
        shard = ShardWork(lease, self.program, self.worker_id, self.log, self._control)
        try:
            if self.run.store.exists(commit_name(lease.sid)):  # it was committed between the survey and the claim
                lease.end("released", "already committed")
                return
            outcome = shard.give_up(*self._why(lease.sid, before)) if exhausted else shard.work()
            # One that came second did not die either: no item is to blame.
            lease.end("working" if outcome == "committed" else "released")
        except EngineDeadError as error:
            self._engine_died(lease, error)
            raise
        except SHARD_ERRORS as error:
            # What a full disk or an absent server did is not the shard's doing: the attempt is given back.
            state = "released" if is_store_fault(error) else "failed"
            self.log.event(f"shard_{state}", level="error", shard=lease.sid, attempt=lease.attempt, reason=describe(error))
            self._unsaid.append((lease, state, describe(error)))
            self._say()
            if state == "released":
                raise
            return
        self.log.event(outcome, shard=lease.sid, attempt=lease.attempt)
        if outcome == "committed":
            if exhausted:
                self._write_letter(lease.sid, before)
            self._report("committed", lease.sid)

    def _engine_died(self, lease: Lease, error: EngineDeadError) -> None:
        failure_class = "engine_hang" if isinstance(error, EngineHangError) else "engine_dead"
        self.log.event("engine_died", level="error", shard=lease.sid, attempt=lease.attempt, reason=describe(error))
        lease.end("failed", describe(error), failure_class)

    def _say(self) -> None:
        """Tell how leases ended that could not be told while the store was away."""
        while self._unsaid:
            lease, state, reason = self._unsaid[0]
            lease.end(state, reason)
            self._unsaid.pop(0)

    def _why(self, sid: str, attempts: list[int]) -> tuple[str, str]:
        """Failure class and reason of a shard that got no further."""
        last = self._last_beat(sid, attempts)
        if attempts[-1] in self.run.quarantined(sid):
            return "malformed", "the ingester refused every commit; see quarantine/"
        if last is not None and last.state == "failed":
            return last.failure_class or "engine_error", last.reason or "the attempt failed"
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
