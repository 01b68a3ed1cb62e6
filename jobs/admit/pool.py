"""Admitted candidates as tasks, and tasks as prompts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from jobs.lake.types import spark_schema
from schemas.conf import Form
from schemas.gold.prompts import PROMPTS
from schemas.gold.tasks import TASKS
from udfs.admission.batches import prompt_batches
from udfs.admission.stages import DEFAULT_STAGE, STAGES
from udfs.coding.rewards import VERIFIER as CODE_VERIFIER
from udfs.coding.rewards import VERSION as CODE_VERSION
from udfs.grading import VERIFIER, VERSION
from udfs.sources.adapters import ADAPTERS
from udfs.sources.item import ENGINES, GENERATOR

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: Answers per bucket from which a choice is topped up; a task meets one bucket of its kind.
_BUCKET = 32


def _stage() -> Column:
    from pyspark.sql import functions as F

    stages = F.create_map(*(F.lit(x) for kind, stage in sorted(STAGES.items()) for x in (kind, stage)))
    return F.coalesce(F.try_element_at(stages, F.col("kind")), F.lit(DEFAULT_STAGE)).cast("int")


def _source_kind() -> Column:
    """What an added candidate stands on, by the adapter that its template names."""
    from pyspark.sql import functions as F

    kinds = F.create_map(*(F.lit(x) for name, adapter in sorted(ADAPTERS.items()) for x in (name, adapter.source_kind)))
    adapted = F.element_at(kinds, F.substring_index("template", "@", 1))
    return F.when(F.col("engine") == GENERATOR, "generator").otherwise(adapted)


def tasks(admitted: DataFrame, origin: str, documents: DataFrame) -> DataFrame:
    """Rows of gold.tasks, version 1. An eval task is never trained on.

    Args:
        admitted: ``CHECKED`` candidates.
        origin: slice that is written.
        documents: silver.documents of the ingest; those of added items say of which stage they are.
    """
    from pyspark.sql import functions as F

    added = F.col("engine").isin(sorted(ENGINES))
    held_out = F.array(F.lit("eval"), F.when(added, "regression").otherwise("canary"))
    roles = F.when(F.col("split") == "eval", held_out).otherwise(F.array(F.lit("train"), F.lit("probe")))
    by_code = F.when(F.col("answer_type") == "code", f"{CODE_VERIFIER}@{CODE_VERSION}").otherwise(f"{VERIFIER}@{VERSION}")
    made = {
        "task_id": F.col("qa_id"), "version": F.lit(1), "origin": F.lit(origin), "allowed_roles": roles, "verifier": by_code,
        "source_kind": F.when(added, _source_kind()).otherwise("corpus"), "stage": F.when(added, F.col("_stage")).otherwise(_stage()),
        "status": F.lit("active"), "status_reason": F.lit(None).cast("string"), "parent_task_id": F.lit(None).cast("string"),
    }  # fmt: skip
    staged = documents.select("doc_id", F.get_json_object("metadata", "$.stage").try_cast("int").alias("_stage"))
    return admitted.join(staged, "doc_id").select(
        *((made[name] if name in made else F.col(name)).alias(name) for name in TASKS.schema.names)
    )


def _pool(answers: DataFrame) -> DataFrame:
    """``kind, bucket, buckets, pool``: the answers of each kind in buckets of about ``_BUCKET``, by a hash of the answer."""
    from pyspark.sql import functions as F

    distinct = answers.select("kind", "answer").distinct()
    sizes = distinct.groupBy("kind").agg(F.greatest(F.lit(1), F.floor(F.count("*") / _BUCKET)).cast("long").alias("buckets"))
    bucket = F.pmod(F.xxhash64("answer"), F.col("buckets"))
    return (
        distinct.join(sizes, "kind").withColumn("bucket", bucket)
        .groupBy("kind", "bucket", "buckets").agg(F.array_sort(F.collect_list("answer")).alias("pool"))
    )  # fmt: skip


def prompts(made: DataFrame, windows: DataFrame, earlier: DataFrame, *, forms: Sequence[Form], n_options: int) -> DataFrame:
    """Rows of gold.prompts for new tasks.

    Args:
        made: rows of gold.tasks.
        windows: ``qa_id, window, window_start, n_chars``.
        earlier: ``kind, answer`` of the pool before this ingest.
        forms: which forms.
        n_options: wished options of a choice.
    """
    from pyspark.sql import functions as F

    pool = _pool(made.select("kind", "answer").unionByName(earlier.select("kind", "answer")))
    buckets = pool.select("kind", "buckets").distinct()
    bucket = F.pmod(F.xxhash64("task_id"), F.col("buckets"))
    ready = (
        made.join(windows, "qa_id").join(buckets, "kind").withColumn("bucket", bucket)
        .join(pool.drop("buckets"), ["kind", "bucket"], "left").drop("bucket", "buckets")
    )  # fmt: skip
    return ready.mapInArrow(partial(prompt_batches, forms=tuple(forms), n_options=n_options), spark_schema(PROMPTS.schema))
