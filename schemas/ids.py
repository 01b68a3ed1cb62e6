"""Content hashes: every id in the lake is derived from what it names, never from a counter or a clock."""

from __future__ import annotations

import hashlib
import json
from typing import Any

#: Hex digits kept of a sha256: 128 bits, so that 10^12 ids collide with probability below 10^-14.
ID_DIGITS = 32

# Made once: json.dumps makes one for every value that it is asked for.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: Any) -> str:
    """One spelling for one value: sorted keys, no spaces, UTF-8, NaN refused.

    Raises:
        ValueError: the value holds NaN or an infinity, which JSON cannot carry.
    """
    return _ENCODER.encode(value)


def content_id(*parts: Any) -> str:
    """32 hex digits over the canonical JSON of ``parts``; strings with lone surrogates are hashed by escape."""
    return hashlib.sha256(canonical_json(list(parts)).encode("utf-8", "backslashreplace")).hexdigest()[:ID_DIGITS]


def text_hash(text: str) -> str:
    """The hash by which a span of evidence is re-found: sha256 of its UTF-8, 32 hex digits."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:ID_DIGITS]


def seed_from(*parts: Any) -> int:
    """A 63-bit seed derived from ids, round and policy (DESIGN, law 3)."""
    return int(content_id("seed", *parts)[:16], 16) >> 1


def uniform_from(*parts: Any) -> float:
    """A number in [0, 1) that depends on ``parts`` alone; used to order and to split without a random generator."""
    return (int(content_id("uniform", *parts)[:14], 16) >> 3) / float(1 << 53)
