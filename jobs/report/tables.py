"""The smaller tables of the report: why prompts were planned, what changed, alerts, price, repairs, what was published."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from jobs.views.reader import LakeReader, alias
from schemas.bronze.replies import REPLIES
from schemas.gold.alerts import ALERTS
from schemas.gold.repair_queue import REPAIR_QUEUE
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.tasks import TASKS
from schemas.ops.job_runs import JOB_RUNS
from schemas.silver.calls import CALLS
from schemas.silver.task_stats import TASK_STATS

#: What the reason codes of gold.round_plan mean.
REASONS = {
    "seeded_stratum": "drawn by seed, stratified by task type: a first round knows nothing yet",
    "in_band": "the posterior says that the policy solves it sometimes, within the capability band",
    "failed_before": "never solved so far, tried again",
    "unexplored": "never rolled out so far",
    "format_share": "a task that constrains the form of its answer, a fixed share",
    "fill_out_of_band": "fills the round: neither in the band nor clearly outside",
    "fill_mastered": "fills the round: nearly always solved",
    "eval_fixed": "held out; the same in every round, so that rounds can be compared",
    "eval_collected": "held out; a failure of an earlier round, tried again",
    "eval_fresh": "held out; met for the first time",
    "probe_base_estimate": "more samples than usual, for a first estimate where policy and task meet for the first time",
    "probe_open_book": "open-book twin of a task: can it be answered with its evidence?",
}
#: Jobs in the order of the way of the data.
JOBS = (
    "ingest_corpus", "profile_documents", "curate_corpus", "convert_corpus", "admit_tasks", "plan_round", "rollout_round", "ingest_rollouts",
    "check_quality", "feed_back", "publish_round", "train_policy", "track_round",
)  # fmt: skip
#: Repairs on the page; the queue itself is capped by conf.
REPAIRS = 50


@dataclass(frozen=True)
class Cost:
    """What engines used. Sums are of whole microseconds and millionths, so that they do not depend on the order of adding."""

    stage: str
    engine: str
    calls: int
    tokens_in: int
    tokens_out: int
    seconds: float
    price: float


def plan_reasons(reader: LakeReader, round_no: int) -> list[dict[str, Any]]:
    """Role and reason with prompts, samples and what was solved; the commonest reason of a role first."""
    sql = (
        f"SELECT p.role, p.why, count(*) AS prompts, sum(p.n_samples) AS samples, sum(s.k) AS k, sum(s.n) AS n FROM {alias(ROUND_PLAN)} p "
        f"LEFT JOIN (SELECT prompt_id, sum(k) AS k, sum(n_valid) AS n FROM {alias(TASK_STATS)} WHERE round = {int(round_no)} GROUP BY prompt_id) s "
        f"ON p.prompt_id = s.prompt_id WHERE p.round = {int(round_no)} GROUP BY p.role, p.why"
    )
    roles = {"train": 0, "eval": 1, "probe": 2, "canary": 3}
    rows = reader.select(sql, ROUND_PLAN, TASK_STATS)
    return sorted(rows, key=lambda row: (roles.get(row["role"], 9), row["role"], -row["prompts"], row["why"]))


def changes(reader: LakeReader, round_no: int, before: int) -> list[dict[str, Any]]:
    """By role: prompts that both rounds planned, and those that only one of them did."""
    sql = (
        f"WITH a AS (SELECT role, prompt_id FROM {alias(ROUND_PLAN)} WHERE round = {int(before)}), "
        f"b AS (SELECT role, prompt_id FROM {alias(ROUND_PLAN)} WHERE round = {int(round_no)}) "
        "SELECT coalesce(a.role, b.role) AS role, sum(CASE WHEN a.role IS NULL THEN 1 ELSE 0 END) AS came, "
        "sum(CASE WHEN b.role IS NULL THEN 1 ELSE 0 END) AS went, sum(CASE WHEN a.role = b.role THEN 1 ELSE 0 END) AS stayed "
        "FROM a FULL OUTER JOIN b ON a.prompt_id = b.prompt_id AND a.role = b.role GROUP BY 1 ORDER BY 1"
    )
    return reader.select(sql, ROUND_PLAN)


def alerts(reader: LakeReader, round_no: int) -> list[dict[str, Any]]:
    """Alerts of the round, blocking ones first."""
    sql = f"SELECT * FROM {alias(ALERTS)} WHERE round = {int(round_no)} ORDER BY severity, name, slice_kind, slice"
    return reader.select(sql, ALERTS)


def repairs(reader: LakeReader, round_no: int) -> list[dict[str, Any]]:
    """The head of the repair queue."""
    sql = f"SELECT * FROM {alias(REPAIR_QUEUE)} WHERE round = {int(round_no)} ORDER BY rank, task_id LIMIT {REPAIRS}"
    return reader.select(sql, REPAIR_QUEUE)


def pool(reader: LakeReader) -> dict[str, int]:
    """Status -> tasks, by the version in force."""
    sql = (
        f"WITH newest AS (SELECT task_id, max(version) AS version FROM {alias(TASKS)} GROUP BY task_id) SELECT t.status, count(*) AS n "
        f"FROM {alias(TASKS)} t JOIN newest ON t.task_id = newest.task_id AND t.version = newest.version GROUP BY t.status ORDER BY t.status"
    )
    return {row["status"]: row["n"] for row in reader.select(sql, TASKS)}


def stations(reader: LakeReader, round_no: int) -> list[dict[str, Any]]:
    """Wall time of each job that worked on the round, and of those that worked on all ingests so far, in the order of the way of the data."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for event in reader.events(JOB_RUNS):
        kind, _, scope = event["scope"].partition("=")
        if event["state"] != "finished" or (kind == "round" and scope != str(round_no)) or kind not in {"round", "ingest"}:
            continue
        row = found.setdefault((kind, event["job"]), {"kind": kind, "job": event["job"], "runs": 0, "seconds": 0.0, "input": None})
        row["runs"] += 1
        row["seconds"] += event["seconds"]
        given = _input(event["counts"])
        if given is not None:
            row["input"] = (row["input"] or 0) + given
    place = {job: at for at, job in enumerate(JOBS)}
    return sorted(found.values(), key=lambda row: (row["kind"] != "ingest", place.get(row["job"], len(JOBS)), row["job"]))


