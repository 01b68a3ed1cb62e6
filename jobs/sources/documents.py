"""Documents of added items through silver: profiled as any other, and kept unless they were taken down; no rule of curation is for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.care.selection import marks
from jobs.context import JobContext, JobRun
from jobs.curate.profiles import profile
from jobs.curate.takedowns import refuse_taken_down
from schemas.bronze.documents import DOCUMENTS as RECEIVED
from schemas.silver.conversions import CONVERSIONS
from schemas.silver.document_profiles import DOCUMENT_PROFILES
from schemas.silver.document_verdicts import DOCUMENT_VERDICTS
from schemas.silver.documents import DOCUMENTS
from schemas.silver.qa import QA

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: What silver.document_verdicts names as the rules that judged.
SCHEME = "added@1"


def profiles(ctx: JobContext, job: JobRun) -> DataFrame:
    """silver.document_profiles: by their digests a takedown knows other copies of a text."""
    return profile(job.read_written(RECEIVED), ctx.config.curate)


def verdicts(ctx: JobContext, job: JobRun) -> DataFrame:
    """silver.document_verdicts: all kept, but for those that a tombstone knows."""
    from pyspark.sql import functions as F

    nothing = F.lit(None).cast("string")
    judged = job.read_written(DOCUMENT_PROFILES).join(job.read_written(RECEIVED).select("doc_id", "source", "uri"), "doc_id")
    judged = judged.withColumn("rejected_for", nothing).withColumn("rejected_by", nothing)
    judged = refuse_taken_down(judged, marks(ctx.lake))
    rejected, figure = F.col("rejected_for").isNotNull(), F.lit(None).cast("double")
    return judged.select(
        "doc_id", "ingest_id", "source", F.when(rejected, "rejected").otherwise("kept").alias("state"),
        F.coalesce("rejected_for", F.lit("kept")).alias("reason"), nothing.alias("dup_of"), figure.alias("jaccard"), figure.alias("containment"),
        F.lit(None).cast("int").alias("bands_matched"), F.coalesce("rejected_by", F.lit("{}")).alias("evidence"), F.lit(SCHEME).alias("scheme"),
    )  # fmt: skip


def kept(job: JobRun, split: str) -> DataFrame:
    """silver.documents: each is a cluster of its own, all on one side of the split.

    Nothing is masked here: a gold may look like a telephone number. What brings personal data is masked before it is stored at all.
    """
    from pyspark.sql import functions as F

    carried = [
        name for name in DOCUMENT_PROFILES.schema.names if name in DOCUMENTS.schema.names and name not in ("ingest_id", "ingest_seq")
    ]
    figures = job.read_written(DOCUMENT_PROFILES).select(*carried)
    passed = job.read_written(DOCUMENT_VERDICTS).where("state = 'kept'").select("doc_id")
    return (
        job.read_written(RECEIVED).join(passed, "doc_id", "left_semi").join(figures, "doc_id")
        .withColumn("cluster_id", F.col("doc_id")).withColumn("split", F.lit(split)).withColumn("masked", F.lit(None).cast("string"))
        .select(*DOCUMENTS.schema.names)
    )  # fmt: skip


def candidates(ctx: JobContext, job: JobRun, rows: pa.Table) -> DataFrame:
    """silver.qa: the candidates of kept documents."""
    made = ctx.spark.createDataFrame(rows)
    return made.join(job.read_written(DOCUMENTS).select("doc_id"), "doc_id", "left_semi").select(*QA.schema.names)


def conversions(job: JobRun) -> DataFrame:
    """silver.conversions: each kept document was read by code, in one step and for nothing."""
    from pyspark.sql import functions as F

    nothing = F.lit(None).cast("string")
    made = {
        "stage": F.lit("extract"), "ordinal": F.lit(0), "state": F.lit("passed"), "reason": F.lit("passed"), "persona": nothing, "model": nothing,
        "draws": F.lit(0), **{name: F.lit(0).cast("long") for name in ("prompt_tokens", "cached_tokens", "completion_tokens", "price_nanos")},
    }  # fmt: skip
    rows = job.read_written(QA)
    return rows.select(*(made.get(name, F.col(name)).alias(name) for name in CONVERSIONS.schema.names))
