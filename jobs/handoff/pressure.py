"""Back-pressure and staleness as a query: how many samples may still be laid before the trainer must catch up (G§3).

The bound is that of asynchronous training: a sample laid now is consumed no later than ``max_staleness`` versions ahead, if

    open <= (max_staleness + version + 1) * batch - (ingested + leased)

holds, all in samples of role train. Everything is counted from the tables and the hand-off's files each time: after a crash nothing
begins at zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from jobs.handoff.runs import planned_runs
from jobs.lake.layout import Lake
from jobs.views.reader import LakeReader, NoLakeError, alias
from jobs.workspace import Workspace
from schemas.bronze.rollouts import ROLLOUTS
from schemas.conf import Handoff
from schemas.errors import VerilakeError
from schemas.gold.round_plan import ROUND_PLAN
from udfs.reader.checkpoint import WEIGHTS_FILE, Checkpoint
from udfs.store.run import HandoffRun

#: Programs whose rows a trainer consumes.
TRAINED_ON = ("rollout", "agent")


class BackPressureError(VerilakeError):
    """The trainer is too far behind: laying more would make samples staler than the bound allows."""

    exit_code = 4

    @classmethod
    def from_room(cls, round_no: int, wanted: int, pressure: Pressure) -> BackPressureError:
        """What is wanted, and what there is room for."""
        return cls(
            f"round {round_no}: {wanted} train samples planned, room for {max(0, pressure.room)} "
            f"((max_staleness {pressure.max_staleness} + version {pressure.version} + 1) x batch {pressure.batch} = {pressure.capacity}, of which "
            f"{pressure.ingested} are ingested, {pressure.leased} in work, {pressure.open} open). Run it again when the trainer has a newer checkpoint."
        )


@dataclass(frozen=True)
class Pressure:
    """Samples of role train, by where they are.

    Attributes:
        version: newest policy version of the workspace.
        max_staleness, batch: the configuration's; batch 0 says that nobody pulls.
        ingested: sound samples in bronze.rollouts.
        leased: in shards that are claimed or committed, and not ingested.
        open: in shards that nobody has begun.
    """

    version: int
    max_staleness: int
    batch: int
    ingested: int
    leased: int
    open: int

    @property
    def capacity(self) -> int:
        """Samples that may exist at this version."""
        return (self.max_staleness + self.version + 1) * self.batch

    @property
    def room(self) -> int:
        """Samples that may be laid now; negative where the bound is exceeded."""
        return self.capacity - (self.ingested + self.leased) - self.open


def measure(workspace: Workspace, conf: Handoff) -> Pressure:
    """Count; no JVM."""
    ingested, leased, outstanding = 0, 0, 0
    try:
        reader = LakeReader.open(workspace)
    except NoLakeError:
        return Pressure(newest_version(workspace), conf.max_staleness, conf.batch, 0, 0, 0)
    found = reader.select(
        f"SELECT count(*) AS n FROM {alias(ROLLOUTS)} r JOIN {alias(ROUND_PLAN)} p ON r.round = p.round AND r.prompt_id = p.prompt_id "
        "WHERE p.role = 'train' AND r.failure_class IS NULL",
        ROLLOUTS, ROUND_PLAN,
    )  # fmt: skip
    ingested = found[0]["n"] if found else 0
    for round_no, runs in _waiting(workspace, reader.lake).items():
        samples = planned_train_samples(reader, round_no)
        outstanding += samples
        leased += round(samples * _begun_share(runs))
    return Pressure(newest_version(workspace), conf.max_staleness, conf.batch, ingested, leased, outstanding - leased)


def planned_train_samples(reader: LakeReader, round_no: int) -> int:
    """Samples of role train that a round's plan asks for."""
    found = reader.select(
        f"SELECT coalesce(sum(n_samples), 0) AS n FROM {alias(ROUND_PLAN)} WHERE round = {round_no} AND role = 'train'", ROUND_PLAN
    )
    return int(found[0]["n"]) if found else 0


def hold_back(workspace: Workspace, conf: Handoff, round_no: int) -> None:
    """Refuse to lay a round that would make samples too stale; does nothing where nobody pulls.

    Raises:
        BackPressureError: there is no room.
    """
    if not conf.batch:
        return
    pressure, wanted = measure(workspace, conf), planned_train_samples(LakeReader.open(workspace), round_no)
    if wanted > pressure.room:
        raise BackPressureError.from_room(round_no, wanted, pressure)


def newest_version(workspace: Workspace) -> int:
    """The newest policy version below ``policies/``; 0 where there is none."""
    root = workspace.policies_root
    held = sorted(entry for entry in root.iterdir() if (entry / WEIGHTS_FILE).is_file()) if root.is_dir() else []
    return max((Checkpoint.load(entry).policy_version for entry in held), default=0)


def is_stale(policy_version: int, newest: int, conf: Handoff) -> bool:
    """Whether samples of a policy lie beyond the bound; never where nobody pulls."""
    return conf.batch > 0 and newest - policy_version > conf.max_staleness


def _waiting(workspace: Workspace, lake: Lake) -> dict[int, list[HandoffRun]]:
    """Rounds that are laid and not yet in bronze.rollouts, with their runs."""
    there, waiting = set(lake.slices(ROLLOUTS)), dict[int, list[HandoffRun]]()
    for run in _of(workspace.handoff_root):
        if run.plan.round is not None and str(run.plan.round) not in there:
            waiting.setdefault(run.plan.round, []).append(run)
    return waiting


def _of(handoff_root: Path) -> Iterable[HandoffRun]:
    return (run for program in TRAINED_ON for run in planned_runs(handoff_root / program))


def _begun_share(runs: list[HandoffRun]) -> float:
    total = sum(sum(run.plan.rows.values()) for run in runs)
    begun = sum(run.plan.rows.get(sid, 0) for run in runs for sid in run.store.list("claims"))
    return begun / total if total else 0.0
