"""Rows of other documents that quote one that is purged: a policy answers with a name it read there, a choice borrows an answer as an option.

Such a quotation is told by words that no document but the purged ones has. What a policy said is blanked, the row stays; a row made only of
what was said (SFT, preferences) goes; a prompt that shows the words goes with all that was sampled on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from jobs.care.erase import update_rows
from jobs.care.remains import data_files, forget_old_files
from jobs.lake.layout import Lake
from jobs.lake.types import spark_schema
from schemas.bronze.documents import DOCUMENTS
from schemas.bronze.rollouts import ROLLOUTS
from schemas.gold.preferences import PREFERENCES
from schemas.gold.prompts import PROMPTS
from schemas.gold.repair_queue import REPAIR_QUEUE
from schemas.gold.sft import SFT
from schemas.silver.eval_samples import EVAL_SAMPLES
from schemas.silver.interactions import INTERACTIONS
from schemas.silver.rewards import REWARDS
from schemas.silver.task_stats import TASK_STATS
from schemas.silver.tokens import TOKENS
from schemas.table import Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

#: Shorter words (years, initials) are found by chance in what has nothing to do with a document.
SHORTEST = 6
_BETWEEN_WORDS = r"[^\p{L}\p{N}_]+"

#: Table -> the columns in which a policy's words stand, and what is put into which column of such a row.
BLANKED: dict[Table, tuple[tuple[str, ...], dict[str, Any]]] = {
    ROLLOUTS: (("response_text", "raw"), {"response_text": None, "response_token_ids": None, "response_logprobs": None, "raw": "{}"}),
    INTERACTIONS: (("content",), {"content": None}),
    REWARDS: (("extracted_answer",), {"extracted_answer": None}),
    TASK_STATS: (("majority_answer",), {"majority_answer": None}),
    REPAIR_QUEUE: (("majority_answer",), {"majority_answer": ""}),
    EVAL_SAMPLES: (("response", "extracted_answer"), {"response": None, "extracted_answer": None, "token_ids": None, "log_probs": None}),
}
#: Table -> the columns in which the words stand, and the id by which its rows, and those in published files, are removed.
REMOVED: dict[Table, tuple[tuple[str, ...], str]] = {
    PROMPTS: (("text", "context", "options"), "prompt_id"),
    SFT: (("response",), "sft_id"),
    PREFERENCES: (("chosen", "rejected"), "pair_id"),
}


@dataclass(frozen=True)
class Quotes:
    """What quotes the documents.

    Attributes:
        ids: kind of id -> rows to be removed, of tables as of published files; ``quoting``: trajectories, by which pages that show them are told.
        hits: table -> key of each row that is to be blanked, in any version -> the files that hold it.
    """

    ids: dict[str, frozenset[str]] = field(default_factory=dict)
    hits: dict[str, dict[str, set[Path]]] = field(default_factory=dict)


def own_words(spark: SparkSession, lake: Lake, doc_ids: Iterable[str]) -> DataFrame:
    """``word``: those of these documents, of ``SHORTEST`` characters or more, that no other document has."""
    from pyspark.sql import functions as F

    wanted = spark.createDataFrame([(ident,) for ident in sorted(doc_ids)], "doc_id string")
    received = spark.read.format("delta").load(str(lake.path(DOCUMENTS)))
    shown = received.select("doc_id", F.concat_ws(" ", "title", "text").alias("text"))
    theirs, others = (shown.join(F.broadcast(wanted), "doc_id", how) for how in ("left_semi", "left_anti"))
    words = _words(theirs, F.col("text")).select("word").distinct()
    # Only words of the purged documents are looked up in the others: what is shuffled of the corpus is what they share.
    shared = _words(others, F.col("text")).join(F.broadcast(words), "word", "left_semi").select("word").distinct()
    return words.join(shared, "word", "left_anti")


def find_quotes(spark: SparkSession, lake: Lake, doc_ids: Iterable[str]) -> Quotes:
    """Look for quotations, also in files of older versions; changes nothing."""
    words = own_words(spark, lake, doc_ids).persist()
    try:
        if words.isEmpty():
            return Quotes()
        ids = {column: frozenset(_hits(spark, lake, table, shown, [column], words)) for table, (shown, column) in REMOVED.items()}
        hits = {table.name: _hits(spark, lake, table, shown, list(table.key), words) for table, (shown, _) in BLANKED.items()}
    finally:
        words.unpersist()
    return Quotes(ids | {"quoting": frozenset(key.split("/")[0] for key in hits[INTERACTIONS.name])}, hits)


def blank_quotes(spark: SparkSession, lake: Lake, quotes: Quotes, takedown_id: str) -> tuple[dict[str, int], list[str]]:
    """Blank them; returns rows by table and the files of older versions that were removed.

    The interactions, by which tokens and pages are told, come last: until then a run after a death finds all of them again.
    """
    blanked = {TOKENS.name: 0}
    removed = _blank_tokens(spark, lake, quotes.ids.get("quoting", frozenset()), takedown_id, blanked)
    for table in sorted(BLANKED, key=lambda table: (table is INTERACTIONS, table.name)):
        removed += _blank(spark, lake, table, quotes.hits.get(table.name, {}), BLANKED[table][1], takedown_id, blanked)
    return blanked, removed


def _words(frame: DataFrame, text: Column) -> DataFrame:
    from pyspark.sql import functions as F

    exploded = frame.withColumn("word", F.explode(F.array_distinct(F.split(text, _BETWEEN_WORDS))))
    return exploded.where(F.length("word") >= SHORTEST)


def _hits(spark: SparkSession, lake: Lake, table: Table, shown: Iterable[str], key: list[str], words: DataFrame) -> dict[str, set[Path]]:
    """Key of every row, of any version, whose shown columns hold one of the words -> the files that hold it."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    files = data_files(lake, table)
    if not files:
        return {}
    # The partition column lies in the path alone; every other column in the files.
    types = [f for f in spark_schema(table.schema).fields if f.name != table.partition]

    frame = spark.read.schema(StructType(types)).parquet(*map(str, files)).withColumn("file", F.input_file_name())
    known = [name for name in key if name != table.partition]
    found = _words(frame, F.concat_ws(" ", *shown)).join(F.broadcast(words), "word", "left_semi")
    hits: dict[str, set[Path]] = {}
    for row in found.select(F.concat_ws("/", *known).alias("key"), "file").distinct().collect():
        hits.setdefault(row["key"], set()).add(Path(unquote(urlparse(row["file"]).path)))
    return hits


