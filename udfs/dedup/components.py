"""Connected components of candidate pairs: the units within which near duplicates are decided."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

EDGES = pa.schema([("node", pa.int64()), ("hub", pa.int64())])


def labels(node: NDArray[np.int64], hub: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every node of the edges once, ascending, and the least node of its component."""
    names, ends = np.unique(np.concatenate([node, hub]), return_inverse=True)
    if not len(names):
        return names, names
    graph = coo_array((np.ones(len(node), np.int32), (ends[: len(node)], ends[len(node) :])), shape=(len(names), len(names)))
    _, part = connected_components(graph, directed=False)
    _, first = np.unique(part, return_index=True)  # names ascend, so that the first of a part is its least
    return names, names[first][part]


def star_forest(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Reduce edges to as few with the same components: each node with the least one of its component, itself included.

    Run on every partition, then once over all results in one task, it labels the whole graph; a task holds 16 bytes an edge and the
    merging one 16 bytes a node of each partition, so that tens of millions of duplicated documents fit.

    Args:
        batches: columns ``node``, ``hub``.

    Yields:
        One batch with the columns of ``EDGES``, ascending by node.
    """
    held = [(np.asarray(batch.column("node"), np.int64), np.asarray(batch.column("hub"), np.int64)) for batch in batches]
    if held:
        names, least = labels(np.concatenate([n for n, _ in held]), np.concatenate([h for _, h in held]))
        yield pa.RecordBatch.from_arrays([pa.array(names), pa.array(least)], schema=EDGES)
