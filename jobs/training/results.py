"""What a training leaves: figures of its curve, and the bindings that say which replicas there are already."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from jobs.context import JobContext
from jobs.ledger import read_events
from schemas.ops.bindings import BINDINGS
from udfs.reader.checkpoint import WEIGHTS_FILE
from udfs.reader.grpo import StepFigures

#: Points of the training curve that a binding keeps.
_TENTHS = 10


def bound_replicas(ctx: JobContext, recipe: str) -> dict[int, tuple[str, dict[str, Any]]]:
    """Replica -> checkpoint and detail of its binding, of one recipe; only those whose weights lie in the workspace."""
    found: dict[int, tuple[str, dict[str, Any]]] = {}
    for row in sorted(read_events(ctx.lake, BINDINGS), key=lambda row: (row["at"], row["event_id"])):
        detail = json.loads(row["detail"])
        laid = (ctx.workspace.policies_root / row["checkpoint_id"] / WEIGHTS_FILE).is_file()
        if detail.get("recipe") == recipe and laid:
            found[int(detail["replica"])] = (row["checkpoint_id"], detail)
    return dict(sorted(found.items()))


def figures_of(curve: Sequence[StepFigures]) -> dict[str, float]:
    """Sums over a training curve, and the mean reward of its first and last tenth where they know one."""
    figures: dict[str, float] = {
        "steps": len(curve),
        "samples": sum(step.samples for step in curve),
        "unknown": sum(step.unknown for step in curve),
        "groups": sum(step.groups for step in curve),
        "groups_with_variance": sum(step.groups_with_variance for step in curve),
    }
    means = tenths(curve)
    if means and means[0] is not None and means[-1] is not None:
        figures |= {"mean_reward_first": means[0], "mean_reward_last": means[-1]}
    return figures


def tenths(curve: Sequence[StepFigures]) -> list[float | None]:
    """Mean reward of each tenth of the steps, to four places; None where no reward of it is known."""
    size = max(1, math.ceil(len(curve) / _TENTHS))
    parts = [curve[start : start + size] for start in range(0, len(curve), size)]
    return [_mean([step.mean_reward for step in part if step.mean_reward is not None]) for part in parts]


def _mean(values: Sequence[float]) -> float | None:
    return round(math.fsum(values) / len(values), 4) if values else None
