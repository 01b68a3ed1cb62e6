"""The rounds side by side: what the ledger, the tables and the pins say of each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from jobs.publish.history import TAG, History
from jobs.report.solve import Rate, rates_by_round
from jobs.views.reader import LakeReader, alias
from jobs.workspace import Workspace
from schemas.errors import VerilakeError
from schemas.gold.alerts import ALERTS
from schemas.gold.preferences import PREFERENCES
from schemas.gold.repair_queue import REPAIR_QUEUE
from schemas.gold.round_metrics import ROUND_METRICS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.sft import SFT
from schemas.ops.rounds import ROUNDS
from schemas.publication import Pin, pin_name
from schemas.silver.task_stats import TASK_STATS
from schemas.table import Table

#: Figures of gold.round_metrics over a whole round.
_OF_ROUND = ("accepted_share", "flagged_share", "null_reward_share", "rejected_share", "samples")


@dataclass(frozen=True)
class RoundFacts:
    """One round in one line.

    Attributes:
        closed_at: by the ledger; None where it has lost the round.
        rates: solve rates by part of the plan.
        figures: shares over all samples of the round, and their number, by the names of gold.round_metrics.
        counts: rows of the plan (prompts, tasks) and of what went out (sft, preferences, repairs, alerts).
        pin: its publication, None where there is none.
        commit: of the newest round's tag.
        pin_fault: why a pin that lies there could not be read.
    """

    round: int
    policy_id: str
    closed_at: datetime | None
    rates: dict[str, Rate]
    figures: dict[str, float | None]
    counts: dict[str, int]
    pin: Pin | None
    commit: str | None
    pin_fault: str | None = None

    @property
    def train(self) -> Rate | None:
        """Training prompts."""
        return self.rates.get("train")

    @property
    def held_out(self) -> Rate | None:
        """The fixed held-out set: the same prompts in every round."""
        return self.rates.get("eval_fixed")


def closed_rounds(reader: LakeReader) -> list[int]:
    """Rounds that feedback has closed, in order; from silver.task_stats where the ledger is gone."""
    found = reader.select(f"SELECT DISTINCT round FROM {alias(ROUNDS)} WHERE state = 'closed' ORDER BY round", ROUNDS)
    if not found:
        found = reader.select(f"SELECT DISTINCT round FROM {alias(TASK_STATS)} ORDER BY round", TASK_STATS)
    return [row["round"] for row in found]


def read_rounds(workspace: Workspace, reader: LakeReader, last: int) -> list[RoundFacts]:
    """All closed rounds up to ``last``, in order."""
    rates, figures, counts = rates_by_round(reader, last), _figures(reader, last), _counts(reader, last)
    newest = _ledger(reader)
    plans = {
        row["round"]: row
        for row in reader.select(
            f"SELECT round, min(policy_id) AS policy_id FROM {alias(ROUND_PLAN)} WHERE round <= {int(last)} GROUP BY round", ROUND_PLAN
        )
    }
    out = []
    for number in closed_rounds(reader):
        if number > last:
            break
        closed = newest.get((number, "closed"), {})
        pin, fault = _pin(workspace.root / pin_name(number))
        out.append(
            RoundFacts(
                round=number, policy_id=closed.get("policy_id") or plans.get(number, {}).get("policy_id") or "", closed_at=closed.get("at"),
                rates=rates.get(number, {}), figures=figures.get(number, {}), counts=counts.get(number, {}), pin=pin,
                commit=_commit(workspace, pin) if number == last else None, pin_fault=fault,
            )
        )  # fmt: skip
    return out


def _ledger(reader: LakeReader) -> dict[tuple[int, str], dict[str, Any]]:
    """The newest event of each round and state; events come in order of time."""
    return {(event["round"], event["state"]): event for event in reader.events(ROUNDS)}


def _commit(workspace: Workspace, pin: Pin | None) -> str | None:
    """The commit of the pin's tag; None where the workspace's history has no such tag (or none that git takes for one)."""
    if pin is None or not TAG.fullmatch(pin.tag):
        return None
    try:
        return History(workspace.root).resolve(f"refs/tags/{pin.tag}")
    except VerilakeError:
        return None


def _pin(path: Path) -> tuple[Pin | None, str | None]:
    """The publication of a round. A damaged pin is named on the page: a report must not be lost for it."""
    try:
        return Pin.model_validate_json(path.read_bytes()), None
    except FileNotFoundError:
        return None, None
    except (OSError, ValidationError) as error:
        return None, f"pins/{path.name} cannot be read: {str(error).splitlines()[0]}"


def _figures(reader: LakeReader, last: int) -> dict[int, dict[str, float | None]]:
    names = ", ".join(f"'{name}'" for name in _OF_ROUND)
    sql = f"SELECT round, name, value FROM {alias(ROUND_METRICS)} WHERE round <= {int(last)} AND slice_kind = 'all' AND name IN ({names})"
    out: dict[int, dict[str, float | None]] = {}
    for row in reader.select(sql, ROUND_METRICS):
        out.setdefault(row["round"], {})[row["name"]] = row["value"]
    return out


def _counts(reader: LakeReader, last: int) -> dict[int, dict[str, int]]:
    """Rows by round. A round without a row of a kind has none of it: closed rounds have all their slices."""
    out: dict[int, dict[str, int]] = {}
    tables: tuple[tuple[str, Table], ...] = (
        ("sft", SFT), ("preferences", PREFERENCES), ("repairs", REPAIR_QUEUE), ("alerts", ALERTS), ("prompts", ROUND_PLAN),
    )  # fmt: skip
    for what, table in tables:
        for number, n in _rows(reader, table).items():
            out.setdefault(number, {})[what] = n
    sql = f"SELECT round, count(DISTINCT task_id) AS n FROM {alias(ROUND_PLAN)} WHERE round <= {int(last)} GROUP BY round"
    for row in reader.select(sql, ROUND_PLAN):
        out.setdefault(row["round"], {})["tasks"] = row["n"]
    return out


def _rows(reader: LakeReader, table: Table) -> dict[int, int]:
    """Rows by round from the log alone: no file of a hundred rounds is opened to be counted. Gold tables hold no deletion vectors."""
    delta = reader.delta(table)
    if delta is None:
        return {}
    added = pa.RecordBatchReader.from_stream(delta.get_add_actions(flatten=True)).read_all()
    out: dict[int, int] = {}
    if added.num_rows:
        for number, n in zip(added["partition.round"].to_pylist(), added["num_records"].to_pylist(), strict=True):
            out[int(number)] = out.get(int(number), 0) + int(n)
    return out
