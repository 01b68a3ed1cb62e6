"""Digest by which exact duplicates are found."""

from __future__ import annotations

import hashlib

import pyarrow as pa

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


def digests(texts: list[str | None]) -> pa.Array:
    """Digest of every row as binary; null stays null."""
    return pa.array([None if text is None else digest(text) for text in texts], pa.binary())
