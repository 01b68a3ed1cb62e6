"""Documents that were taken down stay out when they are delivered again: by the same id, the same text or the same address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: kind of mark -> how a document shows it; the first that fits is the evidence.
_SHOWN = {"doc": F.col, "text": lambda _: F.lower(F.hex("digest")), "uri": F.col}
_COLUMNS = {"doc": "doc_id", "text": "digest", "uri": "uri"}
REASON = "takedown"


def refuse_taken_down(judged: DataFrame, marks: Sequence[tuple[str, str, str]]) -> DataFrame:
    """Reject what a tombstone knows, before any other rule.

    Args:
        judged: ``doc_id``, ``digest``, ``uri``, ``rejected_for``, ``rejected_by``.
        marks: (``doc``, ``text`` or ``uri``; id, hex digest or address; takedown_id), each pair of the first two once.
    """
    if not marks:
        return judged
    known = judged.sparkSession.createDataFrame(list(marks), "kind string, value string, takedown string")
    for kind, column in _COLUMNS.items():
        own = known.where(F.col("kind") == kind).select(F.col("value").alias(f"_{kind}"), F.col("takedown").alias(f"_by_{kind}"))
        judged = judged.join(F.broadcast(own), _SHOWN[kind](column) == F.col(f"_{kind}"), "left").drop(f"_{kind}")
    by = [
        F.when(F.col(f"_by_{kind}").isNotNull(), F.to_json(F.struct(F.lit(kind).alias("known_by"), F.col(f"_by_{kind}").alias("takedown"))))
        for kind in _COLUMNS
    ]
    evidence = F.coalesce(*by)
    return (
        judged.withColumn("_evidence", evidence)
        .withColumn("rejected_for", F.when(F.col("_evidence").isNotNull(), F.lit(REASON)).otherwise(F.col("rejected_for")))
        .withColumn("rejected_by", F.coalesce("_evidence", "rejected_by"))
        .drop("_evidence", *[f"_by_{kind}" for kind in _COLUMNS])
    )
