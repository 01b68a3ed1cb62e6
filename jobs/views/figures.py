"""Figures of one round by their names in conf/metrics.toml, read from the tables; needs no JVM.

They depend on nothing but rows, so that a pin may carry them; what depends on machines and the clock is in ``jobs.views.costs``.
Means are exactly rounded sums (``math.fsum``), counts are integers: no figure depends on the order in which rows are read.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jobs.views.reader import LakeReader, alias, literal
from jobs.views.vocabulary import sliced, vocabulary
from schemas.bronze.documents import DOCUMENTS
from schemas.bronze.rollouts import ROLLOUTS
from schemas.gold.alerts import ALERTS
from schemas.gold.preferences import PREFERENCES
from schemas.gold.prompts import PROMPTS
from schemas.gold.regression import REGRESSION
from schemas.gold.repair_queue import REPAIR_QUEUE
from schemas.gold.rl import RL
from schemas.gold.round_metrics import ROUND_METRICS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.sft import SFT
from schemas.gold.tasks import TASKS
from schemas.ops.job_runs import JOB_RUNS
from schemas.silver.documents import DOCUMENTS as SILVER_DOCUMENTS
from schemas.silver.qa import QA
from schemas.silver.task_stats import TASK_STATS
from schemas.table import Table

#: Metric -> figure of gold.round_metrics over all trajectories (groups, samples) of the round.
_QUALITY = {
    "quality/accepted_share": "accepted_share", "quality/flagged_share": "flagged_share", "quality/rejected_share": "rejected_share",
    "quality/trainable_share": "trainable_share", "quality/null_share": "null_reward_share", "quality/format_failure_share": "format_failures",
    "quality/duplicate_share": "duplicate_share", "quality/empty_share": "empty_share", "quality/copied_share": "copied_share",
    "quality/abnormal_length_share": "abnormal_length_share", "quality/truncated_share": "truncated_share",
    "quality/missing_share": "missing_samples", "quality/mean_length": "mean_length",
    "probe/open_book_failed_share": "probe_open_book_failed",
}  # fmt: skip
#: Held-out rows by the reason of their plan row; the other roles are one group each.
_EVAL = {"eval_fixed": "eval/fixed", "eval_collected": "eval/collected", "eval_fresh": "eval/fresh"}
_ROLES = {"train": "train", "probe": "probe"}
#: Metric -> table whose rows of the round are counted.
_ROWS: dict[str, Table] = {
    "funnel/planned_prompts": ROUND_PLAN, "funnel/rollouts": ROLLOUTS, "funnel/rl_rows": RL, "funnel/sft_rows": SFT,
    "funnel/preference_rows": PREFERENCES, "funnel/regression_rows": REGRESSION, "funnel/repair_rows": REPAIR_QUEUE, "quality/alerts": ALERTS,
}  # fmt: skip


@dataclass
class _Group:
    """Prompts of one part of a round: solve rates of those with a known reward, and counts."""

    rates: dict[str, list[float]]
    prompts: int = 0
    samples: int = 0
    unknown: int = 0

    def figures(self, name: str) -> dict[str, float | None]:
        """Figures of the part under ``name``."""
        by_type = {task_type: _mean(rates) for task_type, rates in self.rates.items()}
        return {
            f"{name}/solve_rate": _mean([rate for rates in self.rates.values() for rate in rates]),
            **sliced(f"{name}/solve_rate", by_type),
            f"{name}/prompts": self.prompts,
            f"{name}/samples": self.samples,
            f"{name}/unknown_prompts": self.unknown,
        }


def round_figures(reader: LakeReader, round_no: int) -> dict[str, float]:
    """Figures of a round that follow from its rows alone; what cannot be known is left out.

    Args:
        reader: tables of the lake.
        round_no: a round that is planned; figures of stations that it has not reached are missing.

    Returns:
        Name in ``conf/metrics.toml`` -> value, in order of the names; the same for every reader of the same rows.

    Raises:
        UnknownMetricError: a figure has no entry in the vocabulary.
    """
    found = {**_solve_rates(reader, round_no), **_quality(reader, round_no), **_pool(reader, round_no), **_rows(reader, round_no)}
    return vocabulary().checked(found)


def _solve_rates(reader: LakeReader, round_no: int) -> dict[str, float | None]:
    """Mean over prompts of k / n_valid, by role; held-out prompts by why they were planned."""
    sql = (
        "SELECT s.prompt_id, s.task_type, s.role, p.why, sum(s.n) AS n, sum(s.n_valid) AS n_valid, sum(s.k) AS k "
        f"FROM {alias(TASK_STATS)} s JOIN {alias(ROUND_PLAN)} p ON s.prompt_id = p.prompt_id "
        f"WHERE s.round = {int(round_no)} AND p.round = {int(round_no)} GROUP BY s.prompt_id, s.task_type, s.role, p.why"
    )
    groups: dict[str, _Group] = {}
    for row in reader.select(sql, TASK_STATS, ROUND_PLAN):
        name = _EVAL.get(row["why"]) if row["role"] == "eval" else _ROLES.get(row["role"])
        if name is None:
            continue
        group = groups.setdefault(name, _Group(defaultdict(list)))
        group.prompts += 1
        group.samples += int(row["n"])
        if row["n_valid"]:
            group.rates[row["task_type"]].append(row["k"] / row["n_valid"])
        else:
            group.unknown += 1
    return {name: value for prefix, group in groups.items() for name, value in group.figures(prefix).items()}


def _mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _quality(reader: LakeReader, round_no: int) -> dict[str, float | None]:
    sql = (
        f"SELECT name, slice_kind, slice, numerator, denominator FROM {alias(ROUND_METRICS)} "
        f"WHERE round = {int(round_no)} AND slice_kind IN ('all', 'role', 'task_type')"
    )
    held = {(r["name"], r["slice_kind"], r["slice"]): (r["numerator"], r["denominator"]) for r in reader.select(sql, ROUND_METRICS)}

    def share(name: str, kind: str = "all", value: str = "all", *, rest: bool = False) -> float | None:
        over, under = held.get((name, kind, value), (0, 0))
        return ((under - over) if rest else over) / under if under else None

    types = sorted(value for name, kind, value in held if name == "null_reward_share" and kind == "task_type")
    return {
        **{name: share(figure) for name, figure in _QUALITY.items()},
        **sliced("quality/null_share", {task_type: share("null_reward_share", "task_type", task_type) for task_type in types}),
        "train/mixed_share": share("zero_variance_share", "role", "train", rest=True),
        "train/all_right_share": share("all_right_share", "role", "train"),
        "train/all_wrong_share": share("all_wrong_share", "role", "train"),
    }


def _pool(reader: LakeReader, round_no: int) -> dict[str, float | None]:
    """What the round could choose from: the slices that its plan read, so that what came later changes nothing."""
    reads = _plan_reads(reader, round_no)
    own = f"plan={round_no}"
    tasks, prompts = [*reads.get(TASKS.name, {}), own], [*reads.get(PROMPTS.name, {}), own]
    ingests = [origin.removeprefix("ingest=") for origin in tasks if origin.startswith("ingest=")]
    return {
        "funnel/ingests": len(ingests) if reads else None,
        "funnel/documents": _count(reader, DOCUMENTS, "ingest_id", ingests),
        "funnel/kept_documents": _count(reader, SILVER_DOCUMENTS, "ingest_id", ingests),
        "funnel/candidates": _count(reader, QA, "ingest_id", ingests),
        "funnel/tasks": _count(reader, TASKS, "origin", tasks, what="DISTINCT task_id") if reads else None,
        "funnel/prompts": _count(reader, PROMPTS, "origin", prompts) if reads else None,
    }


def _plan_reads(reader: LakeReader, round_no: int) -> Mapping[str, Mapping[str, str]]:
    """Slices that the plan in force read, by the ledger; empty where it does not know."""
    held = reader.lake.slices(ROUND_PLAN).get(str(round_no))
    if held is None:
        return {}
    sql = (
        f"SELECT reads FROM {alias(JOB_RUNS)} WHERE job = 'plan_round' AND state = 'finished' "
        f"AND fingerprint = {literal(held.fingerprint)} ORDER BY event_id"
    )
    found = reader.select(sql, JOB_RUNS)
    reads: Mapping[str, Mapping[str, str]] = json.loads(found[0]["reads"]) if found else {}
    return reads


def _count(reader: LakeReader, table: Table, column: str, values: Iterable[str], *, what: str = "*") -> int | None:
    """Rows whose ``column`` is one of ``values``; None where there is no value or no such table."""
    wanted = ", ".join(literal(value) for value in values)
    if not wanted:
        return None
    found = reader.select(f"SELECT count({what}) AS n FROM {alias(table)} WHERE {column} IN ({wanted})", table)
    return int(found[0]["n"]) if found else None


def _rows(reader: LakeReader, round_no: int) -> dict[str, float | None]:
    where = f"WHERE round = {int(round_no)}"
    out: dict[str, float | None] = {}
    for name, table in _ROWS.items():
        found = reader.select(f"SELECT count(*) AS n FROM {alias(table)} {where}", table)
        count = int(found[0]["n"]) if found else 0
        # A table without the round's slice says that the station was not reached, not that there was nothing.
        out[name] = count if count or str(round_no) in reader.lake.slices(table) else None
    planned = reader.select(f"SELECT sum(n_samples) AS n FROM {alias(ROUND_PLAN)} {where}", ROUND_PLAN)
    failed = reader.select(f"SELECT count(failure_class) AS n, count(*) AS every FROM {alias(ROLLOUTS)} {where}", ROLLOUTS)
    out["funnel/planned_samples"] = planned[0]["n"] if planned else None
    out["funnel/failed_rollouts"] = failed[0]["n"] if failed and failed[0]["every"] else None
    return out
