"""Open-book probes: a figure below the audited pass rate, a reason to look at the item from it on."""

from __future__ import annotations

import pyarrow as pa
import pytest

from jobs.config import load_config
from jobs.feedback.repair import MIN_AUDITED, doubtful, next_versions
from jobs.lake.types import spark_schema
from schemas.gold.repair_queue import REPAIR_QUEUE
from schemas.gold.tasks import TASKS
from schemas.silver.task_stats import TASK_STATS
from tests.lake_rows import filled

pytestmark = pytest.mark.spark


def stat(prompt, mode, k, n, majority):
    return filled(
        TASK_STATS, prompt_id=prompt, task_id=f"t-{prompt}", context_mode=mode, n=n, n_valid=n, k=k, majority_answer=majority,
        majority_count=n - k - 1, majority_is_gold=False,
    )  # fmt: skip


STATS = [
    stat("failed", "open_book", 0, 8, None),
    stat("few", "open_book", 0, 7, "bern"),  # fewer than repair_min_samples
    stat("once", "open_book", 1, 8, "bern"),
    stat("closed", "closed_book", 0, 8, "bern"),  # 7 of 8 on one other answer: contradicted, with or without an audit
    stat("unsure", "closed_book", 2, 8, "bern"),  # 5 of 8 are below repair_min_share
]


@pytest.mark.parametrize(
    ("audited", "expected"),
    [
        (0.0, {"closed": "majority_against_gold"}),
        (MIN_AUDITED - 0.01, {"closed": "majority_against_gold"}),
        (MIN_AUDITED, {"closed": "majority_against_gold", "failed": "open_book_failed"}),
    ],
)
def test_a_failed_probe_is_queued_only_where_the_policy_is_audited(spark, audited, expected):
    config = load_config(overrides=[f"feedback.audited_open_book={audited}"]).feedback
    stats = spark.createDataFrame(pa.Table.from_pylist(STATS, schema=TASK_STATS.schema))
    assert {row["prompt_id"]: row["why"] for row in doubtful(stats, config).collect()} == expected


def test_the_next_version_says_why(spark):
    asked = {"round": 3, "task_version": 1, "n_valid": 8, "majority_count": 6}
    queue = [
        filled(REPAIR_QUEUE, **asked, task_id=task, why=why) for task, why in (("a", "open_book_failed"), ("b", "majority_against_gold"))
    ]
    tasks = [filled(TASKS, task_id=task, version=1, split="train", status="active") for task in "ab"]
    made = next_versions(
        spark.createDataFrame(queue, spark_schema(REPAIR_QUEUE.schema)),
        spark.createDataFrame(tasks, spark_schema(TASKS.schema)),
        origin="feedback=3",
    )
    assert {row["task_id"]: row["status_reason"] for row in made.collect()} == {
        "a": "open_book_failed: 8 of 8 samples of round 3",
        "b": "majority_against_gold: 6 of 8 samples of round 3",
    }
