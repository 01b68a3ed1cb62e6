"""Quotas of conversion: which groups of documents are asked about next, so that weak cells of the pool are filled and no more is paid.

A cell is ``domain/answer_type``, a group the documents of one source and topic. What a group yields of a cell is learnt from the documents
asked about so far; with ``k`` tasks out of ``n`` documents of the group, and ``r`` tasks a document over all groups, it is taken to be::

    (k + SMOOTHING * r) / (n + SMOOTHING)        and  r + BONUS  where n = 0

so that a group of which little is known counts as the average, and one of which nothing is known a little more: it is tried. Sums are
correctly rounded (``math.fsum``) and orders total: the same documents on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from schemas.ids import canonical_json
from udfs.extract.engine import topic_of
from udfs.planning.quotas import allocate

#: As many documents of average yield as are added to what a group has shown itself.
SMOOTHING = 4
#: Tasks a document by which a group never tried is thought better than the average.
BONUS = 0.05

#: Documents as groups are told apart by; and with their group, and the one of their whole source.
UNGROUPED = pa.schema([pa.field(name, pa.string(), nullable=False) for name in ("doc_id", "ingest_id", "source", "metadata")])
GROUPED = pa.schema([pa.field(name, pa.string(), nullable=False) for name in ("doc_id", "ingest_id", "name", "of_source")])


@dataclass(frozen=True)
class Group:
    """Documents of one source and topic.

    Attributes:
        asked: documents that were asked about.
        waiting: documents of this ingest that were not.
        tasks: cell -> tasks admitted from those asked.
    """

    asked: int = 0
    waiting: int = 0
    tasks: Mapping[str, int] = field(default_factory=dict)


def cell_of(domain: str, answer_type: str) -> str:
    """Name of a cell."""
    return f"{domain}/{answer_type}"


def group_of(source: str, topic: str = "") -> str:
    """Name of a group; without a topic the one of all topics of a source that are too rare to tell apart."""
    return canonical_json([source, topic] if topic else [source])


def group_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """``UNGROUPED`` -> ``GROUPED``, row by row."""
    for batch in batches:
        made = [
            {**row, "name": group_of(row["source"], topic_of(row["source"], row["metadata"])), "of_source": group_of(row["source"])}
            for row in batch.to_pylist()
        ]
        yield pa.RecordBatch.from_pylist(made, schema=GROUPED)


def lacking(per_cell: int, wanted: Sequence[str], filled: Mapping[str, int]) -> dict[str, int]:
    """Cell -> tasks that it lacks, cells that lack none too.

    Args:
        per_cell: wished tasks a cell.
        wanted: the cells; empty for all that were met, which are those of ``filled``.
        filled: cell -> tasks that count towards the wish; 0 where tasks were met of which none counts.
    """
    return {cell: max(0, per_cell - filled.get(cell, 0)) for cell in sorted(set(wanted) or filled)}


def share(groups: Mapping[str, Group], lack: Mapping[str, int], documents: int) -> dict[str, int]:
    """Group -> how many of its waiting documents are asked about in this step.

    Shares are proportional to what a document of the group is expected to yield, each cell weighted by what it lacks. No more documents are
    shared out than are expected to fill the emptiest cell. Before anything was asked, or where no cell is known, groups are tried
    in proportion to the square roots of their sizes.

    Args:
        groups: what is known of each.
        lack: cell -> tasks that it lacks; empty where no cell is known yet.
        documents: most documents of the step.
    """
    waiting = {name: group.waiting for name, group in groups.items() if group.waiting}
    wanted = {cell: count for cell, count in sorted(lack.items()) if count > 0}
    if lack and not wanted:
        return dict.fromkeys(waiting, 0)
    if not wanted or not any(group.asked for group in groups.values()):
        return allocate(documents, waiting)
    yields = expected(groups, wanted)
    weights = {name: math.fsum(count * yields[name][cell] for cell, count in wanted.items()) for name in sorted(waiting)}
    return allocate(min(documents, _needed(wanted, yields, weights, documents)), waiting, weights)


def expected(groups: Mapping[str, Group], cells: Iterable[str]) -> dict[str, dict[str, float]]:
    """Group -> cell -> tasks that a document is expected to yield; see the module.

    Raises:
        ZeroDivisionError: no document of any group was asked about: there is no average.
    """
    asked = sum(group.asked for group in groups.values())
    average = {cell: sum(group.tasks.get(cell, 0) for group in groups.values()) / asked for cell in cells}
    return {
        name: {
            cell: (group.tasks.get(cell, 0) + SMOOTHING * rate) / (group.asked + SMOOTHING) if group.asked else rate + BONUS
            for cell, rate in average.items()
        }
        for name, group in groups.items()
    }


def _needed(wanted: Mapping[str, int], yields: Mapping[str, Mapping[str, float]], weights: Mapping[str, float], most: int) -> int:
    """Documents that fill every cell if groups are mixed by ``weights`` and yield what is expected; ``most`` where that fills one never."""
    whole = math.fsum(weights.values())
    mixed = {cell: math.fsum(weight * yields[name][cell] for name, weight in weights.items()) for cell in wanted}
    return max(math.ceil(count * whole / mixed[cell]) if mixed[cell] else most for cell, count in wanted.items())
