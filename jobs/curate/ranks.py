"""The total order in which documents are preferred."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from schemas.conf import Curate

if TYPE_CHECKING:
    from pyspark.sql import Column

#: Columns that a rank may be made of.
RANK_COLUMNS = ("doc_id", "ingest_seq", "source", "n_words", "symbol_ratio", "dup_line_share", "dup_5gram_share")


def rank(curate: Curate) -> Column:
    """The rank of a row with ``RANK_COLUMNS``; the least is the best.

    ``curate.keep`` says which part decides before which. The ingest is always the first (what was kept stays kept) and the id, a content
    hash, the last: it ends every tie and depends on nothing but the document. Parts that the rule does not name are no part of the struct.
    """
    return F.struct(*(_PARTS[name](curate) for name in curate.keep)).alias("rank")


def _source_place(curate: Curate) -> Column:
    place = F.array_position(F.array(*map(F.lit, curate.source_priority)), F.col("source"))  # 0 for a source that is not listed
    return F.when(place == 0, F.lit(len(curate.source_priority) + 1)).otherwise(place).cast("int").alias("source_place")


_PARTS: dict[str, Callable[[Curate], Column]] = {
    "earlier_ingest": lambda _: F.col("ingest_seq"),
    "length": lambda _: (-F.col("n_words")).alias("fewer_words"),  # a longer text rather than a part of it
    "quality": lambda _: (F.col("symbol_ratio") + F.col("dup_line_share") + F.col("dup_5gram_share")).alias("defects"),
    "source_priority": _source_place,
    "id": lambda _: F.col("doc_id"),
}
