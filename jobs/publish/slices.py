"""Which slices of the lake each part of a set is made from, read from the tables' logs and the ledger without a JVM.

A *segment* is the group of files that holds the rows of one round, of one origin, or all rows of a set. Its fingerprint covers every slice that
can change one of its rows: its own gold slice, the plan, the tasks and prompts that the plan could draw from, and the documents of these
ingests. What was ingested later is left out on purpose, or each new ingest would make all earlier rounds be written again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from jobs.lake.layout import Lake, SliceCommit
from jobs.plan.candidates import known_before
from jobs.views.reader import LakeReader, alias
from schemas.datasets.catalog import ALL_SETS
from schemas.datasets.dataset import Dataset
from schemas.gold.preferences import PREFERENCES
from schemas.gold.prompts import PROMPTS
from schemas.gold.regression import REGRESSION
from schemas.gold.rl import RL
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.sft import SFT
from schemas.gold.tasks import TASKS
from schemas.ids import content_id
from schemas.ops.job_runs import JOB_RUNS
from schemas.ops.tombstones import TOMBSTONES
from schemas.silver.documents import DOCUMENTS
from schemas.table import Table

#: The gold table that a set's rows stand in; the eval set is made from the plan.
GOLD: Mapping[str, Table] = {"rl": RL, "sft": SFT, "preferences": PREFERENCES, "regression": REGRESSION, "eval": ROUND_PLAN}
SHARED = (ROUND_PLAN, TASKS, PROMPTS, DOCUMENTS)
TABLES = (*dict.fromkeys((*GOLD.values(), *SHARED)),)
#: Raised with any change of jobs/publish/sets.py that can alter a row.
RULES = "1"
ALL = "all"


@dataclass(frozen=True)
class SegmentPlan:
    """A segment before it is written.

    Attributes:
        name: as in the manifest, ``round=3``.
        value: of the set's segment column, as text; ``all`` where the set has none.
        fingerprint: over slices, columns, rules and writer.
        slices: table -> slice -> fingerprint.
    """

    name: str
    value: str
    fingerprint: str
    slices: Mapping[str, Mapping[str, str]] = field(hash=False)


@dataclass(frozen=True)
class SetPlan:
    """A set of a round, as segments in order."""

    dataset: Dataset
    segments: tuple[SegmentPlan, ...]

    @property
    def slices(self) -> dict[str, dict[str, str]]:
        """All slices of all segments."""
        found: dict[str, dict[str, str]] = {}
        for segment in self.segments:
            for table, held in segment.slices.items():
                found.setdefault(table, {}).update(held)
        return {table: dict(sorted(held.items())) for table, held in sorted(found.items())}


@dataclass
class Slices:
    """What the logs say, each read once."""

    reader: LakeReader
    writer: Mapping[str, str]

    @property
    def lake(self) -> Lake:
        """Of the reader."""
        return self.reader.lake

    @cached_property
    def held(self) -> dict[str, dict[str, SliceCommit]]:
        """Table -> its slices."""
        return {table.name: self.lake.slices(table) for table in TABLES}

    @cached_property
    def tombstoned(self) -> list[str]:
        """Documents that were taken down, sorted."""
        rows = self.reader.select(f"SELECT DISTINCT doc_id FROM {alias(TOMBSTONES)} ORDER BY doc_id", TOMBSTONES)
        return [row["doc_id"] for row in rows]

    @property
    def takedowns(self) -> str:
        """Digest of :attr:`tombstoned`."""
        return content_id(self.tombstoned) if self.tombstoned else "none"

    @cached_property
    def _planned_from(self) -> dict[str, list[str]]:
        """Fingerprint of a plan -> slices of gold.tasks that it drew from."""
        rows = self.reader.select(
            f"SELECT fingerprint, reads FROM {alias(JOB_RUNS)} WHERE job = 'plan_round' AND state = 'finished'", JOB_RUNS
        )
        return {row["fingerprint"]: list(json.loads(row["reads"]).get(TASKS.name, {})) for row in rows}

    def sets(self, round_no: int) -> list[SetPlan]:
        """Every set of the round."""
        return [SetPlan(dataset, tuple(self._segments(dataset, round_no))) for dataset in ALL_SETS]

    def _segments(self, dataset: Dataset, round_no: int) -> Iterable[SegmentPlan]:
        gold = GOLD[dataset.name]
        if dataset.segment == "round":
            rounds = sorted(int(value) for value in self.held[gold.name] if int(value) <= round_no)
            return [self._segment(dataset, f"round={number}", str(number), number) for number in rounds]
        if dataset.segment is None:
            return [self._segment(dataset, ALL, ALL, round_no)]
        sql = f"SELECT DISTINCT {dataset.segment} AS value FROM {alias(gold)} WHERE round = {int(round_no)} ORDER BY value"
        return [self._segment(dataset, str(row["value"]), str(row["value"]), round_no) for row in self.reader.select(sql, gold)]

    def _segment(self, dataset: Dataset, name: str, value: str, round_no: int) -> SegmentPlan:
        slices = self._slices(GOLD[dataset.name], round_no)
        columns = [(f.name, str(f.type), f.nullable) for f in dataset.schema]
        return SegmentPlan(name, value, content_id(dataset.name, name, columns, dataset.key, RULES, dict(self.writer), slices), slices)

    def _slices(self, gold: Table, round_no: int) -> dict[str, dict[str, str]]:
        plan = self.held[ROUND_PLAN.name].get(str(round_no))
        known = self._planned_from.get(plan.fingerprint) if plan is not None else None
        tasks = [value for value in self.held[TASKS.name] if known is None or value in known or value == f"plan={round_no}"]
        tasks = [value for value in tasks if known_before(value, round_no) or value == f"plan={round_no}"]
        ingests = {value.removeprefix("ingest=") for value in tasks}
        wanted = {
            gold.name: [str(round_no)], ROUND_PLAN.name: [str(round_no)], TASKS.name: tasks,
            PROMPTS.name: [value for value in self.held[PROMPTS.name] if value in tasks],
            DOCUMENTS.name: [value for value in self.held[DOCUMENTS.name] if known is None or value in ingests],
        }  # fmt: skip
        return {
            table: {value: self.held[table][value].fingerprint for value in values if value in self.held[table]}
            for table, values in sorted(wanted.items())
        }
