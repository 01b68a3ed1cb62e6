"""convert_corpus: one ingest of silver.documents -> shards -> workers -> bronze.replies -> silver.qa, silver.conversions.

Every reply is kept for ever and never asked for twice: what the lake holds about a document, or what a run wrote down that was never taken
in, travels with it, and only what is missing is asked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobs.context import JobContext, JobReport, JobRun
from jobs.convert.audits import audit_items, audit_rows, verdicts
from jobs.convert.budget import BudgetReachedError, lay_budget
from jobs.convert.known import known_replies, paid_nanos, to_ask
from jobs.convert.outcomes import outcomes, unfolded
from jobs.convert.plan import Conversion, conversion_of
from jobs.convert.quotas import Asked, asked_of
from jobs.handoff.commits import collect, delivered
from jobs.handoff.plan import RunSpec, open_run
from jobs.lake.errors import MissingInputError
from schemas.bronze.replies import REPLIES
from schemas.silver.conversions import CONVERSIONS
from schemas.silver.documents import DOCUMENTS
from schemas.silver.judge_audits import JUDGE_AUDITS
from schemas.silver.qa import QA
from udfs.extract import VERSION
from udfs.replies.prices import NANOS
from udfs.replies.request import OUTPUT_SCHEMA

if TYPE_CHECKING:
    from typing import Any

    from pyspark.sql import DataFrame


def run(ctx: JobContext, ingest_id: str) -> JobReport:
    """Convert one ingest.

    Args:
        ctx: context.
        ingest_id: slice of silver.documents.

    Raises:
        MissingInputError: the ingest is not curated yet.
        HandoffError: the workers could not drain the run; running it again goes on from there.
        BudgetReachedError: the budget was spent before every document was asked about; what was paid for is taken in.
    """
    conf = ctx.config.convert
    held = ctx.lake.slices(DOCUMENTS).get(ingest_id)
    if held is None:
        raise MissingInputError.from_slice(DOCUMENTS.name, ingest_id, "verilake curate")
    conversion = conversion_of(conf)
    asked = asked_of(ctx, ingest_id)
    spec = conversion.run_spec(ingest_id, held.fingerprint, conf, asked.token)
    with ctx.open(
        "convert_corpus", f"ingest={ingest_id}",
        reads={DOCUMENTS: [ingest_id]},
        writes={REPLIES: spec.run_id, QA: ingest_id, CONVERSIONS: ingest_id, **({JUDGE_AUDITS: ingest_id} if conversion.chained else {})},
        settings={**_settings(ctx, conversion), **({"asked": asked.token} if asked.token else {})},
        versions={"engine": VERSION, "output": OUTPUT_SCHEMA},
    ) as job:  # fmt: skip
        if not job.done:
            _convert(ctx, job, conversion, spec, asked)
    report = job.report()
    report = report if report.did else replace(report, counts={**report.counts, **asked.counts})
    waiting = report.counts.get("waiting", 0)
    if isinstance(waiting, int) and waiting:
        raise BudgetReachedError.from_documents(ingest_id, conf.budget, waiting)
    return report


def _settings(ctx: JobContext, conversion: Conversion) -> dict[str, Any]:
    """What bears on the result. How many documents lie in a shard is no part of it; prices only where something has a price."""
    conf = ctx.config.convert
    if not conversion.chained:
        return conf.model_dump(mode="json", include={"engine", "max_items_per_document"})
    return {"engine": conf.engine, "budget": conf.budget, "audit": [conf.audit, conf.audit_share], **conversion.settings}


def _convert(ctx: JobContext, job: JobRun, conversion: Conversion, spec: RunSpec, asked: Asked) -> None:
    from pyspark import StorageLevel

    ingest_id, documents = asked.ingest_id, asked.documents(ctx)
    known = known_replies(ctx, conversion, spec)
    items = audit_items(ctx, documents.count()) if conversion.chained else []
    audits = audit_rows(ctx, items, ingest_id) if items else None
    handoff = open_run(ctx, spec, lambda: to_ask(documents, known, audits))
    if conversion.chained:
        conf = ctx.config.convert
        lay_budget(handoff, conf.budget, paid_nanos(ctx, known, spec) if conf.budget else 0)
    replies = delivered(ctx, handoff, collect(ctx, handoff))
    job.write(REPLIES, lambda: not_yet_held(ctx, replies))
    if conversion.chained:
        job.write(JUDGE_AUDITS, lambda: verdicts(ctx, replies, items, conversion, ingest_id))
    # Each document's chain is gone through once for both tables.
    made = outcomes(ctx, replies, ingest_id, conversion.settings).persist(StorageLevel.DISK_ONLY)
    try:
        job.write(QA, lambda: unfolded(made, "items"))
        job.write(CONVERSIONS, lambda: unfolded(made, "states").unionByName(asked.passed_over(ctx, conversion.first_stage)))
    finally:
        made.unpersist()
    job.count(**_counts(job, replies), **asked.counts)


def not_yet_held(ctx: JobContext, replies: DataFrame) -> DataFrame:
    """Replies that the table has not got: it holds a request once, however often its run is taken in. That nothing was asked is no reply."""
    others = ctx.read(REPLIES).select("request_hash")
    return replies.where("failure_class IS NULL OR failure_class != 'budget'").join(others, "request_hash", "left_anti")


def _counts(job: JobRun, replies: DataFrame) -> dict[str, Any]:
    """The funnel of this conversion: every document in exactly one state, every candidate with or without a reason against it."""
    from pyspark.sql import functions as F

    states, qa = job.read_written(CONVERSIONS), job.read_written(QA)
    found = {"unasked": "reason = 'quota'", "waiting": "state = 'unasked' AND reason != 'quota'", "failed": "state = 'failed'"}
    ended = states.groupBy("doc_id").agg(*(F.max(F.expr(condition)).alias(name) for name, condition in found.items()))
    state = F.when(F.col("unasked"), "unasked").when(F.col("waiting"), "waiting").when(F.col("failed"), "failed")
    state = state.when(F.col("has"), "with_items").otherwise("without_items")
    proposed = qa.select("doc_id", F.lit(True).alias("has")).distinct()
    documents = _tally(ended.join(proposed, "doc_id", "left").select(state.alias("name")))
    price = states.agg(F.sum("price_nanos").alias("nanos")).first()
    return {
        "input": sum(documents.values()),
        **{name: documents.get(name, 0) for name in ("with_items", "without_items", "failed", "waiting", "unasked")},
        "failures": _tally(replies.where("failure_class IS NOT NULL").select(F.col("failure_class").alias("name"))),
        "items": qa.count(),
        "item_states": _tally(qa.select(F.coalesce("filter_reason", F.lit("passed")).alias("name"))),
        "stages": _tally(states.select(F.concat_ws(":", "stage", "state").alias("name"))),
        "price": (price["nanos"] or 0) / NANOS if price is not None else 0.0,
    }


def _tally(frame: DataFrame) -> dict[str, int]:
    """Rows by ``name``, in order."""
    return dict(sorted((row["name"], row["count"]) for row in frame.groupBy("name").count().collect()))


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("convert")
