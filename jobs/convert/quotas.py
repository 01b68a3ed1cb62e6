"""Which documents of an ingest a conversion asks about: all of them, or, under quotas, those asked before and the next step's.

A step is what lies between two closed rounds. The documents that it asks about follow from the state of the lake before it; the ledger's
event of the conversion says that the step was made, so that a second run asks nothing, and a run that died chooses the same documents
again: until the event is there, what silver.conversions held at the event before is what counts.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from jobs.context import JobContext
from jobs.lake.types import spark_schema
from jobs.ledger import read_events
from jobs.plan.candidates import order_key
from jobs.sources.added import added_ingests
from jobs.views.quotas import filled_cells
from jobs.views.reader import LakeReader
from schemas.gold.tasks import TASKS
from schemas.ids import content_id
from schemas.ops.job_runs import JOB_RUNS
from schemas.ops.rounds import ROUNDS
from schemas.silver.conversions import CONVERSIONS
from schemas.silver.documents import DOCUMENTS
from schemas.silver.qa import QA
from udfs.conversion.quotas import GROUPED, UNGROUPED, Group, cell_of, group_batches, lacking, share

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOG = logging.getLogger("verilake.jobs")
#: Topics that are told apart, those with the most documents; rarer ones are their source. What a site calls its topics may be any number.
_MOST_GROUPS = 1000
#: Documents of silver.conversions that a step passed over.
_PASSED_OVER = "state = 'unasked' AND reason = 'quota'"


@dataclass(frozen=True)
class Asked:
    """Documents that a conversion asks about.

    Attributes:
        ingest_id: of this ingest.
        token: names their set; empty for all documents of the ingest.
        version: of silver.conversions, which says what was asked before; None where nothing was.
        new: those asked for the first time.
        counts: for the ledger.
    """

    ingest_id: str
    token: str = ""
    version: int | None = None
    new: tuple[str, ...] = ()
    counts: dict[str, Any] = field(default_factory=dict)

    def documents(self, ctx: JobContext) -> DataFrame:
        """Rows of silver.documents that are asked about."""
        held = ctx.read(DOCUMENTS, self.ingest_id)
        return held.join(self._ids(ctx), "doc_id", "left_semi") if self.token else held

    def passed_over(self, ctx: JobContext, stage: str) -> DataFrame:
        """Rows of silver.conversions of the other documents: each one row, at the first stage.

        Args:
            ctx: context.
            stage: the engine's first one.
        """
        from pyspark.sql import functions as F

        others = ctx.read(DOCUMENTS, self.ingest_id).select("ingest_id", "doc_id")
        others = others.join(self._ids(ctx), "doc_id", "left_anti") if self.token else others.limit(0)
        said = {"stage": stage, "state": "unasked", "reason": "quota"}
        made = [
            F.col(column.name) if column.name in others.columns
            else F.lit(said.get(column.name, None if column.nullable else 0)).cast(column.dataType).alias(column.name)
            for column in spark_schema(CONVERSIONS.schema)
        ]  # fmt: skip
        return others.select(*made)

    def _ids(self, ctx: JobContext) -> DataFrame:
        new = ctx.spark.createDataFrame(pa.table({"doc_id": pa.array(self.new, pa.string())}))
        return new.union(_asked_of(ctx, self.ingest_id, self.version))


def asked_of(ctx: JobContext, ingest_id: str) -> Asked:
    """Which documents of an ingest are asked about now.

    Args:
        ctx: context.
        ingest_id: the ingest, curated.
    """
    quotas = ctx.config.convert.quotas
    if not quotas.per_cell:
        return Asked(ingest_id)
    runs = _finished(ctx, "convert_corpus", ingest_id)
    newest = max(runs, key=_version, default=None)
    token = str(json.loads(newest["counts"]).get("quota_asked", "")) if newest else ""
    version = None if newest is None else _held_version(ctx, ingest_id, newest)
    step = _step(ctx)
    if token and any(step.items() <= json.loads(event["counts"]).items() for event in runs):
        return Asked(ingest_id, token, version, counts={"quota_asked": token})
    lack = lacking(quotas.per_cell, quotas.cells, filled_cells(LakeReader(ctx.lake), ctx.config.plan.band))
    admitted = newest is None or _admitted(ctx, ingest_id, newest)
    new, waiting = _next_documents(ctx, ingest_id, version, lack if admitted else None)
    if new or (waiting and not token):
        token = content_id("asked", token or (newest["fingerprint"] if newest else ""), *new)
    _tell(ingest_id, len(new), waiting - len(new), admitted=admitted)
    counts = {"quota_asked": token, "quota_new": len(new), "quota_lacking": lack, **(step if new else {})}
    return Asked(ingest_id, token, version, new, counts)


def _step(ctx: JobContext) -> dict[str, int | str]:
    """What names a step in the ledger: its ordinal, and the wishes. Other wishes may ask further within the round."""
    closed = {event["round"] for event in read_events(ctx.lake, ROUNDS) if event["state"] == "closed"}
    wishes = content_id(ctx.config.convert.quotas.model_dump(mode="json"), ctx.config.plan.band)
    return {"quota_step": 1 + len(closed), "quota_conf": wishes}


def _tell(ingest_id: str, new: int, left: int, *, admitted: bool) -> None:
    if new:
        why = f"{new} further documents are asked about"
    elif not left:
        why = "every document was asked about"
    elif not admitted:
        why = "no further documents before what was asked last is admitted (verilake admit): what it fills is not known"
    else:
        why = "no cell lacks tasks, no further documents"
    _LOG.info("convert_corpus ingest=%s: %s; %d wait", ingest_id, why, left)


def _finished(ctx: JobContext, job: str, ingest_id: str) -> list[dict[str, Any]]:
    scope = f"ingest={ingest_id}"
    return [e for e in read_events(ctx.lake, JOB_RUNS) if (e["job"], e["scope"], e["state"]) == (job, scope, "finished")]


def _version(event: Mapping[str, Any]) -> int:
    """Of silver.conversions as a conversion left it: tells which came last, whatever the clock says."""
    return int(json.loads(event["writes"])[CONVERSIONS.name]["version"])


def _held_version(ctx: JobContext, ingest_id: str, newest: Mapping[str, Any]) -> int:
    """The version of silver.conversions that holds what was asked before: the present one, unless a run died after it had written there."""
    held = ctx.lake.slices(CONVERSIONS).get(ingest_id)
    whole = held is not None and held.fingerprint == newest["fingerprint"]
    return ctx.lake.delta(CONVERSIONS).version() if whole else _version(newest)


def _admitted(ctx: JobContext, ingest_id: str, newest: Mapping[str, Any]) -> bool:
    """Whether the candidates of the newest conversion were admitted or rejected."""
    reads = [json.loads(event["reads"]).get(QA.name, {}) for event in _finished(ctx, "admit_tasks", ingest_id)]
    return any(read.get(ingest_id) == newest["fingerprint"] for read in reads)


def _asked_of(ctx: JobContext, ingest_id: str, version: int | None) -> DataFrame:
    """``doc_id`` of the documents of an ingest that were asked about at a version of silver.conversions, or were to be when the budget ended."""
    states = ctx.read(CONVERSIONS, ingest_id, version=version)
    states = states.limit(0) if version is None else states
    return states.where(f"NOT ({_PASSED_OVER})").select("doc_id").distinct()


def _next_documents(ctx: JobContext, ingest_id: str, version: int | None, lack: Mapping[str, int] | None) -> tuple[tuple[str, ...], int]:
    """The documents of the next step, and how many waited before it; none where ``lack`` is None."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as F

    added = sorted(added_ingests(ctx.lake))
    others = ctx.read(CONVERSIONS).where(F.col("ingest_id") != ingest_id).where("state != 'unasked'").select("doc_id").distinct()
    asked = _asked_of(ctx, ingest_id, version).union(others).withColumn("asked", F.lit(True))
    documents = ctx.read(DOCUMENTS).where(~F.col("ingest_id").isin(added)).select(*UNGROUPED.names)
    named = documents.mapInArrow(group_batches, spark_schema(GROUPED)).join(asked, "doc_id", "left")
    waits = F.col("asked").isNull() & (F.col("ingest_id") == ingest_id)
    marked = named.withColumn("waits", waits).where("asked OR waits").persist(StorageLevel.DISK_ONLY)
    try:
        told = marked.groupBy("name").count().orderBy(F.desc("count"), "name").limit(_MOST_GROUPS).collect()
        grouped = marked.withColumn(
            "name", F.when(F.col("name").isin([row["name"] for row in told]), F.col("name")).otherwise(F.col("of_source"))
        )
        groups = _groups(ctx, grouped)
        waiting = sum(group.waiting for group in groups.values())
        shares = {} if lack is None else share(groups, lack, ctx.config.convert.quotas.documents)
        return _drawn(ctx, grouped.where("waits"), {name: count for name, count in shares.items() if count}), waiting
    finally:
        marked.unpersist()


