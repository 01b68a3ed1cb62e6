"""Figures of a round as sums of integers: the value is one division, so it is the same on every machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from udfs.stats.group import RELATIVE_SPREAD

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: Slices of gold.round_metrics, by columns of silver.trajectories.
SLICES = ("task_type", "role", "context_mode", "template")
#: Slices of gold.worker_metrics.
MACHINE_SLICES = ("worker", "time_window")

#: Metric -> (counted, counted over), columns of :func:`facts`.
OF_TRAJECTORIES = {
    "samples": ("one", "slice_one"), "solve_rate": ("correct", "valid"), "null_reward_share": ("unknown", "one"),
    "format_failures": ("bad_format", "valid"), "duplicate_share": ("duplicate_response", "said"), "empty_share": ("empty_response", "one"),
    "copied_share": ("copied_prompt", "one"), "abnormal_length_share": ("abnormal_length", "one"), "truncated_share": ("truncated", "one"),
    "rejected_share": ("rejected", "one"), "flagged_share": ("flagged", "one"), "accepted_share": ("accepted", "one"),
    "trainable_share": ("trainable", "one"), "mean_length": ("tokens", "counted"),
}  # fmt: skip
#: Metric -> (counted, counted over), columns of :func:`group_facts`.
OF_GROUPS = {"zero_variance_share": ("constant", "one"), "all_wrong_share": ("all_wrong", "one"), "all_right_share": ("all_right", "one")}
#: Open-book probes report, they never reject: a weak policy fails on most sound tasks (E§3).
OF_PROBES = {"probe_open_book_failed": ("all_wrong", "one")}
OF_PLAN = {"missing_samples": ("missing", "planned")}

_FLAGS = ("bad_format", "duplicate_response", "empty_response", "copied_prompt", "abnormal_length")


def facts(trajectories: DataFrame, verdicts: DataFrame, rewards: DataFrame, *, window_minutes: int) -> DataFrame:
    """One row a trajectory: its slices, and integers (mostly 0 or 1) to be summed."""
    from pyspark.sql import functions as F

    judged = verdicts.select("trajectory_id", "state", "flags")
    outcome = rewards.where("is_outcome").select("trajectory_id", "verdict")
    rows = trajectories.join(judged, "trajectory_id").join(outcome, "trajectory_id", "left")
    valid = F.col("outcome_reward").isNotNull()
    # Not F.window: it drops rows whose time is unknown.
    seconds = window_minutes * 60
    window = F.timestamp_seconds(F.floor(F.unix_seconds("finished_at") / seconds) * seconds)
    counted: dict[str, Column] = {
        "one": F.lit(1),
        "valid": valid.cast("int"),
        "unknown": (~valid).cast("int"),
        "correct": F.coalesce((valid & (F.col("verdict") == "correct")).cast("int"), F.lit(0)),
        "said": (F.col("num_turns") > 0).cast("int"),
        "truncated": (F.col("status") == "truncated").cast("int"),
        "trainable": F.col("is_trainable").cast("int"),
        "tokens": F.coalesce("response_length", F.lit(0)),
        "counted": F.col("response_length").isNotNull().cast("int"),
        **{flag: F.array_contains("flags", flag).cast("int") for flag in _FLAGS},
        **{state: (F.col("state") == state).cast("int") for state in ("accepted", "flagged", "rejected")},
    }
    return rows.select(
        "group_id", "role", "context_mode", "task_type", "template", F.col("worker_id").alias("worker"), "outcome_reward",
        F.coalesce(F.date_format(window, "yyyy-MM-dd'T'HH:mm:ss'Z'"), F.lit("unknown")).alias("time_window"),
        *[column.cast("long").alias(name) for name, column in counted.items()],
    )  # fmt: skip


def group_facts(rows: DataFrame) -> DataFrame:
    """One row a group with a known reward: whether its rewards are all equal (R§5's rule), all wrong, all right."""
    from pyspark.sql import functions as F

    known = rows.where("valid = 1").groupBy("group_id", *SLICES)
    sums = known.agg(
        F.max("outcome_reward").alias("high"), F.min("outcome_reward").alias("low"), F.sum("correct").alias("k"), F.sum("valid").alias("n")
    )
    constant = F.col("high") - F.col("low") <= RELATIVE_SPREAD * F.greatest(F.lit(1.0), F.abs("high"))
    return sums.select(
        *SLICES, F.lit(1).cast("long").alias("one"), constant.cast("long").alias("constant"),
        (F.col("k") == 0).cast("long").alias("all_wrong"), (F.col("k") == F.col("n")).cast("long").alias("all_right"),
    )  # fmt: skip


def plan_facts(plan: DataFrame, trajectories: DataFrame) -> DataFrame:
    """One row a planned prompt: samples planned and never delivered, in any run; failed ones were delivered."""
    from pyspark.sql import functions as F

    arrived = trajectories.where("failure_class IS NULL OR failure_class NOT IN ('not_planned', 'duplicate_sample', 'sample_out_of_range')")
    counts = arrived.groupBy("prompt_id").agg(F.countDistinct("sample_index").alias("arrived"))
    missing = F.greatest(F.col("n_samples") - F.coalesce("arrived", F.lit(0)), F.lit(0))
    return plan.join(counts, "prompt_id", "left").select(
        "task_type", "role", "context_mode", F.col("n_samples").cast("long").alias("planned"), missing.cast("long").alias("missing")
    )


def figures(
    rows: DataFrame, metrics: dict[str, tuple[str, str]], slices: tuple[str, ...], *, round_no: int, everything: bool = True
) -> DataFrame:
    """Rows of gold.round_metrics: every metric in every slice.

    Args:
        rows: integers to sum, and the slice columns.
        metrics: name -> (numerator, denominator) columns; the denominator ``slice_one`` makes the value the sum itself.
        slices: columns to slice by.
        round_no: round.
        everything: also one slice over all rows.
    """
    from pyspark.sql import functions as F

    kinds = [F.struct(F.lit(kind).alias("slice_kind"), F.col(kind).alias("slice")) for kind in slices]
    if everything:
        kinds.insert(0, F.struct(F.lit("all").alias("slice_kind"), F.lit("all").alias("slice")))
    needed = sorted({name for pair in metrics.values() for name in pair if name != "slice_one"})
    summed = (
        rows.select(F.explode(F.array(*kinds)).alias("cut"), *needed)
        .groupBy("cut.slice_kind", "cut.slice")
        .agg(*[F.sum(n).alias(n) for n in needed])
    )
    ratio = [
        F.struct(
            F.lit(name).alias("name"),
            F.col(over).alias("numerator"),
            (F.lit(1).cast("long") if under == "slice_one" else F.col(under)).alias("denominator"),
        )
        for name, (over, under) in metrics.items()
    ]
    long = summed.select("slice_kind", "slice", F.inline(F.array(*ratio)))
    value = F.when(F.col("denominator") > 0, F.col("numerator") / F.col("denominator"))
    return long.select(
        F.lit(round_no).cast("int").alias("round"), "name", "slice_kind", "slice", "numerator", "denominator", value.alias("value")
    )
