"""MinHash signatures and their band keys, with the whole recipe as one named value."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs.dedup import kernel as kernels
from udfs.dedup.mix import BAND_BASE, BAND_STEP, fmix64


@dataclass(frozen=True)
class MinHashScheme:
    """Everything that a signature depends on beside the text.

    Attributes:
        shingle: tokens a shingle.
        bands: bands b.
        rows: permutations a band r; ``bands * rows`` permutations in all.
        seed: of the permutations, as datasketch's ``seed``.
    """

    shingle: int
    bands: int
    rows: int
    seed: int = 1

    @property
    def name(self) -> str:
        """Name and version, written beside every artefact; another name means incomparable signatures.

        The Unicode version is part of it, because normal forms and character classes come from the interpreter.
        """
        shape = f"w{self.shingle}:affine32:k{self.bands * self.rows}:b{self.bands}x{self.rows}"
        return f"minhash/v1:{shape}:seed{self.seed}:u{unicodedata.unidata_version}"

    @cached_property
    def permutations(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Odd multipliers and offsets, uint32[k] each, equal to ``datasketch.MinHash(k, seed).permutations`` (2.x, affine32).

        datasketch draws all multipliers as ``2 * randint(2^31) + 1``, then all offsets as ``randint(2^32)``, from
        ``RandomState(seed)``, whose stream numpy keeps stable.
        """
        count = self.bands * self.rows
        draw = np.random.RandomState(self.seed)
        a = draw.randint(0, 1 << 31, count, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
        return a, draw.randint(0, 1 << 32, count, dtype=np.uint32)


def signatures(
    column: kernels.Texts, scheme: MinHashScheme, kernel: kernels.KernelName = "auto"
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """MinHash values uint32[n_rows, k] and shingle counts int64[n_rows] of a text column."""
    minima, counts = kernels.signatures(column, scheme.shingle, *scheme.permutations, kernel)
    return minima, counts[:, 0]


def band_keys(minima: NDArray[np.uint32], scheme: MinHashScheme) -> NDArray[np.int64]:
    """64-bit keys of the bands, int64[n_rows, bands]; the band's number is mixed in, so that keys of all bands share a column.

    Horner's rule over the band's minima, from a start that depends on the band, finalised by fmix64.
    """
    cells = minima.reshape(len(minima), scheme.bands, scheme.rows)
    keys = np.broadcast_to(fmix64(np.arange(1, scheme.bands + 1, dtype=np.uint64) * BAND_STEP), (len(minima), scheme.bands))
    for row in range(scheme.rows):
        keys = (keys ^ cells[:, :, row].astype(np.uint64)) * BAND_BASE
        keys = keys ^ (keys >> np.uint64(29))
    return fmix64(keys).view(np.int64)


def band_key_lists(column: kernels.Texts, scheme: MinHashScheme, kernel: kernels.KernelName = "auto") -> pa.ListArray:
    """Band keys of a text column as list<int64>; a row without tokens has an empty list, so that it meets no other."""
    return key_lists(*signatures(column, scheme, kernel), scheme)


def key_lists(minima: NDArray[np.uint32], counts: NDArray[np.int64], scheme: MinHashScheme) -> pa.ListArray:
    """Band keys of signatures and their shingle counts, as ``band_key_lists``."""
    has_tokens = counts > 0
    keys = band_keys(minima[has_tokens], scheme).ravel()
    offsets = np.concatenate(([0], np.cumsum(has_tokens * scheme.bands))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(keys))


def collision_probability(jaccard: float, bands: int, rows: int) -> float:
    """Probability that two sets of this Jaccard similarity share at least one band: 1 - (1 - j^r)^b (Leskovec et al., MMDS, ch. 3)."""
    return 1.0 - (1.0 - jaccard**rows) ** bands
