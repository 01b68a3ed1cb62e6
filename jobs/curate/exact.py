"""Exact duplicates: equal digests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def exact_twins(pool: DataFrame) -> DataFrame:
    """Who repeats whom, letter for letter.

    Args:
        pool: ``rank``, ``digest``; new documents that passed the heuristics and all earlier kept ones.

    Returns:
        ``doc_id`` of every document whose digest a better-ranked one has, ``twin`` of the best-ranked. Linear in the size of
        a group: one aggregation and one join, no pairs.
    """
    first = pool.groupBy("digest").agg(F.min("rank").alias("first"), F.count(F.lit(1)).alias("copies")).where("copies > 1")
    return (
        pool.join(first, "digest").where(F.col("rank") != F.col("first")).select(F.col("rank.doc_id"), F.col("first.doc_id").alias("twin"))
    )
