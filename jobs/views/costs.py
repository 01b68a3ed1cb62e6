"""What a round cost and who worked on it, by their names in conf/metrics.toml; needs no JVM.

These figures are about machines and the clock: they are logged and shown, and no pin carries them.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from jobs.views.reader import LakeReader, alias, literal
from jobs.views.vocabulary import sliced, vocabulary
from schemas.bronze.judgements import JUDGEMENTS
from schemas.gold.round_metrics import ROUND_METRICS
from schemas.gold.worker_metrics import WORKER_METRICS
from schemas.ops.job_runs import JOB_RUNS
from schemas.silver.calls import CALLS


def cost_figures(reader: LakeReader, round_no: int) -> dict[str, float]:
    """What a round cost and who worked on it: seconds by station, tokens, price where one is known, workers.

    Sums are taken over integers (microseconds, 10^-9 of the currency), so that reading twice gives the same figure.

    Args:
        reader: tables of the lake.
        round_no: round.

    Raises:
        UnknownMetricError: a figure has no entry in the vocabulary.
    """
    return vocabulary().checked(
        {**_stations(reader, round_no), **_calls(reader, round_no), **_judges(reader, round_no), **_workers(reader, round_no)}
    )


def _stations(reader: LakeReader, round_no: int) -> dict[str, float | None]:
    """Wall time of every recorded run of the round's jobs; what failed was paid for as well."""
    sql = (
        f"SELECT job, state, event_id, cast(round(seconds * 1000000) AS bigint) AS micros FROM {alias(JOB_RUNS)} "
        f"WHERE scope = {literal(f'round={int(round_no)}')} AND state IN ('finished', 'failed')"
    )
    rows = reader.select(sql, JOB_RUNS)
    if not rows:
        return {}
    by_job: dict[str, int] = defaultdict(int)
    for row in rows:
        by_job[row["job"]] += row["micros"]
    return {
        "cost/seconds": sum(by_job.values()) / 1e6,
        **sliced("cost/seconds", {job: micros / 1e6 for job, micros in by_job.items()}),
        "cost/failed_runs": sum(row["state"] == "failed" for row in rows),
    }


def _calls(reader: LakeReader, round_no: int) -> dict[str, float | None]:
    """Usage and price; a price of 0 everywhere is left out: nothing was paid, or nobody knows."""
    sql = (
        "SELECT count(*) AS calls, sum(prompt_tokens) AS prompt, sum(completion_tokens) AS completion, "
        "sum(cast(round(latency_ms * 1000) AS bigint)) AS micros, sum(cast(round(price * 1000000000) AS bigint)) AS nanos "
        f"FROM {alias(CALLS)} WHERE round = {int(round_no)}"
    )
    found = reader.select(sql, CALLS)
    if not found or not found[0]["calls"]:
        return {}
    row: dict[str, Any] = found[0]
    known = row["prompt"] is not None or row["completion"] is not None
    price = row["nanos"] / 1e9 if row["nanos"] else None
    return {
        "cost/calls": row["calls"],
        "cost/tokens": (row["prompt"] or 0) + (row["completion"] or 0) if known else None,
        "cost/prompt_tokens": row["prompt"],
        "cost/completion_tokens": row["completion"],
        "cost/engine_seconds": None if row["micros"] is None else row["micros"] / 1e6,
        "cost/price": price,
        "cost/price_per_trainable": _per_trainable(reader, round_no, price),
    }


def _per_trainable(reader: LakeReader, round_no: int, price: float | None) -> float | None:
    sql = f"SELECT numerator FROM {alias(ROUND_METRICS)} WHERE round = {int(round_no)} AND name = 'trainable_share' AND slice_kind = 'all'"
    found = reader.select(sql, ROUND_METRICS) if price is not None else []
    return price / found[0]["numerator"] if price is not None and found and found[0]["numerator"] else None


def _judges(reader: LakeReader, round_no: int) -> dict[str, float | None]:
    """What was paid for judgements, whichever of them the view over rewards counts."""
    sql = f"SELECT count(*) AS n, sum(cast(round(price * 1000000000) AS bigint)) AS nanos FROM {alias(JUDGEMENTS)} WHERE round = {int(round_no)}"
    found = reader.select(sql, JUDGEMENTS)
    if not found or not found[0]["n"]:
        return {}
    return {"cost/judgements": found[0]["n"], "cost/judge_price": found[0]["nanos"] / 1e9 if found[0]["nanos"] else None}


def _workers(reader: LakeReader, round_no: int) -> dict[str, float | None]:
    sql = (
        f"SELECT count(DISTINCT slice) AS workers, max(CASE WHEN name = 'worker_z' THEN abs(value) END) AS z "
        f"FROM {alias(WORKER_METRICS)} WHERE round = {int(round_no)} AND slice_kind = 'worker'"
    )
    found = reader.select(sql, WORKER_METRICS)
    if not found or not found[0]["workers"]:
        return {}
    return {"workers/count": found[0]["workers"], "workers/max_abs_z": found[0]["z"]}
