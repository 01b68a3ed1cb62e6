"""One verdict for every document of an ingest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from schemas.conf import Curate
from schemas.silver.document_verdicts import DOCUMENT_VERDICTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def verdicts(judged: DataFrame, twins: DataFrame, near: DataFrame, curate: Curate, scheme: str) -> DataFrame:
    """Fold heuristics, exact and near duplicates into one row a document, columns as in ``DOCUMENT_VERDICTS``.

    ``dup_of`` is always a kept document: an exact copy of a document that is itself a near duplicate is a near duplicate of the
    same kept one, by the same figures (equal texts have equal shingles), and its evidence names the copy.

    Args:
        judged: profiles of the ingest with ``rejected_for`` and ``rejected_by``.
        twins: ``doc_id``, ``twin`` of exact duplicates.
        near: near duplicates: ``doc_id``, ``dup_of`` and figures.
        curate: the threshold that evidence quotes.
        scheme: names and versions of all rules.
    """
    measured = near.withColumnsRenamed({"doc_id": "stands_for", "dup_of": "near_to"})
    rows = judged.join(twins, "doc_id", "left").withColumn("stands_for", F.coalesce("twin", "doc_id")).join(measured, "stands_for", "left")
    rejected, is_near, is_exact = F.col("rejected_for").isNotNull(), F.col("near_to").isNotNull(), F.col("twin").isNotNull()
    return rows.select(
        "doc_id", "ingest_id", "source",
        F.when(rejected, "rejected").when(is_near | is_exact, "duplicate").otherwise("kept").alias("state"),
        F.when(rejected, F.col("rejected_for")).when(is_near, "near_duplicate").when(is_exact, "exact_duplicate").otherwise("kept").alias("reason"),
        F.coalesce("near_to", "twin").alias("dup_of"),
        F.when(is_near, F.col("jaccard")).when(is_exact, F.lit(1.0)).alias("jaccard"),
        F.when(is_near, F.col("containment")).when(is_exact, F.lit(1.0)).alias("containment"),
        F.when(is_near, F.col("bands_matched")).when(is_exact, F.size("band_keys")).alias("bands_matched"),
        F.coalesce(F.when(rejected, F.col("rejected_by")), _evidence(curate)).alias("evidence"),
        F.lit(scheme).alias("scheme"),
    ).select(*DOCUMENT_VERDICTS.schema.names)  # fmt: skip


def _evidence(curate: Curate) -> object:
    threshold = F.lit(curate.jaccard).alias("threshold")
    near = F.struct(F.col("twin").alias("copy_of"), F.lit("jaccard").alias("metric"), threshold, F.col("jaccard").alias("value"))
    exact = F.struct(F.lower(F.hex("digest")).alias("digest"))
    return F.when(F.col("near_to").isNotNull(), F.to_json(near)).when(F.col("twin").isNotNull(), F.to_json(exact)).otherwise("{}")
