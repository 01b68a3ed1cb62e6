"""The integer arithmetic that both kernels share: constants, and finalisers in numpy.

Everything is unsigned and wraps at its width; the constants are part of the signature scheme and never change silently.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Multipliers of MurmurHash3's finalisers (A. Appleby, public domain), 64 and 32 bits.
F64_1, F64_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
F32_1, F32_2 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)

#: Hash of a token: Horner's rule over its bytes from ``TOKEN_SEED`` with ``TOKEN_BASE`` (odd), finalised.
TOKEN_SEED, TOKEN_BASE = np.uint64(0x9E3779B97F4A7C15), np.uint64(0x9FB21C651E98DF25)
#: Hash of an n-gram: Horner's rule over its token hashes with ``GRAM_BASE`` (odd), finalised.
GRAM_BASE = np.uint64(0xD6E8FEB86659FD93)
#: Key of a band: its number is mixed into the start, so that one column serves all bands.
BAND_STEP, BAND_BASE = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xA0761D6478BD642F)


def fmix64(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """MurmurHash3's 64-bit finaliser, a bijection that spreads every input bit over the word."""
    mixed = values ^ (values >> np.uint64(33))
    mixed = mixed * F64_1
    mixed = mixed ^ (mixed >> np.uint64(33))
    mixed = mixed * F64_2
    out: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(33))
    return out


def fmix32(values: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """MurmurHash3's 32-bit finaliser; datasketch 2 applies it before its affine32 permutations."""
    mixed = values ^ (values >> np.uint32(16))
    mixed = mixed * F32_1
    mixed = mixed ^ (mixed >> np.uint32(13))
    mixed = mixed * F32_2
    out: NDArray[np.uint32] = mixed ^ (mixed >> np.uint32(16))
    return out
