"""Rows that a new table of a schema version needs from the tables that were there before."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from jobs.lake.layout import Lake
from jobs.lake.write import SliceWrite, read_table, write_slice
from jobs.ledger import read_events
from schemas.conf import Config
from schemas.gold.prompts import PROMPTS
from schemas.gold.rl import RL
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.tasks import TASKS
from schemas.ops.rounds import ROUNDS
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
    from jobs.feedback.repair import contradicted

    def of_round(table: Table) -> DataFrame:
        return read_table(spark, lake, table).where(f"round = {number}")

    plan, stats = of_round(ROUND_PLAN), of_round(TASK_STATS)
    prompts = read_table(spark, lake, PROMPTS).join(plan.select("prompt_id"), "prompt_id", "left_semi")
    doubted = contradicted(stats, config.feedback).select("task_id").distinct()
    return offered(plan, prompts, read_table(spark, lake, TASKS), stats, doubted)
