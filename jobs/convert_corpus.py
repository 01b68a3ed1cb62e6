"""convert_corpus: one ingest of silver.documents -> shards -> workers -> bronze.replies -> silver.qa.

Every reply is kept for ever and never asked for twice: a request whose reply the lake holds travels with it, and comes back as it is.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from jobs.context import JobContext, JobReport, JobRun
from jobs.handoff.commits import collect, delivered
from jobs.handoff.plan import RunSpec, open_run
from jobs.lake.errors import MissingInputError
from jobs.lake.types import spark_schema
from schemas.bronze.replies import REPLIES
from schemas.handoff import CONVERT_SHARD
from schemas.ids import content_id
from schemas.silver.documents import DOCUMENTS
from schemas.silver.qa import QA
from udfs.extract import VERSION
from udfs.replies.items import CARRIED, qa_batches
from udfs.replies.request import OUTPUT_SCHEMA, TO_ASK, requests, template_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run(ctx: JobContext, ingest_id: str) -> JobReport:
    """Convert one ingest.

    Args:
        ctx: context.
        ingest_id: slice of silver.documents.

    Raises:
        MissingInputError: the ingest is not curated yet.
        HandoffError: the workers could not drain the run; running it again goes on from there.
    """
    spec = _spec(ctx, ingest_id)
    with ctx.open(
        "convert_corpus", f"ingest={ingest_id}",
        reads={DOCUMENTS: [ingest_id]},
        writes={REPLIES: spec.run_id, QA: ingest_id},
        # How many documents lie in a shard is no part of the result.
        settings=ctx.config.convert.model_dump(mode="json", exclude={"docs_per_shard"}),
        versions={"engine": VERSION, "output": OUTPUT_SCHEMA},
    ) as job:  # fmt: skip
        if not job.done:
            _convert(ctx, job, spec, ingest_id)
    return job.report()


def _spec(ctx: JobContext, ingest_id: str) -> RunSpec:
    convert = ctx.config.convert
    held = ctx.lake.slices(DOCUMENTS).get(ingest_id)
    if held is None:
        raise MissingInputError.from_slice(DOCUMENTS.name, ingest_id, "verilake curate")
    template = template_of(convert.engine, VERSION, convert.max_items_per_document)
    return RunSpec(
        program="convert",
        engine=convert.engine,
        fingerprint=content_id("convert", ingest_id, held.fingerprint, template, OUTPUT_SCHEMA),
        shard_size=convert.docs_per_shard,
        settings={"engine_version": VERSION, "template": template, "max_items": convert.max_items_per_document},
    )


def _convert(ctx: JobContext, job: JobRun, spec: RunSpec, ingest_id: str) -> None:
    from pyspark.sql import functions as F

    handoff = open_run(ctx, spec, lambda: to_ask(ctx, spec, ingest_id))
    commits = collect(ctx, handoff)
    replies = delivered(ctx, handoff, commits)
    job.write(REPLIES, lambda: not_yet_held(ctx, spec, replies))
    job.write(QA, lambda: candidates(ctx, replies, ingest_id))
    by_class: dict[str, int] = {}
    for commit in commits:
        for name, count in commit.failures.items():
            by_class[name] = by_class.get(name, 0) + count
    figures = replies.selectExpr("count(*) AS n", "count_if(n_items > 0) AS some", "count_if(failure_class IS NULL) AS ok").first()
    qa = job.read_written(QA)
    reasons = {
        row["reason"]: row["count"] for row in qa.groupBy(F.coalesce("filter_reason", F.lit("passed")).alias("reason")).count().collect()
    }
    job.count(
        input=int(figures["n"]), with_items=int(figures["some"]), without_items=int(figures["ok"] - figures["some"]),
        failed=dict(sorted(by_class.items())), items=qa.count(), item_states=dict(sorted(reasons.items())),
    )  # fmt: skip


def to_ask(ctx: JobContext, spec: RunSpec, ingest_id: str) -> DataFrame:
    """Items of the run: documents with the reply that was paid for already, or with the ordinal of a new draw where it failed before."""
    from pyspark.sql import functions as F

    template = spec.settings["template"]
    before = ctx.read(REPLIES).where(
        (F.col("engine") == spec.engine) & (F.col("engine_version") == VERSION) & (F.col("template") == template)
    )
    known = before.groupBy("doc_id").agg(
        # The earliest draw that succeeded; of equal ones the smallest hash.
        F.min(F.when(F.col("reply").isNotNull(), F.struct("draw", "request_hash", "reply"))).alias("answered"),
        F.count_if(F.col("reply").isNull()).alias("failed"),
    )
    documents = ctx.read(DOCUMENTS, ingest_id).join(known, "doc_id", "left")
    asked = documents.withColumn("draw", F.coalesce("answered.draw", F.col("failed"), F.lit(0)).cast("int")).withColumn(
        "earlier_reply", F.col("answered.reply")
    )
    shown = asked.select(*TO_ASK.names)
    ask = partial(requests, engine=spec.engine, version=VERSION, template=template)
    return shown.mapInArrow(ask, spark_schema(CONVERT_SHARD))


def not_yet_held(ctx: JobContext, spec: RunSpec, replies: DataFrame) -> DataFrame:
    """Replies of this run that no other run has brought: bronze.replies holds a request once."""
    others = ctx.read(REPLIES).where(f"run_id != '{spec.run_id}'").select("request_hash")
    return replies.join(others, "request_hash", "left_anti")


def candidates(ctx: JobContext, replies: DataFrame, ingest_id: str) -> DataFrame:
    """silver.qa: every item of every reply, with cluster and split of its document."""
    documents = ctx.read(DOCUMENTS, ingest_id).select("doc_id", "cluster_id", "split")
    joined = replies.join(documents, "doc_id").select(*CARRIED, "reply")
    return joined.mapInArrow(qa_batches, spark_schema(QA.schema))


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("convert")
