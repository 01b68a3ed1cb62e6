"""What became of each document, from all that was replied about it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from jobs.context import JobContext
from jobs.lake.types import spark_schema
from schemas.silver.documents import DOCUMENTS
from udfs.replies.outcomes import ANSWERED, OUTCOMES, REPLIED, outcome_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def outcomes(ctx: JobContext, replies: DataFrame, ingest_id: str, settings: dict[str, Any]) -> DataFrame:
    """``OUTCOMES``, one row a document of the ingest that was replied about; for one evaluation, so persist it."""
    from pyspark.sql import functions as F

    names = [REPLIED.field(i).name for i in range(REPLIED.num_fields)]
    # Rows of before there were stages are the rules'.
    staged = replies.withColumn("stage", F.coalesce("stage", F.lit("extract"))).where("stage != 'audit'")
    answered = staged.groupBy("doc_id").agg(F.collect_list(F.struct(*names)).alias("replies"))
    joined = ctx.read(DOCUMENTS, ingest_id).join(answered, "doc_id").select(*ANSWERED.names)
    return joined.mapInArrow(partial(outcome_batches, settings=settings), spark_schema(OUTCOMES))


def unfolded(made: DataFrame, column: str) -> DataFrame:
    """The rows of one table among the outcomes: ``items`` or ``states``."""
    from pyspark.sql import functions as F

    return made.select(F.explode(column).alias("row")).select("row.*")
