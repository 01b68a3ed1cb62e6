"""Replies that were paid for already: those of the lake, and those that runs wrote down which were never taken in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.context import JobContext
from jobs.convert.plan import Conversion
from jobs.handoff.plan import RunSpec, run_of
from jobs.lake.types import spark_schema
from schemas.bronze.replies import REPLIES
from schemas.handoff import CONVERT_SHARD, EARLIER
from udfs.replies.prices import NANOS
from udfs.store.replies import FOLDER, recorded

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


#: Below the hand-off's root: replies of runs that a takedown has removed before they were taken in.
SALVAGED = "convert/salvaged"


def known_replies(ctx: JobContext, conversion: Conversion, spec: RunSpec) -> DataFrame:
    """Rows of bronze.replies that may answer calls of this conversion, each request once."""
    from pyspark.sql import functions as F

    held = ctx.read(REPLIES)
    if not conversion.chained:
        template = conversion.settings["template"]
        return held.where((F.col("engine") == conversion.engine) & (F.col("template") == template))
    models = {f"{name}@{revision}" for name, revision in conversion.settings["models"].values()}
    wanted = F.col("model").isin(*sorted(models))
    files = _untaken(ctx, spec)
    if not files:
        return held.where(wanted)
    # A line that a death cut has no hash; the columns of what is no object are all null.
    written = ctx.spark.read.schema(spark_schema(REPLIES.schema)).json(files).where("request_hash IS NOT NULL")
    return held.where(wanted).unionByName(written.where(wanted)).dropDuplicates(["request_hash"])


def _untaken(ctx: JobContext, spec: RunSpec) -> list[str]:
    """Files of replies of runs that no slice of bronze.replies holds; this run's own its workers read."""
    taken = {*ctx.lake.slices(REPLIES), spec.run_id}
    runs = [run for run in sorted(ctx.workspace.handoff_root.glob("convert/run=*")) if run.name.removeprefix("run=") not in taken]
    salvaged = sorted((ctx.workspace.handoff_root / SALVAGED).glob("*.jsonl"))
    return [str(path) for path in (*salvaged, *(path for run in runs for path in sorted((run / FOLDER).glob("*/*"))))]


def to_ask(documents: DataFrame, known: DataFrame, audits: DataFrame | None) -> DataFrame:
    """Items of a run: documents, and what the checker is audited by, each with what is known about it."""
    from pyspark.sql import functions as F

    earlier = known.groupBy("doc_id").agg(F.array_sort(F.collect_list(F.struct(*EARLIER_NAMES))).alias("earlier"))
    names = [name for name in CONVERT_SHARD.names if name != "earlier"]
    asked = documents.withColumn("audit", F.lit(None).cast("string")).select(*names)
    everything = asked if audits is None else asked.unionByName(audits)
    none = F.array().cast(spark_schema(CONVERT_SHARD)["earlier"].dataType)
    return everything.join(earlier, "doc_id", "left").select(*names, F.coalesce("earlier", none).alias("earlier"))


#: Fields of a shard's earlier replies, in their order.
EARLIER_NAMES = tuple(EARLIER.field(i).name for i in range(EARLIER.num_fields))


def paid_nanos(ctx: JobContext, known: DataFrame, spec: RunSpec) -> int:
    """What the conversion of an ingest has cost so far, 10^-9 of the currency: what is known, and what this run has written down."""
    from pyspark.sql import functions as F

    row = known.agg(F.sum(F.round(F.col("price") * NANOS).cast("long")).alias("nanos")).first()
    held = 0 if row is None or row["nanos"] is None else int(row["nanos"])
    written: int = sum(round(reply["price"] * NANOS) for reply in recorded(run_of(ctx, spec).store))
    return held + written
