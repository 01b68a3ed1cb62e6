"""Tokens, shingles and signatures in vectorised numpy; bit-identical to the compiled kernel, where no compiler is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from udfs.dedup.mix import GRAM_BASE, TOKEN_BASE, TOKEN_SEED, fmix32, fmix64
from udfs.text.buffers import TextBuffer, normalised_buffer
from udfs.text.charclass import ALONE, class_table
from udfs.text.normalise import squeeze

#: Cells of the largest temporary in ``signatures`` (shingles x permutations), to bound memory.
_CELLS = 1 << 22


#: Rows in normal form; see ``kernel.normal_form``.
normalised = normalised_buffer


def _code_points(raw: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Position of every first byte, and the code point it begins (valid UTF-8)."""
    at = np.flatnonzero((raw & 0xC0) != 0x80)
    lead = raw[at].astype(np.int64)
    width = 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
    cp = np.where(width == 1, lead, lead & (0x7F >> width))
    for i in (1, 2, 3):
        longer = width > i
        cp[longer] = (cp[longer] << 6) | (raw[at[longer] + i] & 0x3F)
    return at, cp


def _row_tokens(raw: NDArray[np.uint8]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Hash and length in code points of every token of one row in normal form (upper-case ASCII is lowered here)."""
    if not len(raw):
        return np.zeros(0, np.uint64), np.zeros(0, np.int32)
    at, cp = _code_points(raw)
    cls = class_table()[cp]
    inside = cls != 0
    before = np.concatenate(([False], inside[:-1]))
    alone = cls == ALONE
    after_alone = np.concatenate(([False], alone[:-1]))
    begins = inside & (~before | alone | after_alone)
    token_of = np.cumsum(begins) - 1
    chars = np.bincount(token_of[inside], minlength=int(begins.sum())).astype(np.int32)
    lens = np.diff(np.append(at, len(raw)))
    member = np.repeat(inside, lens)
    data = raw[member].astype(np.uint64)
    data[(data >= 65) & (data <= 90)] += np.uint64(32)
    sizes = np.bincount(np.repeat(token_of, lens)[member], minlength=len(chars))
    if not len(chars):
        return np.zeros(0, np.uint64), chars
    first = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    power = np.cumprod(np.full(int(sizes.max()) + 1, TOKEN_BASE, np.uint64)) * _inverse(TOKEN_BASE)
    exponent = np.repeat(first + sizes, sizes) - 1 - np.arange(len(data))
    sums = np.add.reduceat(data * power[exponent], first)
    return fmix64(sums + TOKEN_SEED * power[sizes]), chars


def _inverse(odd: np.uint64) -> np.uint64:
    """Inverse modulo 2^64 of an odd number, so that ``cumprod`` can start at the power zero."""
    return np.uint64(pow(int(odd), -1, 1 << 64))


def token_hashes(text: TextBuffer) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.int64]]:
    """Token hashes, their lengths in code points, and row offsets; see ``kernel.token_hashes``."""
    rows = [_row_tokens(text.data[s:e]) for s, e in zip(text.starts.tolist(), text.ends.tolist(), strict=True)]
    offsets = np.concatenate(([0], np.cumsum([len(h) for h, _ in rows], dtype=np.int64))).astype(np.int64)
    if not rows:
        return np.zeros(0, np.uint64), np.zeros(0, np.int32), offsets
    return np.concatenate([h for h, _ in rows]), np.concatenate([c for _, c in rows]), offsets


def _row_shingles(tokens: NDArray[np.uint64], n: int) -> NDArray[np.uint64]:
    count = len(tokens)
    if count == 0:
        return tokens
    size = min(n, count)
    grams = np.zeros(count - size + 1, np.uint64)
    for i in range(size):
        grams = grams * GRAM_BASE + tokens[i : count - size + 1 + i]
    return fmix64(grams)


def shingle_hashes(text: TextBuffer, n: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Shingle hashes in order of occurrence, and row offsets; see ``kernel.shingle_hashes``."""
    tokens, _, bounds = token_hashes(text)
    return _shingles_of(tokens, bounds, n)


def _shingles_of(tokens: NDArray[np.uint64], bounds: NDArray[np.int64], n: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    rows = [_row_shingles(tokens[bounds[i] : bounds[i + 1]], n) for i in range(len(bounds) - 1)]
    offsets = np.concatenate(([0], np.cumsum([len(r) for r in rows], dtype=np.int64))).astype(np.int64)
    return np.concatenate(rows) if rows else np.zeros(0, np.uint64), offsets


def signatures(text: TextBuffer, n: int, a: NDArray[np.uint32], b: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """MinHash values and shingle counts; see ``kernel.signatures``."""
    tokens, _, bounds = token_hashes(text)
    shingles, offsets = _shingles_of(tokens, bounds, n)
    hashes = fmix32((shingles >> np.uint64(32)).astype(np.uint32))
    out = np.full((len(text), len(a)), 0xFFFFFFFF, np.uint32)
    step = max(1, _CELLS // max(1, len(a)))
    for row in range(len(text)):
        for low in range(int(offsets[row]), int(offsets[row + 1]), step):
            part = hashes[low : min(low + step, int(offsets[row + 1])), None]
            np.minimum(out[row], (part * a + b).min(axis=0), out=out[row])
    return out, np.stack([np.diff(offsets), np.diff(bounds)], axis=1)


def squeezed(text: TextBuffer) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Every row of a normal form in small letters with its white space squeezed, and row offsets; see ``kernel.squeezed``."""
    raws = (text.data[s:e].tobytes() for s, e in zip(text.starts.tolist(), text.ends.tolist(), strict=True))
    rows = [squeeze(raw.decode("utf-8", "replace").lower() if raw.isascii() else raw.decode()).encode() for raw in raws]
    return np.frombuffer(b"".join(rows), np.uint8), np.cumsum([0, *map(len, rows)])


def shared(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> int:
    """How many members two ascending sets have in common."""
    return len(np.intersect1d(left, right, assume_unique=True))
