"""Figures of a candidate among all others: its answer's share of its type, its wording without its subject, and its siblings."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from jobs.lake.types import spark_schema
from udfs.admission.batches import SIBLINGS, sibling_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def shares(survivors: DataFrame, earlier: DataFrame) -> DataFrame:
    """``qa_id, type_items, type_same, wording_items, wording_same``; tasks of earlier ingests count among the others.

    type_same of type_items of one answer type share the answer; wording_same of wording_items that differ in their subject alone do, the
    item itself left out, null where there is no other.
    """
    from pyspark.sql import functions as F

    columns = ("answer_type", "wording_key", "answer_key")
    everyone = survivors.select(*columns).unionByName(earlier.select(*columns))
    same_type = everyone.groupBy("answer_type", "answer_key").agg(F.count("*").alias("type_same"))
    types = same_type.groupBy("answer_type").agg(F.sum("type_same").alias("type_items"))
    worded = everyone.where("wording_key != ''")
    same_wording = worded.groupBy("wording_key", "answer_key").agg((F.count("*") - 1).alias("wording_same"))
    wordings = worded.groupBy("wording_key").agg((F.count("*") - 1).alias("wording_items")).where("wording_items > 0")
    ints = ("type_items", "type_same", "wording_items", "wording_same")
    return (
        survivors.select("qa_id", *columns)
        .join(same_type, ["answer_type", "answer_key"]).join(types, "answer_type")
        .join(wordings, "wording_key", "left").join(same_wording, ["wording_key", "answer_key"], "left")
        .withColumn("wording_same", F.when(F.col("wording_items").isNotNull(), F.col("wording_same")))
        .select("qa_id", *(F.col(name).cast("int").alias(name) for name in ints))
    )  # fmt: skip


def siblings(kept: DataFrame, earlier: DataFrame, *, reject: bool) -> DataFrame:
    """``SIBLINGS``: candidates whose answer another question of their near-duplicate cluster states, or that state another's.

    Args:
        kept: candidates that every other check lets pass.
        earlier: tasks of earlier ingests; they always stay.
        reject: whether sibling leakage turns candidates away.
    """
    from pyspark.sql import functions as F

    names = ("qa_id", "question", "answer", "answer_key", "order_key", "engine")
    none = F.lit("")
    before = earlier.withColumns({"qa_id": F.col("task_id"), "order_key": none, "engine": none}).select("cluster_id", *names)
    everyone = kept.select("cluster_id", *names).unionByName(before)
    groups = everyone.groupBy("cluster_id").agg(F.collect_list(F.struct(*names)).alias("members")).where("size(members) > 1")
    return groups.select("members").mapInArrow(partial(sibling_batches, reject=reject), spark_schema(SIBLINGS))


def contract_errors(checked: DataFrame) -> DataFrame:
    """``answer_type, right, refused, wrong, accepted``: what the trials of the contracts, as they were proposed, add up to.

    Contracts of code and those that are none are left out: no right and wrong answers were made for them.
    """
    from pyspark.sql import functions as F

    named = {"right": "right", "refused": "right_refused", "wrong": "near_misses", "accepted": "near_misses_accepted"}
    probes = {name: F.get_json_object("row_probes", f"$.contract.{path}").cast("long") for name, path in named.items()}
    return (
        checked.select("answer_type", *(column.alias(name) for name, column in probes.items())).where("right IS NOT NULL")
        .groupBy("answer_type").agg(*(F.sum(name).alias(name) for name in named)).orderBy("answer_type")
    )  # fmt: skip
