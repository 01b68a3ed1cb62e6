"""In which order ingests came; read from Delta's log, without a JVM."""

from __future__ import annotations

from jobs.lake.layout import Lake
from jobs.sources.added import added_ingests
from schemas.bronze.documents import DOCUMENTS as BRONZE


def earlier_ingests(lake: Lake, ingest_id: str) -> list[str]:
    """Ingests that brought documents before ``ingest_id`` did, in their order; an ingest's first commit is its place.

    Ingests without a document (all of theirs were there before) and added tasks are left out: nothing of them is ever curated.
    """
    order = lake.order(BRONZE)
    if ingest_id not in order:
        return []
    held, added = lake.slices(BRONZE), added_ingests(lake)
    return [name for name in order[: order.index(ingest_id)] if held[name].rows > 0 and name not in added]
