"""Rows that a new table of a schema version needs from the tables that were there before."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from jobs.lake.layout import Lake
from jobs.lake.write import SliceWrite, read_table, write_slice
from jobs.ledger import read_events
from schemas.bronze.replies import REPLIES
from schemas.conf import Config
from schemas.gold.prompts import PROMPTS
from schemas.gold.rl import RL
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.tasks import TASKS
from schemas.ops.rounds import ROUNDS
from schemas.silver.conversions import CONVERSIONS
from schemas.silver.documents import DOCUMENTS
from schemas.silver.qa import QA
from schemas.silver.task_stats import TASK_STATS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from schemas.table import Table


def rounds_without_rl(lake: Lake) -> list[int]:
    """Rounds that were closed before gold.rl was."""
    held, counted = lake.slices(RL), lake.slices(TASK_STATS)
    # Not those whose feedback has died half-way: it will write gold.rl itself.
    closed = {str(event["round"]) for event in read_events(lake, ROUNDS) if event["state"] == "closed"}
    return sorted(int(value) for value in closed if value in counted and value not in held)


def fill_rl(spark: SparkSession, lake: Lake, config: Config) -> None:
    """gold.rl of rounds that were closed before it was: as feedback would have written it, under the fingerprint of that feedback.

    Which golds are in doubt is judged by the settings in force now; those of that time are not kept.
    """
    for number in rounds_without_rl(lake):
        fingerprint = lake.slices(TASK_STATS)[str(number)].fingerprint
        write_slice(spark, lake, SliceWrite(RL, str(number), fingerprint, "migrate"), partial(_offered, spark, lake, config, number))


def _offered(spark: SparkSession, lake: Lake, config: Config, number: int) -> DataFrame:
    from jobs.feedback.offered import offered
    from jobs.feedback.repair import doubtful

    def of_round(table: Table) -> DataFrame:
        return read_table(spark, lake, table).where(f"round = {number}")

    plan, stats = of_round(ROUND_PLAN), of_round(TASK_STATS)
    prompts = read_table(spark, lake, PROMPTS).join(plan.select("prompt_id"), "prompt_id", "left_semi")
    doubted = doubtful(stats, config.feedback).select("task_id").distinct()
    return offered(plan, prompts, read_table(spark, lake, TASKS), stats, doubted)


def fill_conversions(spark: SparkSession, lake: Lake, config: Config) -> None:
    """silver.conversions of ingests that were converted before it was: by rules, of which one reply says all. Under the fingerprint of silver.qa."""
    del config
    held = lake.slices(CONVERSIONS)
    for ingest_id, commit in sorted(lake.slices(QA).items()):
        if ingest_id not in held:
            intent = SliceWrite(CONVERSIONS, ingest_id, commit.fingerprint, "convert_corpus")
            write_slice(spark, lake, intent, partial(_extracted, spark, lake, ingest_id))


def _extracted(spark: SparkSession, lake: Lake, ingest_id: str) -> DataFrame:
    from pyspark.sql import functions as F

    documents = read_table(spark, lake, DOCUMENTS).where(F.col("ingest_id") == ingest_id)
    replies = read_table(spark, lake, REPLIES).where(F.col("ingest_id") == ingest_id)
    last = replies.groupBy("doc_id").agg(
        F.max(F.struct(F.col("reply").isNotNull(), "draw", "failure_class", "n_items", "template")).alias("last"),
        F.count("*").alias("draws"),
    )
    failed, none = F.col("last.failure_class").isNotNull(), F.col("last.n_items") == 0
    made = {
        "stage": F.lit("extract"),
        "ordinal": F.lit(0),
        "state": F.when(failed, "failed").when(none, "rejected").otherwise("passed"),
        "reason": F.when(failed, F.col("last.failure_class")).when(none, "no_items").otherwise("passed"),
        "template": F.col("last.template"),
        "draws": F.col("draws").cast("int"),
        **{name: F.lit(0).cast("long") for name in ("prompt_tokens", "cached_tokens", "completion_tokens", "price_nanos")},
        **{name: F.lit(None).cast("string") for name in ("domain", "persona", "qa_id", "model")},
    }
    joined = documents.select("ingest_id", "doc_id").join(last, "doc_id")
    return joined.select(*((made[name] if name in made else F.col(name)).alias(name) for name in CONVERSIONS.schema.names))
