"""The total order in which documents are preferred."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column


def rank() -> Column:
    """The rank of a row with ingest_seq, n_words and doc_id; the least is the best.

    Earlier ingests first (what was kept stays kept), then more words (a longer text rather than a part of it), then
    doc_id, a content hash, which ends every tie and depends on nothing but the document.
    """
    return F.struct(F.col("ingest_seq"), (-F.col("n_words")).alias("fewer_words"), F.col("doc_id")).alias("rank")
