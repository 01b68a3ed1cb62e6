"""Digest by which exact duplicates are found."""

from __future__ import annotations

import hashlib
from itertools import pairwise

import pyarrow as pa

from udfs.dedup.kernel import KernelName, Texts, squeezed
from udfs.text.normalise import normalise, squeeze

#: Name and version, written beside every artefact.
DIGEST_SCHEME = "exact/v1:nfkc-casefold:squeezed:blake2b-128"

#: Bytes of a digest: two of 10^12 texts collide with probability below 10^-14.
DIGEST_BYTES = 16


def digest(text: str) -> bytes:
    """128 bits of the text in normal form with white space squeezed: equal digests mean equal token streams.

    Case, Unicode form, invisible code points and the shape of white space do not count; punctuation does.
    """
    return hashlib.blake2b(squeeze(normalise(text)).encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


def digests(column: Texts, kernel: KernelName = "auto") -> pa.Array:
    """Digest of every row of a text column as binary; null counts as empty, bytes that are not UTF-8 as U+FFFD."""
    data, offsets = squeezed(column, kernel)
    raw, bounds = memoryview(data.data), offsets.tolist()
    found = [hashlib.blake2b(raw[low:high], digest_size=DIGEST_BYTES).digest() for low, high in pairwise(bounds)]
    return pa.array(found, pa.binary())