def costs(reader: LakeReader, round_no: int) -> list[Cost]:
    """What engines used for the round, and for the conversion of all ingests so far."""
    micro = "sum(CAST(round({} * {}) AS BIGINT))"
    sampling = (
        f"SELECT engine, count(*) AS n, sum(prompt_tokens) AS i, sum(completion_tokens) AS o, {micro.format('latency_ms', 1000)} AS s, "
        f"{micro.format('price', 1000000)} AS p FROM {alias(CALLS)} WHERE round = {int(round_no)} GROUP BY engine ORDER BY engine"
    )
    converting = (
        f"SELECT engine, count(*) AS n, sum(prompt_tokens) AS i, sum(completion_tokens) AS o, {micro.format('seconds', 1000000)} AS s, "
        f"{micro.format('price', 1000000)} AS p FROM {alias(REPLIES)} GROUP BY engine ORDER BY engine"
    )
    return [
        Cost(stage, row["engine"], row["n"], row["i"] or 0, row["o"] or 0, (row["s"] or 0) / 1e6, (row["p"] or 0) / 1e6)
        for stage, rows in (("rollouts of this round", reader.select(sampling, CALLS)), ("conversion, all ingests", reader.select(converting, REPLIES)))
        for row in rows
    ]  # fmt: skip


def _input(counts: str) -> int | None:
    try:
        found = json.loads(counts)
    except ValueError:
        return None
    given = found.get("input") if isinstance(found, dict) else None
    return given if isinstance(given, int) else None
