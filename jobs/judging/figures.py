"""What came of a run of judgements: valid, invalid and failed ones, how far the two orders of a pair agree, which place is favoured, the price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def figures(said: DataFrame) -> dict[str, Any]:
    """Figures of rows of bronze.judgements of one run; ``input`` of them is ``valid`` + ``invalid`` + ``failed``.

    Of pairs: ``both_orders`` were judged validly in both orders, in ``agreed`` of them with one verdict; of the ``decided`` judgements (no
    tie) ``first_place`` named the response that was shown first. A judge without a liking for a place is at one half there.
    """
    from pyspark.sql import functions as F

    failed = F.col("failure_class").isNotNull()
    decided = ~failed & F.col("verdict").isin("a", "b")
    row = said.agg(
        F.count("*").alias("judgements"),
        F.count_if(~failed & (F.col("verdict") != "invalid")).alias("valid"),
        F.count_if(~failed & (F.col("verdict") == "invalid")).alias("invalid"),
        F.count_if(decided).alias("decided"),
        F.count_if(decided & ((F.col("verdict") == "a") != F.col("swapped"))).alias("first_place"),
        # As decimals: a sum of doubles depends on the order (law 3).
        F.coalesce(F.sum(F.col("price").cast("decimal(28,12)")), F.lit(0)).alias("price"),
    ).first()  # fmt: skip
    found: dict[str, Any] = {name: int(row[name]) for name in ("judgements", "valid", "invalid")}
    found["failed"] = {r["failure_class"]: int(r["count"]) for r in said.where(failed).groupBy("failure_class").count().collect()}
    found["price"] = float(row["price"])
    if said.where("kind = 'pairwise'").limit(1).count():
        found |= _orders(said) | {name: int(row[name]) for name in ("decided", "first_place")}
        found["first_place_share"] = _share(found["first_place"], found["decided"])
        found["agreement"] = _share(found["agreed"], found["both_orders"])
    found["invalid_share"] = _share(found["invalid"], found["judgements"])
    return found


def asked_about(said: DataFrame) -> int:
    """Trajectories that a judgement is about."""
    from pyspark.sql import functions as F

    sides = said.select(F.explode(F.array("trajectory_a", "trajectory_b")).alias("trajectory_id"))
    return int(sides.where("trajectory_id IS NOT NULL").distinct().count())


def _orders(said: DataFrame) -> dict[str, int]:
    from pyspark.sql import functions as F

    valid = said.where("kind = 'pairwise' AND failure_class IS NULL AND verdict != 'invalid'")
    pairs = valid.groupBy("trajectory_a", "trajectory_b", "judge", "draw").agg(
        F.count_distinct("swapped").alias("orders"), (F.min("verdict") == F.max("verdict")).alias("same")
    )
    both = F.col("orders") == 2
    row = pairs.agg(F.count_if(both).alias("both_orders"), F.count_if(both & F.col("same")).alias("agreed")).first()
    return {name: int(row[name]) for name in ("both_orders", "agreed")}


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None