def _groups(ctx: JobContext, grouped: DataFrame) -> dict[str, Group]:
    """What is known of each group; ``grouped`` has ``doc_id``, ``name``, ``asked``, ``waits``."""
    from pyspark.sql import functions as F

    sizes = grouped.groupBy("name").agg(F.count("asked").alias("asked"), F.count_if("waits").alias("waits")).collect()
    first = ctx.read(TASKS).where("version = 1 AND source_kind != 'constraint'").select("doc_id", "domain", "answer_type")
    made = first.join(grouped.where("asked"), "doc_id").groupBy("name", "domain", "answer_type").count().collect()
    tasks: dict[str, dict[str, int]] = defaultdict(dict)
    for row in made:
        tasks[row["name"]][cell_of(row["domain"], row["answer_type"])] = row["count"]
    return {row["name"]: Group(row["asked"], row["waits"], tasks[row["name"]]) for row in sizes}


def _drawn(ctx: JobContext, waiting: DataFrame, shares: Mapping[str, int]) -> tuple[str, ...]:
    """As many documents of each group as its share says: which, the seed and their ids decide."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    if not shares:
        return ()
    names, counts = list(shares), list(shares.values())
    wanted = ctx.spark.createDataFrame(pa.table({"name": pa.array(names, pa.string()), "wanted": pa.array(counts, pa.int64())}))
    place = F.row_number().over(Window.partitionBy("name").orderBy(order_key("quota", ctx.config.campaign.seed, F.col("doc_id")), "doc_id"))
    drawn = waiting.join(F.broadcast(wanted), "name").withColumn("place", place).where("place <= wanted")
    return tuple(sorted(row["doc_id"] for row in drawn.select("doc_id").collect()))
