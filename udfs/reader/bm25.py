"""BM25 over passages, as inverted lists in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from udfs.reader.words import terms

Floats = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.int64]]

#: Saturation and length normalisation of Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), usual values.
K1 = 1.2
B = 0.75


@dataclass(frozen=True)
class Bm25:
    """Postings by term: passages ``rows[offsets[t]:offsets[t+1]]`` with the weight of the term there.

    Attributes:
        vocabulary: term to its number.
        idf: ln(1 + (N - n + 0.5) / (n + 0.5)) by term, never negative.
        offsets, rows, weights: the postings; a weight is idf x saturated frequency.
        size: number of passages.
    """

    vocabulary: dict[str, int]
    idf: Floats
    offsets: Ints
    rows: Ints
    weights: Floats
    size: int

    @classmethod
    def build(cls, passage_terms: pa.ListArray | pa.ChunkedArray) -> Bm25:
        """The index over passages given as lists of terms; passages are numbered in this order."""
        lists = passage_terms.combine_chunks() if isinstance(passage_terms, pa.ChunkedArray) else passage_terms
        size = len(lists)
        encoded = lists.flatten().dictionary_encode()
        words: list[Any] = encoded.dictionary.to_pylist()
        codes = np.asarray(encoded.indices, dtype=np.int64)
        starts = np.asarray(lists.offsets, dtype=np.int64)
        lengths = starts[1:] - starts[:-1]
        owner = np.repeat(np.arange(size, dtype=np.int64), lengths)
        pairs, frequency = np.unique(codes * max(size, 1) + owner, return_counts=True)
        term, row = np.divmod(pairs, max(size, 1))
        offsets = np.searchsorted(term, np.arange(len(words) + 1))
        holders = np.diff(offsets).astype(np.float64)
        idf = np.log1p((size - holders + 0.5) / (holders + 0.5))
        mean = lengths.mean() if size and lengths.any() else 1.0
        norm = K1 * (1.0 - B + B * lengths[row] / mean)
        weights = idf[term] * frequency * (K1 + 1.0) / (frequency + norm)
        return cls({word: k for k, word in enumerate(words)}, idf, offsets.astype(np.int64), row, weights, size)

    def idf_of(self, term: str) -> float:
        """Inverse document frequency; that of a term found nowhere is the highest possible."""
        number = self.vocabulary.get(term)
        return float(np.log1p((self.size + 0.5) / 0.5)) if number is None else float(self.idf[number])

    def top(self, query: Sequence[str], k: int) -> list[tuple[int, float]]:
        """The ``k`` best passages (number, score), best first, the earlier one first among equals; only those with a score."""
        scores = np.zeros(self.size)
        for word in sorted(set(query)):
            number = self.vocabulary.get(word)
            if number is not None:
                part = slice(self.offsets[number], self.offsets[number + 1])
                scores[self.rows[part]] += self.weights[part]
        best = np.argsort(-scores, kind="stable")[:k] if self.size <= 4 * k else _best(scores, k)
        return [(int(n), float(scores[n])) for n in best if scores[n] > 0.0]

    def top_for(self, text: str, k: int) -> list[tuple[int, float]]:
        """``top`` for the terms of a text."""
        return self.top(terms(text), k)


def _best(scores: Floats, k: int) -> Ints:
    threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
    among = np.flatnonzero(scores >= threshold)
    ordered: Ints = among[np.argsort(-scores[among], kind="stable")][:k]
    return ordered
