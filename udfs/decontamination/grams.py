"""n-grams over token hashes of many rows at once, and the numpy lookup; bit-identical to the compiled one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from udfs.dedup.mix import GRAM_BASE, fmix64

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
I32 = NDArray[np.int32]


def gram_hashes(tokens: U64, offsets: I64, n: int) -> tuple[U64, I64]:
    """Hash of every n-gram of every row, as udfs.dedup hashes shingles, but none for a row shorter than ``n``.

    Args:
        tokens: token hashes of all rows, uint64[n_tokens].
        offsets: row bounds, int64[n_rows + 1].
        n: tokens an n-gram.

    Returns:
        Hashes uint64[n_grams] in order, and the token at which each begins, int64[n_grams].
    """
    count = max(0, len(tokens) - n + 1)
    grams = np.zeros(count, np.uint64)
    for i in range(n if count else 0):
        grams = grams * GRAM_BASE + tokens[i : count + i]
    last = np.searchsorted(offsets, np.arange(count), side="right") - 1
    at = np.flatnonzero(np.arange(count) + n <= offsets[last + 1])
    return fmix64(grams[at]), at


def find(tokens: U64, offsets: I64, n: int, grams: U64, refs: I32, reference: U64) -> tuple[I64, I64]:
    """Which n-grams of the rows are among ``grams``.

    Args:
        tokens: token hashes of all rows.
        offsets: row bounds.
        n: tokens an n-gram.
        grams: sorted, distinct.
        refs: where in ``reference`` the tokens of each begin.
        reference: token hashes; an equal hash of unequal tokens is no hit.

    Returns:
        Token at which each hit begins, and its index in ``grams``, in order; of an n-gram that follows itself only the first.
    """
    hashes, at = gram_hashes(tokens, offsets, n)
    if not len(grams) or not len(hashes):
        none = np.zeros(0, np.int64)
        return none, none
    place = np.minimum(np.searchsorted(grams, hashes), len(grams) - 1)
    hit = np.flatnonzero(grams[place] == hashes)
    at, gram = at[hit], place[hit].astype(np.int64)
    steps = np.arange(n)
    equal = (tokens[at[:, None] + steps] == reference[refs[gram][:, None] + steps]).all(axis=1)
    at, gram = at[equal], gram[equal]
    again = np.zeros(len(at), bool)
    row = np.searchsorted(offsets, at, side="right")
    again[1:] = (at[1:] == at[:-1] + 1) & (gram[1:] == gram[:-1]) & (row[1:] == row[:-1])
    return at[~again], gram[~again]
