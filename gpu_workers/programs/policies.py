"""Newer weights of a run that follows its trainer: ``policy/<version>/`` beside the plan, each with a file READY, written last."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from schemas.handoff import RunPlan
from udfs.store.run import HandoffRun

FOLDER, READY = "policy", "READY"
#: Setting of a plan whose workers take newer weights as they come.
FOLLOW = "follow_policy"
#: Seconds between two looks.
EVERY = 2.0


@dataclass(frozen=True)
class Policy:
    """Weights.

    Attributes:
        policy_id: the checkpoint.
        version: ordinal of its weights.
        folder: where they lie on this machine; None: those that the engine was started with.
    """

    policy_id: str
    version: int
    folder: Path | None = None


class Policies:
    """The weights that a run's next group is to be drawn by."""

    def __init__(self, run: HandoffRun) -> None:
        self._run = run
        self._follows = follows(run)
        self._looked = -EVERY

    def newer(self, current: Policy) -> Policy | None:
        """The newest complete weights, where they are newer than ``current``; the store is asked now and then."""
        now = time.monotonic()
        if not self._follows or now - self._looked < EVERY:
            return None
        self._looked = now
        version = max(ready_versions(self._run), default=current.version)
        if version <= current.version:
            return None
        ident = self._ready(version)
        return None if ident is None else Policy(ident, version, self._run.policy_folder(f"{FOLDER}/{version}"))

    def _ready(self, version: int) -> str | None:
        """The id in READY; None where it is not there yet, or says nothing."""
        data = self._run.store.read(f"{FOLDER}/{version}/{READY}")
        if data is None:
            return None
        try:
            ident = json.loads(data)["policy_id"]
        except (ValueError, LookupError, TypeError):
            return None
        return ident if isinstance(ident, str) and ident else None


def follows(run: HandoffRun) -> bool:
    """Whether the run's workers take newer weights as they come."""
    return bool(run.plan.settings.get(FOLLOW, False))


def ready_versions(run: HandoffRun) -> list[int]:
    """Ordinals of the run's newer weights that are complete."""
    named = (name for name in run.store.list(FOLDER) if name.isascii() and name.isdigit())
    return [int(name) for name in named if run.store.exists(f"{FOLDER}/{name}/{READY}")]


def first_policy(plan: RunPlan) -> Policy:
    """The weights that the plan names."""
    return Policy(plan.policy_id or "", plan.policy_version)
