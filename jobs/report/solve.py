"""Solve rates by part of the plan, task type and prompt form, with intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from jobs.views.reader import LakeReader, alias
from schemas.gold.prompts import PROMPTS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.tasks import TASKS
from schemas.silver.task_stats import TASK_STATS
from schemas.table import Table
from udfs.stats.wilson import Clustered

#: Parts of a round that are broken down by task type and form, in this order; of others (collected failures, canaries) there are too few.
PARTS = {"train": "Training prompts", "eval_fixed": "Held-out, fixed set", "probe": "Probes"}
#: A held-out row belongs to the set that its reason names; other rows to their role.
_PART = "CASE WHEN p.role = 'eval' THEN p.why ELSE p.role END"
_SAMPLES = (
    "count(*) AS planned, sum(s.n) AS samples, sum(CAST(s.k AS BIGINT)) AS k, sum(CAST(s.n_valid AS BIGINT)) AS n, "
    "sum(CASE WHEN s.n_valid > 0 THEN 1 ELSE 0 END) AS prompts, sum(CASE WHEN s.k > 0 AND s.k < s.n_valid THEN 1 ELSE 0 END) AS mixed"
)
_SUMS = (
    "sum(planned) AS planned, sum(samples) AS samples, sum(prompts) AS prompts, sum(mixed) AS mixed, "
    "sum(CASE WHEN n > 0 THEN 1 ELSE 0 END) AS groups, sum(k) AS k, sum(n) AS n, sum(k * k) AS kk, sum(k * n) AS kn, sum(n * n) AS nn"
)
_FROM = f"FROM {alias(TASK_STATS)} s JOIN {alias(ROUND_PLAN)} p ON s.round = p.round AND s.prompt_id = p.prompt_id"
#: The unit of an interval: prompts on near-duplicate documents are one group; a task that is gone is one of its own.
_CLUSTER = f"LEFT JOIN {alias(TASKS)} c ON p.task_id = c.task_id AND p.task_version = c.version"


@dataclass(frozen=True)
class Rate:
    """Solve rate of some prompts.

    Attributes:
        planned: prompts, also those without a known sample.
        samples: samples drawn.
        known: sums over the samples with a known reward, by near-duplicate cluster.
        prompts: prompts with a known sample.
        mixed: prompts solved sometimes but not always: those that a group-relative trainer learns from.
    """

    planned: int
    samples: int
    known: Clustered
    prompts: int
    mixed: int

    @property
    def mixed_share(self) -> float | None:
        """``mixed`` of the prompts with a known sample."""
        return self.mixed / self.prompts if self.prompts else None


@dataclass(frozen=True)
class Slice:
    """A task type or a form, with the rate of each part of the plan that has one."""

    name: str
    rates: dict[str, Rate] = field(default_factory=dict)


def rates_by_round(reader: LakeReader, last: int) -> dict[int, dict[str, Rate]]:
    """Round -> part -> rate, for all rounds up to ``last``."""
    out: dict[int, dict[str, Rate]] = {}
    for row in _rows(reader, "s.round", f"s.round <= {int(last)}"):
        out.setdefault(row["slice"], {})[row["part"]] = _rate(row)
    return out


def rates_by_type(reader: LakeReader, round_no: int) -> list[Slice]:
    """One slice a task type."""
    return _slices(_rows(reader, "s.task_type", f"s.round = {int(round_no)}"))


def rates_by_form(reader: LakeReader, round_no: int) -> list[Slice]:
    """One slice a prompt form."""
    return _slices(_rows(reader, "f.form", f"s.round = {int(round_no)}", f"JOIN {alias(PROMPTS)} f ON s.prompt_id = f.prompt_id", PROMPTS))


def _rows(reader: LakeReader, by: str, where: str, join: str = "", *further: Table) -> list[dict[str, Any]]:
    """Sums by slice and part, over groups."""
    inner = (
        f"SELECT {by} AS slice, {_PART} AS part, coalesce(c.cluster_id, p.task_id) AS cluster, {_SAMPLES} "
        f"{_FROM} {_CLUSTER} {join} WHERE {where} GROUP BY 1, 2, 3"
    )
    sql = f"SELECT slice, part, {_SUMS} FROM ({inner}) GROUP BY 1, 2 ORDER BY 1, 2"
    return reader.select(sql, TASK_STATS, ROUND_PLAN, TASKS, *further)


def parts_of(slices: Iterable[Slice]) -> dict[str, str]:
    """The parts of :data:`PARTS` that occur, with their titles."""
    found = {part for item in slices for part in item.rates}
    return {part: PARTS[part] for part in PARTS if part in found}


def _slices(rows: list[dict[str, Any]]) -> list[Slice]:
    out: dict[str, Slice] = {}
    for row in (row for row in rows if row["part"] in PARTS):
        out.setdefault(row["slice"], Slice(row["slice"])).rates[row["part"]] = _rate(row)
    return list(out.values())


def _rate(row: dict[str, Any]) -> Rate:
    known = Clustered(*(int(row[name]) for name in ("groups", "k", "n", "kk", "kn", "nn")))
    return Rate(int(row["planned"]), int(row["samples"]), known, int(row["prompts"]), int(row["mixed"]))
