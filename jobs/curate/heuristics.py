"""Thresholds over metric columns, as Spark SQL: a changed threshold reads figures, never text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from schemas.conf import Curate
from udfs.quality.rules import RULES, Rule

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def _fails(rule: Rule, curate: Curate) -> Column:
    limit = getattr(curate, rule.threshold)
    return F.col(rule.metric) < F.lit(limit) if rule.side == "below" else F.col(rule.metric) > F.lit(limit)


def _evidence(rule: Rule, curate: Curate) -> Column:
    limit = getattr(curate, rule.threshold)
    return F.to_json(F.struct(F.lit(rule.metric).alias("metric"), F.lit(limit).alias("threshold"), F.col(rule.metric).alias("value")))


def judge(profiles: DataFrame, curate: Curate) -> DataFrame:
    """Add ``rejected_for`` and ``rejected_by``: reason and evidence of the first rule that a document fails, else null."""
    reason = F.coalesce(*(F.when(_fails(rule, curate), F.lit(rule.reason)) for rule in RULES))
    evidence = F.coalesce(*(F.when(_fails(rule, curate), _evidence(rule, curate)) for rule in RULES))
    return profiles.withColumn("rejected_for", reason).withColumn("rejected_by", evidence)
