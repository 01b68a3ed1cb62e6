"""What the matches of a lake reached: documents, tasks, rounds, published sets and checkpoints; read without a JVM."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from jobs.care.offered import Files, OfferedCheckpoint, OfferedSet, offered_checkpoints, offered_sets, rows_of
from jobs.context import JobContext
from jobs.lake.layout import Lake
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.tasks import TASKS
from schemas.silver.contamination import CONTAMINATION
from schemas.silver.document_verdicts import DOCUMENT_VERDICTS
from schemas.table import Table


@dataclass(frozen=True)
class Affected:
    """What holds items of the sets in force.

    Attributes:
        benchmarks: version -> matches.
        documents: doc_id of every document that holds an item.
        kept: those of them that curation keeps so far.
        questions: candidate questions that hold one.
        own_text: training tasks that hold one by their question or answer.
        of_documents: training tasks made from such a document.
        against_eval: those of ``own_text`` that ask what an eval task of this lake asks.
        rounds: round -> training tasks among these that it planned, in any role.
        sets: published sets with rows of these tasks, by tag.
        checkpoints: what was offered one of these sets.
        matches: rows of silver.contamination, the surest first.
    """

    benchmarks: dict[str, int]
    documents: frozenset[str]
    kept: frozenset[str]
    questions: frozenset[str]
    own_text: frozenset[str]
    of_documents: frozenset[str]
    against_eval: frozenset[str]
    rounds: dict[int, int]
    sets: tuple[OfferedSet, ...]
    checkpoints: tuple[OfferedCheckpoint, ...]
    matches: tuple[dict[str, Any], ...]

    @property
    def tasks(self) -> frozenset[str]:
        """Training tasks that no later round should plan."""
        return self.own_text | self.of_documents

    def to_json(self) -> dict[str, Any]:
        """For ``--json``: ids, counts and places, no text."""
        shown = ("kind", "row_id", "doc_id", "benchmark", "item_id", "part", "coverage", "span_start", "span_end")
        return {
            "benchmarks": self.benchmarks, "documents": sorted(self.documents), "documents_kept": sorted(self.kept), "questions": sorted(self.questions),
            "tasks": sorted(self.own_text), "tasks_of_documents": sorted(self.of_documents), "tasks_against_eval": sorted(self.against_eval),
            "rounds": {str(number): tasks for number, tasks in self.rounds.items()}, "sets": [asdict(s) for s in self.sets],
            "checkpoints": [asdict(c) for c in self.checkpoints], "matches": [{name: m[name] for name in shown} for m in self.matches],
        }  # fmt: skip


class TaskFiles(Files):
    """Parquet files by path and how many rows of some tasks each holds."""

    def __init__(self, task_ids: frozenset[str]) -> None:
        super().__init__(frozenset())
        self._ids = {"task_id": task_ids}

    def rows(self, path: Path) -> int:
        """Rows of these tasks in a file; every file is read once."""
        if path not in self._known:
            self._known[path] = rows_of(path, self._ids)
        return self._known[path]


def survey(ctx: JobContext, benchmarks: Iterable[str], *, own: str) -> Affected:
    """What the matches with some versions of sets, and with the lake's own eval tasks, reached.

    Args:
        ctx: context.
        benchmarks: versions.
        own: name of the set that the lake's eval tasks are.
    """
    lake, wanted = ctx.lake, set(benchmarks)
    current = {"documents": "document", "questions": "question", "tasks": "task"}
    rows = [
        row for row in _rows(lake, CONTAMINATION, [])
        if (row["benchmark"] in wanted or row["benchmark"].rpartition("@")[0] == own) and current.get(row["scope"].partition("=")[0]) == row["kind"]
    ]  # fmt: skip
    rows.sort(key=lambda row: (-row["coverage"], row["benchmark"], row["item_id"], row["kind"], row["row_id"]))
    held: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        held[row["kind"]].add(row["row_id"])
    documents = frozenset(held["document"])
    of_documents = frozenset(
        row["task_id"] for row in _rows(lake, TASKS, ["task_id", "split"], "doc_id", documents) if row["split"] == "train"
    )  # fmt: skip
    own_text = frozenset(held["task"])
    planned = _planned(lake, own_text | of_documents)
    sets = tuple(found for found in offered_sets(ctx.workspace, TaskFiles(own_text | of_documents)) if found.rows) if planned else ()
    return Affected(
        benchmarks=dict(sorted(Counter(row["benchmark"] for row in rows).items())), documents=documents,
        kept=frozenset(r["doc_id"] for r in _rows(lake, DOCUMENT_VERDICTS, ["doc_id", "state"], "doc_id", documents) if r["state"] == "kept"),
        questions=frozenset(held["question"]), own_text=own_text, of_documents=of_documents,
        against_eval=frozenset(row["row_id"] for row in rows if row["kind"] == "task" and row["benchmark"] not in wanted),
        rounds=planned, sets=sets, checkpoints=tuple(offered_checkpoints(lake, list(sets))), matches=tuple(rows),
    )  # fmt: skip


def _planned(lake: Lake, tasks: frozenset[str]) -> dict[int, int]:
    seen = {(row["round"], row["task_id"]) for row in _rows(lake, ROUND_PLAN, ["round", "task_id"], "task_id", tasks)}
    return dict(sorted(Counter(round_no for round_no, _ in seen).items()))


def _rows(lake: Lake, table: Table, columns: list[str], key: str = "", values: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
    """Rows of a table, all of them or those whose ``key`` is among ``values``; none where the table does not exist."""
    if not (lake.path(table) / "_delta_log").is_dir() or (key and not values):
        return []
    wanted = ds.field(key).isin(pa.array(sorted(values), pa.string())) if key else None
    found: list[dict[str, Any]] = lake.dataset(table).to_table(columns=columns or None, filter=wanted).to_pylist()
    return found
