"""Stored signatures, and the datasketch objects that they open as."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs.dedup.minhash import MinHashScheme

if TYPE_CHECKING:
    from datasketch import LeanMinHash, MinHash


def stored(minima: NDArray[np.uint32]) -> pa.Array:
    """MinHash values uint32[n, k] as n binary values of 4 k bytes, little-endian."""
    rows, width = minima.shape[0], minima.shape[1] * 4
    if rows * width < 1 << 31:
        offsets = np.arange(0, (rows + 1) * width, width, dtype=np.int32) if width else np.zeros(rows + 1, np.int32)
        return pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(minima.astype("<u4").tobytes())])
    return pa.array([row.tobytes() for row in minima.astype("<u4")], pa.large_binary())


def minima_of(signature: bytes) -> NDArray[np.uint32]:
    """The MinHash values of a stored signature: uint32[k], writable."""
    return np.frombuffer(signature, "<u4").astype(np.uint32)


def as_minhash(signature: bytes, scheme: MinHashScheme) -> MinHash:
    """The signature as a ``datasketch.MinHash`` (2.x, affine32) that can be compared, merged and put into its LSH index.

    To update it further, feed it the upper 32 bits of shingle hashes with the identity as ``hashfunc``, which is set here.
    """
    from datasketch import MinHash

    return MinHash(hashvalues=minima_of(signature), seed=scheme.seed, scheme="affine32", hashfunc=int)


def as_lean_minhash(signature: bytes, scheme: MinHashScheme) -> LeanMinHash:
    """Likewise as a ``datasketch.LeanMinHash``, which holds the values alone."""
    from datasketch import LeanMinHash

    return LeanMinHash(as_minhash(signature, scheme))
