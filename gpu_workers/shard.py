"""One attempt at one shard: adopt what earlier attempts finished, generate the rest part by part, commit."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from gpu_workers.control import Admitted, Control
from gpu_workers.lease import Lease
from gpu_workers.log import Log
from gpu_workers.programs.program import Finished, Item, Origin, Program, Row
from schemas.handoff import ITEM_KEYS, Commit, PartFile
from udfs.killpoints import reach
from udfs.store.leases import deaths
from udfs.store.parts import expected_rows, failures_of, judge_rows, named_part, read_part, write_part
from udfs.store.run import commit_name, out_folder, superseded_folder, to_bytes

#: A part holds at most this many items, and at most a quarter of its shard: what a death may cost.
MAX_PART_ITEMS = 256
#: What is finished is written down after so many seconds at the latest, be it few.
FLUSH_SECONDS = 60.0
#: Suspects are tried in so many groups: a further death costs an engine's start, so that it should narrow them more than by half.
GROUPS = 8

Outcome = Literal["committed", "lost", "released"]


@dataclass
class _Delivery:
    """What this attempt has so far."""

    files: list[PartFile] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    rows: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    def add(self, part: PartFile, keys: set[str], failures: dict[str, int]) -> None:
        self.files.append(part)
        self.keys |= keys
        self.rows += part.rows
        self.failures.update(failures)


class ShardWork:
    """Works one claimed attempt to its end."""

    def __init__(self, lease: Lease, program: Program, worker_id: str, log: Log, control: Control) -> None:
        self._lease, self._program, self._log, self._control = lease, program, log, control
        self._run, self._sid = lease.run, lease.sid
        self._key = ITEM_KEYS[lease.run.plan.program]
        self._origin = Origin(worker_id, lease.attempt, lease.sid)
        self._delivery = _Delivery()
        self._buffer: list[Finished] = []
        self._flushed = 0
        self._flushed_at = time.monotonic()
        self._part_items = MAX_PART_ITEMS

    def work(self) -> Outcome:
        """Bring the shard to a commit.

        Returns:
            ``committed``; ``lost`` where another attempt committed first; ``released`` where the worker was asked to stop.

        Raises:
            RunError: the shard's file cannot be read.
            EngineDeadError: the engine cannot go on; what was finished is kept in a part.
        """
        items = self._open_items()
        history = deaths(self._run, self._sid, self._earlier())
        poison = history.poison()
        self._fail([item for item in items if item[self._key] in poison], "poison", f"alone in flight when {history.enough} attempts died")
        items = [item for item in items if item[self._key] not in poison]
        suspects = history.suspects(item[self._key] for item in items)
        named = {key for rank in suspects for key in rank}
        outcome = self._generate([item for item in items if item[self._key] not in named])
        for rank in suspects:
            outcome = outcome or self._apart([item for item in items if item[self._key] in rank])
        if outcome is not None:
            return outcome
        if (wanted := self._control.retired()) is not None:
            reason = f"policy version {self._run.plan.policy_version} is below control/min_policy_version {wanted}"
            self._fail([item for item in items if item[self._key] not in self._delivery.keys], "aborted", reason)
        self._flush()
        return self._commit()

    def give_up(self, failure_class: str, reason: str) -> Outcome:
        """Commit what earlier attempts finished, and every other item as failed, so that each is accounted for.

        Raises:
            RunError: the shard's file cannot be read.
        """
        self._fail(self._open_items(), failure_class, reason)
        self._flush()
        return self._commit()

    def _earlier(self) -> list[int]:
        return [attempt for attempt in self._run.attempts(self._sid) if attempt < self._lease.attempt]

    def _open_items(self) -> list[Item]:
        """Items that no proven part of an earlier attempt holds."""
        table = self._run.shard_items(self._sid)
        expected = expected_rows(self._run.plan, table)
        self._part_items = min(MAX_PART_ITEMS, max(1, -(-len(expected) // 4)))
        for attempt in self._earlier():
            self._adopt(attempt, expected)
        return [item for item in table.to_pylist() if item[self._key] not in self._delivery.keys]

    def _adopt(self, attempt: int, expected: dict[str, int]) -> None:
        """Take over proven parts of an earlier attempt that hold nothing that is already here."""
        store, plan = self._run.store, self._run.plan
        for name in store.list(out_folder(self._sid, attempt)):
            part = named_part(store, f"{out_folder(self._sid, attempt)}/{name}")
            table = None if part is None else read_part(store, plan, part)
            if part is None or not isinstance(table, pa.Table):
                self._log.event("part_not_adopted", level="warning", shard=self._sid, part=name, reason=table or "not readable")
                continue
            reason = judge_rows(plan, expected, table)
            keys = set(table.column(self._key).to_pylist())
            if reason is not None or keys & self._delivery.keys:
                self._log.event(
                    "part_not_adopted", level="warning", shard=self._sid, part=name, reason=reason or "its items are here already"
                )
                continue
            self._delivery.add(part, keys, failures_of(table))
            self._log.event("part_adopted", shard=self._sid, part=name, rows=part.rows, from_attempt=attempt)

    def _fail(self, items: list[Item], failure_class: str, reason: str) -> None:
        for item in items:
            finished = self._program.failed(item, self._origin, failure_class, reason)
            self._log.event("item_failed", level="error", shard=self._sid, item=finished.key, failure_class=failure_class, reason=reason)
            self._buffer.append(finished)

    def _apart(self, suspects: list[Item]) -> Outcome | None:
        """Try items that deaths point at in groups, each flushed before the next: the next death names one group."""
        size = max(1, len(suspects) // GROUPS)
        self._log.event("suspects_apart", level="warning", shard=self._sid, items=len(suspects), at_once=size)
        for begin in range(0, len(suspects), size):
            group = suspects[begin : begin + size]
            if self._control.retired() is None:
                self._lease.begun([item[self._key] for item in group])  # where the program itself dies before it names them
            if (outcome := self._generate(group)) is not None:
                return outcome
        return None

    def _generate(self, items: Sequence[Item]) -> Outcome | None:
        admitted = Admitted(items, lambda: self._control.retired() is not None)
        try:
            for finished in self._program.generate(admitted, self._origin, self._begun):
                self._buffer.append(finished)
                self._lease.tick()
                if len(self._buffer) >= self._part_items or time.monotonic() - self._flushed_at >= FLUSH_SECONDS:
                    self._flush()
                    if self._run.store.exists(commit_name(self._sid)):
                        return self._lose()
                if self._control.stop():
                    self._flush()
                    return "released"
        except BaseException:
            with suppress(OSError):  # a full disk must not hide what it caused
                self._flush()
            raise
        self._flush()
        return None

    def _begun(self, keys: Sequence[str]) -> None:
        """A program that tells what is in flight has got on."""
        self._lease.tick()
        self._lease.begun(keys)

    def _flush(self) -> None:
        if not self._buffer:
            return
        rows: list[Row] = [row for finished in self._buffer for row in finished.rows]
        folder = out_folder(self._sid, self._lease.attempt)
        reach("before_part")
        part = write_part(self._run.store, self._run.plan.program, folder, self._flushed, rows)
        failures = Counter(row["failure_class"] for row in rows if row["failure_class"] is not None)
        keys = {finished.key for finished in self._buffer}
        self._delivery.add(part, keys, failures)
        self._flushed += 1
        self._buffer = []
        self._flushed_at = time.monotonic()
        self._lease.done(len(self._delivery.keys), keys)
        reach("part_flushed")

    def _commit(self) -> Outcome:
        delivery = self._delivery
        commit = Commit(
            shard=self._sid,
            attempt=self._lease.attempt,
            worker_id=self._origin.worker_id,
            files=tuple(delivery.files),
            rows=delivery.rows,
            failures=dict(sorted(delivery.failures.items())),
        )
        reach("before_commit")
        if not self._run.store.create_if_absent(commit_name(self._sid), to_bytes(commit)):
            return self._lose()
        reach("after_commit")
        self._log.event("committed", shard=self._sid, attempt=commit.attempt, rows=commit.rows, failures=commit.failures)
        return "committed"

    def _lose(self) -> Outcome:
        """Another attempt committed first: put this attempt's files aside, except those that the winner adopted."""
        winner = self._run.commit(self._sid)
        adopted = {part.path for part in winner.files} if winner is not None else set()
        folder, aside = out_folder(self._sid, self._lease.attempt), superseded_folder(self._sid, self._lease.attempt)
        for name in self._run.store.list(folder):
            if f"{folder}/{name}" not in adopted:
                self._run.store.move(f"{folder}/{name}", f"{aside}/{name}")
        self._log.event("superseded", shard=self._sid, attempt=self._lease.attempt, winner=winner.attempt if winner else None)
        return "lost"
