"""De-duplication of a corpus whose digests and band keys fit in memory (some 200 bytes a document): exact twins, candidate units, decisions.

The same rules as the lake's job, over arrays in place of tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs.dedup import jaccard
from udfs.dedup.components import labels
from udfs.dedup.digest import DIGEST_BYTES, digests
from udfs.dedup.kernel import KernelName, normal_form, shingle_hashes, signatures
from udfs.dedup.leader import Decider, Duplicate, Rule
from udfs.dedup.minhash import MinHashScheme, band_keys
from udfs.dedup.store import SetStore


@dataclass(frozen=True)
class Profiles:
    """What is known of documents, by row.

    Attributes:
        digest: 128 bits of the normal form, uint64[n, 2].
        keys: band keys, int64[n, bands]; of no meaning where there is no token.
        tokens: number of tokens, int64[n].
    """

    digest: NDArray[np.uint64]
    keys: NDArray[np.int64]
    tokens: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.tokens)


def profile(texts: pa.Array, scheme: MinHashScheme, kernel: KernelName) -> Profiles:
    """Digest, band keys and length of every text."""
    text = normal_form(texts, kernel)
    minima, counts = signatures(text, scheme.shingle, *scheme.permutations, kernel)
    whole = np.frombuffer(b"".join(digests(text, kernel).to_pylist()), np.uint64).reshape(-1, DIGEST_BYTES // 8)
    return Profiles(whole, band_keys(minima, scheme), counts[:, 1])


def together(parts: list[Profiles], scheme: MinHashScheme) -> Profiles:
    """Profiles of consecutive batches as one."""
    none = Profiles(np.zeros((0, 2), np.uint64), np.zeros((0, scheme.bands), np.int64), np.zeros(0, np.int64))
    every = [*parts, none]
    return Profiles(
        np.concatenate([p.digest for p in every]), np.concatenate([p.keys for p in every]), np.concatenate([p.tokens for p in every])
    )


def _run_heads(*columns: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Where a row of columns that are sorted together differs from the one before."""
    heads = np.ones(len(columns[0]), np.bool_)
    heads[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return heads


def exact_twins(profiles: Profiles, place: NDArray[np.int64]) -> NDArray[np.int64]:
    """For every row the best-placed row of equal digest, itself where it is the best: int64[n].

    Args:
        profiles: of all rows.
        place: ordinal in the order of preference, 0 the best; each once.
    """
    order = np.lexsort((place, profiles.digest[:, 1], profiles.digest[:, 0]))
    low, high = profiles.digest[order, 0], profiles.digest[order, 1]
    twin = np.empty(len(order), np.int64)
    if len(order):
        heads = _run_heads(low, high)
        twin[order] = order[heads][np.cumsum(heads) - 1]
    return twin


def units(profiles: Profiles, rows: NDArray[np.int64], place: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows that share a band with another, ordered by component and place, and the component of each.

    Args:
        profiles: of all rows.
        rows: those that take part: one of each set of twins, with tokens.
        place: as for ``exact_twins``.
    """
    ordered = rows[np.argsort(place[rows], kind="stable")]
    nodes, hubs = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for band in range(profiles.keys.shape[1]):
        keys = profiles.keys[ordered, band]
        by_key = np.argsort(keys, kind="stable")  # within a bucket the best-placed comes first
        if not len(by_key):
            continue
        heads = _run_heads(keys[by_key])
        hub = ordered[by_key[heads]][np.cumsum(heads) - 1]
        nodes.append(ordered[by_key[~heads]])
        hubs.append(hub[~heads])
    names, least = labels(np.concatenate(nodes), np.concatenate(hubs))
    order = np.lexsort((place[names], least)) if len(names) else np.zeros(0, np.int64)
    return names[order], least[order]


def shingle_sets(texts: pa.Array, n: int, kernel: KernelName) -> list[NDArray[np.uint64]]:
    """The ascending shingle set of every text."""
    return jaccard.shingle_sets(*shingle_hashes(texts, n, kernel))


def near_duplicates(
    members: NDArray[np.int64],
    component: NDArray[np.int64],
    profiles: Profiles,
    set_of: Callable[[int], NDArray[np.uint64]],
    rule: Rule,
    kernel: KernelName,
    *,
    new_store: Callable[[], SetStore] = SetStore,
) -> Iterator[tuple[int, int, Duplicate]]:
    """Row, kept row and evidence of every near duplicate among ``units``; the choice is that of ``leader.Decider``."""
    decider = Decider(rule, kernel, new_store)
    try:
        for row, part in zip(members.tolist(), component.tolist(), strict=True):
            for found in decider.add(part, str(row), profiles.keys[row], set_of(row), fixed=False):
                yield int(found.doc_id), int(found.dup_of), found
        for found in decider.finish():
            yield int(found.doc_id), int(found.dup_of), found
    finally:
        decider.close()
