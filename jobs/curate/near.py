"""Near duplicates: MinHash bands propose, exact Jaccard disposes.

A bucket is the set of documents with one band key. Star edges, from each document to the least of each of its buckets, are as many
as there are entries, however large a bucket is; their connected components part the corpus into units no pair of which shares a
bucket. Each unit is then decided in one task, in rank order, by ``udfs.dedup.leader``: no rounds over the corpus, no chain too long, and
the text of a document travels once. In mode ``components`` a unit is what the bands connect and one document of it stays: the units are
made on the driver, which refuses more edges than it may hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from jobs.lake.types import spark_schema
from schemas.conf import Curate
from schemas.errors import VerilakeError
from udfs.dedup import leader
from udfs.dedup.components import EDGES, labels, star_forest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def near_duplicates(pool: DataFrame, texts: DataFrame, curate: Curate, ingest_seq: int) -> DataFrame:
    """Every new document that repeats a kept one in large part.

    Args:
        pool: ``rank``, ``band_keys``: new documents that passed the heuristics and are no exact copies, and earlier kept ones.
        texts: ``doc_id``, ``text`` of at least all of them.
        curate: threshold, tries, shingling, kernel.
        ingest_seq: ordinal of the ingest that is being curated; documents of earlier ones stay.

    Returns:
        ``doc_id``, ``dup_of`` (always a kept document), ``jaccard``, ``containment``, ``bands_matched``.
    """
    # Nodes of the graph are 64-bit hashes of ids: should two collide, two units are decided in one task, which changes nothing.
    nodes = pool.withColumn("node", F.xxhash64("rank.doc_id"))
    edges = star_edges(nodes, ingest_seq)
    units = driver_components(edges, curate.max_edges) if curate.mode == "components" else components(edges)
    ordered = (
        nodes.join(units, "node")
        .withColumn("doc_id", F.col("rank.doc_id"))
        .withColumn("fixed", F.col("rank.ingest_seq") != ingest_seq)
        .join(texts, "doc_id")
        .repartition("component")
        .sortWithinPartitions("component", "rank")
        .select("component", "doc_id", "fixed", "text", "band_keys")
    )
    rule = leader.Rule(jaccard=curate.jaccard, tries=1 + curate.verify_rounds, shingle=curate.shingle, mode=curate.mode)
    kernel = curate.kernel

    def decided(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from leader.near_duplicates(batches, rule=rule, kernel=kernel)

    return ordered.mapInArrow(decided, spark_schema(leader.DUPLICATES))


def star_edges(nodes: DataFrame, ingest_seq: int) -> DataFrame:
    """``node``, ``hub``: documents and the least node of each of their buckets, of buckets that hold a new document and another.

    Hot buckets are harmless: the aggregation is partial before the shuffle, and the join side that it leaves has one row a bucket.
    """
    entries = nodes.select("node", F.col("rank.ingest_seq").alias("seq"), F.explode("band_keys").alias("key"))
    hubs = (
        entries.groupBy("key")
        .agg(F.min("node").alias("hub"), F.max("seq").alias("latest"), F.count(F.lit(1)).alias("size"))
        .where((F.col("size") > 1) & (F.col("latest") == ingest_seq))
    )
    return entries.join(hubs.select("key", "hub"), "key").where("node != hub").select("node", "hub").distinct()


def components(edges: DataFrame) -> DataFrame:
    """``node``, ``component`` of every node that an edge has: forests by partition, then one task that merges them."""
    schema = spark_schema(EDGES)
    merged = edges.mapInArrow(star_forest, schema).repartition(1).mapInArrow(star_forest, schema)
    return merged.withColumnRenamed("hub", "component")


def driver_components(edges: DataFrame, most: int) -> DataFrame:
    """As ``components``, in the driver's memory: 16 bytes an edge.

    Raises:
        TooManyEdgesError: there are more than ``most``.
    """
    edges = edges.persist()
    try:
        if (count := edges.count()) > most:
            raise TooManyEdgesError.from_count(count, most)
        found = edges.toArrow()
    finally:
        edges.unpersist()
    node, least = labels(np.asarray(found.column("node"), np.int64), np.asarray(found.column("hub"), np.int64))
    return edges.sparkSession.createDataFrame(pa.table({"node": node, "component": least}))


class TooManyEdgesError(VerilakeError):
    """The graph of candidate pairs does not fit the driver as configured."""

    @classmethod
    def from_count(cls, found: int, most: int) -> TooManyEdgesError:
        """More edges than ``curate.max_edges``."""
        return cls(
            f"curate.mode = 'components': {found:,} candidate pairs exceed curate.max_edges = {most:,} (16 bytes each in the driver, as much "
            "again while they are merged). Raise it with spark.driver_memory, or use curate.mode = 'verified', which merges in tasks."
        )
