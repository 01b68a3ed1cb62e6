"""Exact Jaccard similarities, by code that shares nothing with the library: NFKC, casefold, ``\\w+``, word 5-grams."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Set = NDArray[np.uint64]
_STEPS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F], np.uint64)
_UNSPACED = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff\u1780-\u17ff])")


@lru_cache(maxsize=2_000_000)
def _hash(token: str) -> int:
    return int.from_bytes(hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def word_shingles(text: str, n: int = 5) -> Set:
    """Sorted hashes of the word n-grams; a text of fewer words is one shingle."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    tokens = re.findall(r"\w+", _UNSPACED.sub(r" \1 ", folded))
    if not tokens:
        return np.zeros(0, np.uint64)
    hashes = np.fromiter((_hash(token) for token in tokens), np.uint64, len(tokens))
    if len(tokens) < n:
        return np.array([_hash(" ".join(tokens))], np.uint64)
    mixed = np.zeros(len(tokens) - n + 1, np.uint64)
    for at in range(n):
        mixed = (mixed ^ (hashes[at : len(tokens) - n + 1 + at] * _STEPS[at])) * _STEPS[0]
        mixed ^= mixed >> np.uint64(29)
    return np.unique(mixed)


def char_shingles(text: str, n: int = 9) -> Set:
    """Sorted hashes of the substrings of ``n`` bytes of the lower-cased text, as distributed-curator takes them."""
    data = np.frombuffer(text.lower().encode(), np.uint8).astype(np.uint64)
    if len(data) < n:
        return np.zeros(0, np.uint64)
    mixed = np.zeros(len(data) - n + 1, np.uint64)
    for at in range(n):
        mixed = (mixed ^ data[at : len(data) - n + 1 + at]) * _STEPS[0]
        mixed ^= mixed >> np.uint64(29)
    return np.unique(mixed)


@dataclass(frozen=True)
class Pairs:
    """Pairs of rows, first < second, and their Jaccard."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    jaccard: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.first)


def jaccard(one: Set, two: Set) -> float:
    common = len(np.intersect1d(one, two, assume_unique=True))
    return common / (len(one) + len(two) - common) if common else 0.0


def of_pairs(texts: list[str], pairs: Iterable[tuple[int, int]], shingles: Callable[[str], Set]) -> Pairs:
    """Jaccard of the pairs named; sets are made once a row."""
    cached = lru_cache(maxsize=20_000)(lambda row: shingles(texts[row]))
    rows = sorted({(min(pair), max(pair)) for pair in pairs})
    values = [jaccard(cached(a), cached(b)) for a, b in rows]
    first, second = (np.array([pair[at] for pair in rows], np.int64) for at in (0, 1))
    return Pairs(first, second, np.array(values))


def every_pair(texts: list[str], least: float, shingles: Callable[[str], Set] = word_shingles, block: int = 1000) -> Pairs:
    """Every pair of at least ``least``: X X^T over the shingles that two documents share, in blocks of rows. Exact."""
    sets = [shingles(text) for text in texts]
    sizes = np.array([len(values) for values in sets], np.int64)
    values, column = np.unique(np.concatenate(sets), return_inverse=True)
    shared = np.bincount(column) > 1
    row = np.repeat(np.arange(len(texts)), sizes)
    keep = shared[column]
    matrix = sparse.csr_matrix((np.ones(int(keep.sum()), np.int32), (row[keep], column[keep])), shape=(len(texts), len(values)))
    turned = matrix.T.tocsc()
    found: list[NDArray[np.float64]] = []
    for start in range(0, len(texts), block):
        product = (matrix[start : start + block] @ turned).tocoo()
        first, second, common = product.row + start, product.col, product.data
        upper = first < second
        first, second, common = first[upper], second[upper], common[upper]
        alike = common / (sizes[first] + sizes[second] - common)
        near = alike >= least
        found.append(np.stack([first[near], second[near], alike[near]]))
    all_of = np.concatenate(found, axis=1)
    return Pairs(all_of[0].astype(np.int64), all_of[1].astype(np.int64), all_of[2])
