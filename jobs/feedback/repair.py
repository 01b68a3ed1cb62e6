"""What a round calls into question: tasks whose gold the policy contradicts, eval prompts that it failed, the next task versions.

A majority against gold says little when the policy is weak, so the bound is high (E§3: 6 of 8 on one other answer flags 5 %), the
queue is capped and a person decides. A failed open-book probe blames the item only where the policy is known to answer sound ones: it is
queued from ``MIN_AUDITED`` of ``[feedback] audited_open_book`` on, and only reported (gold.round_metrics, probe_open_book_failed) below.
An eval task may stand in the queue but keeps its version, because the fixed set must stay the same in every round; a training task that
is in the queue gets a version with status ``repair``, which keeps it out of later rounds until something about it changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.conf import Feedback
from schemas.gold.regression import REGRESSION
from schemas.gold.repair_queue import REPAIR_QUEUE
from schemas.gold.tasks import TASKS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WHY = "majority_against_gold"
OPEN_BOOK = "open_book_failed"
#: Open-book pass rate on audited items from which a policy's failure says more of the item than of the policy.
MIN_AUDITED = 0.8


def contradicted(stats: DataFrame, config: Feedback) -> DataFrame:
    """Rows of silver.task_stats in which at least repair_min_share of at least repair_min_samples valid samples give ONE other answer."""
    from pyspark.sql import functions as F

    enough = (F.col("n_valid") >= config.repair_min_samples) & (
        F.col("majority_count") >= F.lit(config.repair_min_share) * F.col("n_valid")
    )
    return stats.where("context_mode != 'open_book' AND majority_is_gold = false").where(enough).withColumn("why", F.lit(WHY))


def unanswerable(stats: DataFrame, config: Feedback) -> DataFrame:
    """Rows of silver.task_stats of open-book probes that none of at least repair_min_samples valid samples answered right.

    None where the policy's audited open-book pass rate is below ``MIN_AUDITED``.
    """
    from pyspark.sql import functions as F

    failed = stats.where("context_mode = 'open_book' AND k = 0").where(F.col("n_valid") >= config.repair_min_samples)
    named = failed.withColumn("majority_answer", F.coalesce("majority_answer", F.lit(""))).withColumn("why", F.lit(OPEN_BOOK))
    return named.where(F.lit(config.audited_open_book >= MIN_AUDITED))


def doubtful(stats: DataFrame, config: Feedback) -> DataFrame:
    """Both: what may stand in the repair queue, and why."""
    return contradicted(stats, config).unionByName(unanswerable(stats, config))


def repair_queue(doubts: DataFrame, plan: DataFrame, prompts: DataFrame, tasks: DataFrame, cap: int) -> DataFrame:
    """Rows of gold.repair_queue: of each task the prompt that shows it best, the clearest first, at most ``cap``."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    clearest = [F.col("share").desc(), F.col("n_valid").desc(), F.col("prompt_id"), F.col("policy_id"), F.col("sampling_hash")]
    per_task = Window.partitionBy("task_id").orderBy(*clearest)
    shown = (
        doubts.withColumn("share", F.col("majority_count") / F.col("n_valid"))
        .withColumn("_n", F.row_number().over(per_task)).where("_n = 1")
        .orderBy(*clearest).limit(cap)
        .withColumn("rank", F.row_number().over(Window.orderBy(*clearest)))
    )  # fmt: skip
    # The letter of a choice says nothing to a reader of the queue: the option's text does.
    letters = F.from_json("options", "array<string>")
    option = F.when(F.col("majority_answer").rlike("^[a-z]$"), F.try_element_at(letters, F.ascii("majority_answer") - 96))
    said = F.when(F.col("context_mode") == "choice", F.coalesce(option, "majority_answer")).otherwise(F.col("majority_answer"))
    facts = tasks.select("task_id", F.col("version").alias("task_version"), "question", F.col("answer").alias("gold"))
    joined = (
        shown.join(plan.select("prompt_id", "task_version"), "prompt_id")
        .join(prompts.select("prompt_id", "options"), "prompt_id")
        .join(facts, ["task_id", "task_version"])
        .withColumn("majority_answer", said)
    )
    return joined.select(*REPAIR_QUEUE.schema.names)


def regression(stats: DataFrame) -> DataFrame:
    """Rows of gold.regression: eval prompts of which no valid sample was right; one row a prompt."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    one = Window.partitionBy("prompt_id").orderBy("policy_id", "sampling_hash")
    failed = stats.where("role = 'eval' AND n_valid > 0 AND k = 0").withColumn("_n", F.row_number().over(one)).where("_n = 1")
    return failed.withColumn("why", F.lit("all_wrong")).select(*REGRESSION.schema.names)


def next_versions(queue: DataFrame, newest: DataFrame, *, origin: str) -> DataFrame:
    """New versions of the training tasks in the queue.

    Args:
        queue: gold.repair_queue of the round.
        newest: the version of every task that is in force before this job; a task that has changed since the round was planned, or is no
            longer active, is left as it is.
        origin: slice of gold.tasks that is written.
    """
    from pyspark.sql import functions as F

    raised = queue.select("task_id", F.col("task_version").alias("version"), "round", "majority_count", "n_valid", "why")
    wrong = F.when(F.col("why") == OPEN_BOOK, F.col("n_valid")).otherwise(F.col("majority_count"))
    reason = F.format_string("%s: %d of %d samples of round %d", "why", wrong, "n_valid", "round")
    changed = {"version": (F.col("version") + 1).cast("int"), "origin": F.lit(origin), "status": F.lit("repair"), "status_reason": reason}
    doubted = newest.where("split = 'train' AND status = 'active'").join(raised, ["task_id", "version"])
    return doubted.select(*[changed.get(name, F.col(name)).alias(name) for name in TASKS.schema.names])
