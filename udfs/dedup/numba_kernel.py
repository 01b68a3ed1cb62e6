"""The compiled kernel: one pass over the bytes of a batch, document by document, from text to signature.

Compiled in memory only (``cache=False``): modules may lie in a zip under a random path, and HOME may not be writable.
All arithmetic is forced to its width by explicit casts, because numba widens mixed operands.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from udfs.dedup.mix import F32_1, F32_2, F64_1, F64_2, GRAM_BASE, TOKEN_BASE, TOKEN_SEED
from udfs.text.buffers import TextBuffer
from udfs.text.charclass import ALONE, SEPARATOR, WORD, class_table

_S33 = np.uint64(33)
_ASCII_CLASS = class_table()[:128].copy()
_LOWER = np.arange(128, dtype=np.uint64)
_LOWER[65:91] += np.uint64(32)


@numba.njit(cache=False, nogil=True, inline="always")
def _fmix64(h):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 -- numba infers the types
    h = np.uint64(h ^ (h >> _S33)) * F64_1
    h = np.uint64(h ^ (h >> _S33)) * F64_2
    return np.uint64(h ^ (h >> _S33))


@numba.njit(cache=False, nogil=True)
def _tokens(data, start, end, ascii_class, lower, classes, hashes, chars):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Hash and length of the tokens of ``data[start:end]`` into ``hashes`` and ``chars``; how many there are."""
    count, i, length, h = 0, start, 0, TOKEN_SEED
    while i < end:
        byte = data[i]
        if byte < 0x80:
            width, cls = 1, ascii_class[byte]
        else:
            width = 2 if byte < 0xE0 else (3 if byte < 0xF0 else 4)
            cp = np.int64(byte) & (0x7F >> width)
            for j in range(1, width):
                cp = (cp << 6) | (np.int64(data[i + j]) & 0x3F)
            cls = classes[cp]
        if length and cls != WORD:
            hashes[count], chars[count] = _fmix64(h), length
            count, length, h = count + 1, 0, TOKEN_SEED
        if cls != SEPARATOR:
            if width == 1:
                h = h * TOKEN_BASE + lower[byte]
            else:
                for j in range(width):
                    h = h * TOKEN_BASE + np.uint64(data[i + j])
            length += 1
            if cls == ALONE:
                hashes[count], chars[count] = _fmix64(h), 1
                count, length, h = count + 1, 0, TOKEN_SEED
        i += width
    if length:
        hashes[count], chars[count] = _fmix64(h), length
        count += 1
    return count


@numba.njit(cache=False, nogil=True)
def _shingles(tokens, count, n, leave, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Rolling n-gram hashes of ``tokens[:count]`` into ``out``; how many there are. ``leave`` is GRAM_BASE ** n."""
    if count == 0:
        return 0
    size = min(n, count)
    h = np.uint64(0)
    for i in range(size):
        h = h * GRAM_BASE + tokens[i]
    out[0] = _fmix64(h)
    for i in range(size, count):
        h = h * GRAM_BASE + tokens[i] - tokens[i - size] * leave
        out[i - size + 1] = _fmix64(h)
    return count - size + 1


@numba.njit(cache=False, nogil=True)
def _minima(shingles, count, a, b, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Minimum over ``shingles[:count]`` (already mixed, 32 bits) of ``a * h + b`` for every permutation."""
    for k in range(len(a)):
        scale, shift, least = a[k], b[k], np.uint32(0xFFFFFFFF)
        for i in range(count):
            least = min(least, np.uint32(np.uint32(scale * shingles[i]) + shift))
        out[k] = least


@numba.njit(cache=False, nogil=True)
def _mix_to_32(grams, count, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Top 32 bits of every shingle hash, through MurmurHash3's 32-bit finaliser."""
    for i in range(count):
        h = np.uint32(grams[i] >> np.uint64(32))
        h = np.uint32(np.uint32(h ^ (h >> np.uint32(16))) * F32_1)
        h = np.uint32(np.uint32(h ^ (h >> np.uint32(13))) * F32_2)
        out[i] = np.uint32(h ^ (h >> np.uint32(16)))


@numba.njit(cache=False, nogil=True)
def _batch_tokens(data, starts, ends, ascii_class, lower, classes, hashes, chars, offsets):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for row in range(len(starts)):
        at = offsets[row]
        offsets[row + 1] = at + _tokens(data, starts[row], ends[row], ascii_class, lower, classes, hashes[at:], chars[at:])


@numba.njit(cache=False, nogil=True)
def _batch_shingles(data, starts, ends, ascii_class, lower, classes, n, leave, hashes, chars, out, offsets):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for row in range(len(starts)):
        at = offsets[row]
        count = _tokens(data, starts[row], ends[row], ascii_class, lower, classes, hashes, chars)
        offsets[row + 1] = at + _shingles(hashes, count, n, leave, out[at:])


@numba.njit(cache=False, nogil=True)
def _batch_signatures(data, starts, ends, ascii_class, lower, classes, n, leave, hashes, chars, grams, mixed, a, b, out, counts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for row in range(len(starts)):
        count = _tokens(data, starts[row], ends[row], ascii_class, lower, classes, hashes, chars)
        count = _shingles(hashes, count, n, leave, grams)
        _mix_to_32(grams, count, mixed)
        _minima(mixed, count, a, b, out[row])
        counts[row] = count


def _most_tokens(text: TextBuffer) -> NDArray[np.int64]:
    """Upper bound of tokens a row: two bytes a token at least (a spaceless code point has three), and one more."""
    return (text.ends - text.starts) // 2 + 1


def _leave(n: int) -> np.uint64:
    return np.uint64(pow(int(GRAM_BASE), n, 1 << 64))


def token_hashes(text: TextBuffer) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.int64]]:
    """Token hashes, their lengths in code points, and row offsets; see ``kernel.token_hashes``."""
    room = int(_most_tokens(text).sum())
    hashes, chars, offsets = np.empty(room, np.uint64), np.empty(room, np.int32), np.zeros(len(text) + 1, np.int64)
    _batch_tokens(text.data, text.starts, text.ends, _ASCII_CLASS, _LOWER, class_table(), hashes, chars, offsets)
    return hashes[: offsets[-1]], chars[: offsets[-1]], offsets


def shingle_hashes(text: TextBuffer, n: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Shingle hashes in order of occurrence, and row offsets; see ``kernel.shingle_hashes``."""
    most = _most_tokens(text)
    widest = int(most.max(initial=0))
    hashes, chars = np.empty(widest, np.uint64), np.empty(widest, np.int32)
    out, offsets = np.empty(int(most.sum()), np.uint64), np.zeros(len(text) + 1, np.int64)
    tables = (_ASCII_CLASS, _LOWER, class_table())
    _batch_shingles(text.data, text.starts, text.ends, *tables, n, _leave(n), hashes, chars, out, offsets)
    return out[: offsets[-1]], offsets


def signatures(text: TextBuffer, n: int, a: NDArray[np.uint32], b: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """MinHash values and shingle counts; see ``kernel.signatures``."""
    widest = int(_most_tokens(text).max(initial=0))
    scratch = (np.empty(widest, np.uint64), np.empty(widest, np.int32), np.empty(widest, np.uint64), np.empty(widest, np.uint32))
    out, counts = np.empty((len(text), len(a)), np.uint32), np.zeros(len(text), np.int64)
    tables = (_ASCII_CLASS, _LOWER, class_table())
    _batch_signatures(text.data, text.starts, text.ends, *tables, n, _leave(n), *scratch, a, b, out, counts)
    return out, counts
