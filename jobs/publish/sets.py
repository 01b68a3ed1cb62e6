"""The rows of each set, as one frame a set; the one place that says what leaves the house."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from schemas.datasets.catalog import SETS
from schemas.datasets.eval import ASKED
from schemas.gold.preferences import PREFERENCES
from schemas.gold.prompts import PROMPTS
from schemas.gold.regression import REGRESSION
from schemas.gold.rl import RL
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.sft import SFT
from schemas.gold.tasks import TASKS
from schemas.silver.documents import DOCUMENTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from jobs.publish.slices import SetPlan

#: Reads a table at the version of this publication; with values, only these slices.
Read = Callable[..., "DataFrame"]


def frame_of(plan: SetPlan, values: Sequence[str], round_no: int, read: Read, tombstoned: DataFrame | None) -> DataFrame:
    """Rows of the named segments of a set, with the set's columns; those of documents that were taken down are left out.

    Args:
        plan: the set.
        values: of its segment column, as text.
        round_no: the round that is published.
        read: ``read(table, *slices)``.
        tombstoned: one column ``doc_id``; None where nothing was taken down.
    """
    from pyspark.sql import functions as F

    dataset = plan.dataset
    rounds = [int(value) for value in values] if dataset.segment == "round" else [round_no]
    rows = _ROWS[dataset.name](read, rounds)
    if dataset.segment is not None and dataset.segment != "round":
        rows = rows.where(F.col(dataset.segment).isin(list(values)))
    rows = with_document(rows, read)
    if tombstoned is not None:
        rows = rows.join(F.broadcast(tombstoned), "doc_id", "left_anti")
    return rows.select(*dataset.schema.names)


def with_document(rows: DataFrame, read: Read) -> DataFrame:
    """Adds what the document says of itself; a row whose document is gone keeps nulls, and the export refuses it."""
    documents = read(DOCUMENTS)
    facts = documents.select("doc_id", "source", "uri", *([] if "licence" in rows.columns else ["licence"]))
    return rows.join(facts, "doc_id", "left")


def rl(read: Read, rounds: Sequence[int]) -> DataFrame:
    """Training prompts: gold.rl as it stands."""
    return read(RL, *rounds)


def sft(read: Read, rounds: Sequence[int]) -> DataFrame:
    """Verified answers; the plan says which version of the task was asked, the task which document it stands on."""
    return _with_task(read(SFT, *rounds), read, rounds, "doc_id", "cluster_id")


def preferences(read: Read, rounds: Sequence[int]) -> DataFrame:
    """Pairs, likewise."""
    return _with_task(read(PREFERENCES, *rounds), read, rounds, "doc_id", "cluster_id")


def held_out(read: Read, rounds: Sequence[int]) -> DataFrame:
    """The fixed eval rows of the round's plan."""
    plan = read(ROUND_PLAN, *rounds).where("role = 'eval' AND why = 'eval_fixed'")
    return _asked(plan.select("prompt_id", "task_id", "task_version", "task_type", "n_samples", "seed"), read)


def regression(read: Read, rounds: Sequence[int]) -> DataFrame:
    """Failures with what was asked; the plan of their round says which version of the task that was."""
    plan = read(ROUND_PLAN, *rounds).select("round", "prompt_id", "task_version")
    return _asked(read(REGRESSION, *rounds).join(plan, ["round", "prompt_id"], "left"), read)


def _with_task(rows: DataFrame, read: Read, rounds: Sequence[int], *facts: str) -> DataFrame:
    from pyspark.sql import functions as F

    plan = read(ROUND_PLAN, *rounds).select("round", "prompt_id", "task_version")
    tasks = read(TASKS).select("task_id", F.col("version").alias("task_version"), *facts)
    return rows.join(plan, ["round", "prompt_id"], "left").join(tasks, ["task_id", "task_version"], "left")


def _asked(rows: DataFrame, read: Read) -> DataFrame:
    """Adds prompt and task to rows with prompt_id, task_id and task_version."""
    from pyspark.sql import functions as F

    prompts = read(PROMPTS).select(
        "prompt_id", "form", "template", "context_mode", "system", F.col("text").alias("prompt"), "context", "options", "contract"
    )
    taken = {"contract", *prompts.columns, *rows.columns}
    tasks = read(TASKS).select(
        "task_id", F.col("version").alias("task_version"), "doc_id", "cluster_id", "licence",
        *(field.name for field in ASKED if field.name not in taken),
    )  # fmt: skip
    return rows.join(prompts, "prompt_id", "left").join(tasks, ["task_id", "task_version"], "left")


_ROWS: Mapping[str, Callable[[Read, Sequence[int]], DataFrame]] = {
    "rl": rl,
    "sft": sft,
    "preferences": preferences,
    "eval": held_out,
    "regression": regression,
}
if set(_ROWS) != set(SETS):
    raise ValueError("a published set without rows, or rows without a set")
