"""Texts of known likeness for the tests of de-duplication."""

from __future__ import annotations

import random

from udfs.text.tokens import tokens


def prose(seed, words=200):
    """``words`` words that no other seed has: 200 of them are 196 shingles."""
    rng = random.Random(seed)
    return [f"{rng.choice('bdfgklmnprst')}{rng.choice('aeiou')}{seed}x{i}" for i in range(words)]


def edited(words, edits):
    """``edits`` words replaced, six apart and six from the ends: each costs five shingles, so that J = (196 - 5m) / (196 + 5m)."""
    out = list(words)
    for i in range(edits):
        out[6 + 6 * i] = f"edit{i}"
    return out


def shingles(text, n=5):
    """The definition, without hashes."""
    found = tokens(text)
    return {tuple(found[i : i + min(n, len(found))]) for i in range(max(1, len(found) - n + 1))} if found else set()
