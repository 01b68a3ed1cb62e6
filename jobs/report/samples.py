"""A few samples of every task type, to be read: chosen by their ids, which are hashes, so the choice is the same for everyone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from jobs.report.spread import OUTCOME_SQL
from jobs.views.reader import LakeReader, alias, literal
from schemas.gold.tasks import TASKS
from schemas.silver.documents import DOCUMENTS
from schemas.silver.interactions import INTERACTIONS
from schemas.silver.rewards import REWARDS
from schemas.silver.trajectories import TRAJECTORIES
from schemas.silver.trajectory_verdicts import TRAJECTORY_VERDICTS

#: Samples shown of a task type in each class, and how many task types still get as many.
EACH, GENEROUS_TYPES = 2, 20
CLASSES = ("correct", "wrong", "unknown", "flagged")


@dataclass(frozen=True)
class Sample:
    """One sample with everything that was said and decided about it; texts as they are in the lake.

    Attributes:
        shown_as: correct, wrong, unknown, or flagged (set aside or odd, whatever its reward).
        turns: role and text of each turn, in order; text is None where the generation failed.
        graded: rows of silver.rewards, in order.
    """

    trajectory_id: str
    task_type: str
    shown_as: str
    outcome: str
    state: str
    flags: tuple[str, ...]
    role: str
    reward: float | None
    turns: tuple[tuple[str, str | None], ...]
    graded: tuple[dict[str, Any], ...]
    uri: str | None
    title: str | None
    licence: str | None
    doc_id: str | None
    worker_id: str


def read_samples(reader: LakeReader, round_no: int) -> dict[str, list[Sample]]:
    """Task type -> its samples, class by class."""
    picked = _pick(reader, int(round_no))
    if not picked:
        return {}
    ids = ", ".join(literal(row["trajectory_id"]) for row in picked)
    where = f"WHERE round = {int(round_no)} AND trajectory_id IN ({ids})"
    turns = _grouped(
        reader.select(
            f"SELECT trajectory_id, role, content FROM {alias(INTERACTIONS)} {where} ORDER BY trajectory_id, turn_index", INTERACTIONS
        )
    )
    graded = _grouped(
        reader.select(
            f"SELECT trajectory_id, reward_name, value, verdict, is_outcome, verifier_name, verifier_version, extracted_answer, gold_answer "
            f"FROM {alias(REWARDS)} {where} ORDER BY trajectory_id, is_outcome DESC, reward_name, verifier_run_id", REWARDS,
        )
    )  # fmt: skip
    sources = _sources(reader, where)
    out: dict[str, list[Sample]] = {}
    for row in picked:
        ident = row["trajectory_id"]
        source = sources.get(ident, {})
        out.setdefault(row["task_type"], []).append(
            Sample(
                trajectory_id=ident, task_type=row["task_type"], shown_as=row["shown_as"], outcome=row["outcome"], state=row["state"] or "not checked",
                flags=tuple(row["flags"] or ()), role=row["role"], reward=row["outcome_reward"],
                turns=tuple((turn["role"], turn["content"]) for turn in turns.get(ident, [])), graded=tuple(graded.get(ident, [])),
                uri=source.get("uri"), title=source.get("title"), licence=source.get("licence"), doc_id=source.get("doc_id"),
                worker_id=source.get("worker_id", ""),
            )
        )  # fmt: skip
    return out


def _pick(reader: LakeReader, round_no: int) -> list[dict[str, Any]]:
    """Rows of the chosen samples, by task type and class; one of each prompt before a second one, and unremarkable ones before odd ones."""
    inner = OUTCOME_SQL.format(round_no=round_no)
    sql = (
        f"WITH o AS ({inner}), "
        f"v AS (SELECT o.*, q.state, q.flags, CASE WHEN q.state IS NULL OR q.state = 'accepted' THEN 0 ELSE 1 END AS odd FROM o "
        f"LEFT JOIN (SELECT trajectory_id, state, flags FROM {alias(TRAJECTORY_VERDICTS)} WHERE round = {round_no}) q ON o.trajectory_id = q.trajectory_id), "
        "w AS (SELECT v.*, row_number() OVER (PARTITION BY prompt_id, outcome ORDER BY odd, trajectory_id) AS turn, "
        "row_number() OVER (PARTITION BY prompt_id, odd ORDER BY trajectory_id) AS odd_turn FROM v), "
        "x AS (SELECT w.*, row_number() OVER (PARTITION BY task_type, outcome ORDER BY odd, turn, trajectory_id) AS place, "
        "row_number() OVER (PARTITION BY task_type, odd ORDER BY odd_turn, trajectory_id) AS odd_place FROM w) "
        f"SELECT trajectory_id, role, task_type, outcome_reward, outcome, state, flags, odd, place, odd_place FROM x "
        f"WHERE place <= {EACH} OR (odd = 1 AND odd_place <= {4 * EACH}) ORDER BY task_type, trajectory_id"
    )
    by_type: dict[str, list[dict[str, Any]]] = {}
    for row in reader.select(sql, TRAJECTORIES, REWARDS, TRAJECTORY_VERDICTS):
        by_type.setdefault(row["task_type"], []).append(row)
    each = EACH if len(by_type) <= GENEROUS_TYPES else 1
    return [row for rows in by_type.values() for row in _classes(rows, each)]


def _classes(rows: list[dict[str, Any]], each: int) -> Iterable[dict[str, Any]]:
    """At most ``each`` of a class; a sample is shown once."""
    taken: set[str] = set()
    for name in CLASSES:
        if name == "flagged":
            fitting = sorted((row for row in rows if row["odd"]), key=lambda row: row["odd_place"])
        else:
            fitting = sorted((row for row in rows if row["outcome"] == name and row["place"] <= each), key=lambda row: row["place"])
        for row in [row for row in fitting if row["trajectory_id"] not in taken][:each]:
            taken.add(row["trajectory_id"])
            yield {**row, "shown_as": name}


def _sources(reader: LakeReader, where: str) -> dict[str, dict[str, Any]]:
    """Document and worker of each sample; a document that was taken down is gone, and so is its row."""
    sql = (
        f"SELECT t.trajectory_id, t.worker_id, k.doc_id, d.uri, d.title, d.licence "
        f"FROM (SELECT trajectory_id, worker_id, task_id, task_version FROM {alias(TRAJECTORIES)} {where}) t "
        f"LEFT JOIN {alias(TASKS)} k ON t.task_id = k.task_id AND t.task_version = k.version "
        f"LEFT JOIN {alias(DOCUMENTS)} d ON k.doc_id = d.doc_id"
    )
    return {row["trajectory_id"]: row for row in reader.select(sql, TRAJECTORIES, TASKS, DOCUMENTS)}


def _grouped(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    out: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        out.setdefault(row["trajectory_id"], []).append(row)
    return out
