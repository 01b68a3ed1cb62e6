"""Thresholds over metric columns, as Spark SQL: a changed threshold reads figures, never text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from schemas.conf import Curate
from udfs.quality.rules import RULES, Rule

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def settings_of(curate: Curate, preset: str) -> Any:
    """Where the thresholds of a set of rules stand."""
    return curate if preset == "basic" else getattr(curate, preset)


def judge(profiles: DataFrame, curate: Curate) -> DataFrame:
    """Add ``rejected_for`` and ``rejected_by``: reason and evidence of the first rule that a document fails, else null.

    ``basic`` is asked first, then the language where languages are named, then the other sets in the order of ``RULES``.
    """
    failures = [_failure(rule, getattr(settings_of(curate, preset), rule.threshold)) for preset, rule in rules_in_force(curate)]
    if curate.languages:
        at = len(RULES["basic"]) if "basic" in curate.rules else 0
        failures[at:at] = _wrong_language(curate)
    fine = F.lit(None).cast("string")
    reason = F.coalesce(*(F.when(fails, F.lit(name)) for fails, name, _ in failures), fine)
    evidence = F.coalesce(*(F.when(fails, shown) for fails, _, shown in failures), fine)
    return profiles.withColumn("rejected_for", reason).withColumn("rejected_by", evidence)


def rules_in_force(curate: Curate) -> list[tuple[str, Rule]]:
    """(set, rule) of all sets that ``curate.rules`` names, in the order in which they are asked."""
    return [(preset, rule) for preset, rules in RULES.items() if preset in curate.rules for rule in rules]


def _failure(rule: Rule, limit: float) -> tuple[Column, str, Column]:
    metric = F.col(rule.metric)
    fails = metric < F.lit(limit) if rule.side == "below" else metric > F.lit(limit)
    shown = F.to_json(F.struct(F.lit(rule.metric).alias("metric"), F.lit(limit).alias("threshold"), metric.alias("value")))
    return fails, rule.reason, shown


def _wrong_language(curate: Curate) -> list[tuple[Column, str, Column]]:
    spoken, score = F.col("language"), F.col("language_score")
    wanted = F.array(*map(F.lit, sorted(curate.languages)))
    other = F.struct(F.lit("language").alias("metric"), wanted.alias("threshold"), spoken.alias("value"), score.alias("score"))
    limit = F.lit(curate.min_language_score)
    unsure = F.struct(F.lit("language_score").alias("metric"), limit.alias("threshold"), score.alias("value"), spoken.alias("language"))
    return [
        (~spoken.isin(*curate.languages), "language", F.to_json(other)),
        # Undetermined has no probability: who names it takes it as it is.
        ((spoken != "und") & (score < limit), "language_unsure", F.to_json(unsure)),
    ]