def _blank(
    spark: SparkSession,
    lake: Lake,
    table: Table,
    hits: dict[str, set[Path]],
    values: dict[str, Any],
    takedown_id: str,
    blanked: dict[str, int],
) -> list[str]:
    from pyspark.sql import functions as F

    if not hits:
        return []
    types = {f.name: f.dataType for f in spark_schema(table.schema).fields}
    key = F.concat_ws("/", *[name for name in table.key if name != table.partition])
    rows = update_rows(spark, lake, table, key.isin(sorted(hits)), {n: F.lit(v).cast(types[n]) for n, v in values.items()}, takedown_id)
    blanked[table.name] = rows
    return forget_old_files(lake, table, sorted({path for places in hits.values() for path in places}))


def _blank_tokens(spark: SparkSession, lake: Lake, trajectories: frozenset[str], takedown_id: str, blanked: dict[str, int]) -> list[str]:
    """The same words as token ids."""
    from pyspark.sql import functions as F

    from jobs.care.offered import rows_of

    if not trajectories:
        return []
    wanted = {"trajectory_id": trajectories}
    files = [path for path in data_files(lake, TOKENS) if rows_of(path, wanted)]
    nothing = F.array().cast("array<int>")
    emptied = {
        "token_ids": nothing,
        "response_mask": nothing,
        "policy_version": nothing,
        "rollout_log_probs": F.lit(None).cast("array<float>"),
    }
    blanked[TOKENS.name] = update_rows(spark, lake, TOKENS, F.col("trajectory_id").isin(sorted(trajectories)), emptied, takedown_id)
    return forget_old_files(lake, TOKENS, files)
