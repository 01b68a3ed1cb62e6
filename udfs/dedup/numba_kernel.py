"""The compiled kernel: one pass over the bytes of a batch, document by document, from text to signature.

Text in ASCII is read 64 bytes at a time: a mask of letters and digits, whose changes are the edges of words, then words by eight bytes,
then every further step for all words or shingles of a document at once, so that the compiler uses all lanes. Other text goes byte by
byte. ``cache=False``, for ``object_code`` keeps what is compiled: numba's cache cannot where modules lie in a zip under a random path.
All arithmetic is forced to its width by explicit casts, because numba widens mixed operands.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from udfs.dedup.lanes import BLOCK, horner8, load64, trailing_zeros, word_bits
from udfs.dedup.mix import F32_1, F32_2, F64_1, F64_2, GRAM_BASE, TOKEN_BASE, TOKEN_SEED
from udfs.dedup.numba_forms import normalised, plain_rows, squeezed
from udfs.dedup.object_code import kept
from udfs.text.buffers import TextBuffer
from udfs.text.charclass import ALONE, SEPARATOR, WORD, class_table

__all__ = ["fmix64", "normalised", "shared", "shingle_hashes", "signatures", "squeezed", "token_hashes"]

_S33, _ONE = np.uint64(33), np.uint64(1)
_ASCII_CLASS = class_table()[:128].copy()
_LOWER = np.arange(128, dtype=np.uint64)
_LOWER[65:91] += np.uint64(32)
#: TOKEN_BASE to the power i.
_POWERS = np.array([pow(int(TOKEN_BASE), i, 1 << 64) for i in range(9)], np.uint64)
#: The bit that makes an ASCII capital small; digits and small letters have it.
_SMALL = np.uint64(0x2020202020202020)
#: Shingles are padded to a multiple of this, so that the loop over them has no scalar rest.
_PAD = 64


@numba.njit(cache=False, nogil=True, inline="always")
def fmix64(h):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201 -- numba infers the types
    """Murmur3's final mix of 64 bits, as ``udfs.dedup.mix`` defines it."""
    h = np.uint64(h ^ (h >> _S33)) * F64_1
    h = np.uint64(h ^ (h >> _S33)) * F64_2
    return np.uint64(h ^ (h >> _S33))


@numba.njit(cache=False, nogil=True)
def _any_tokens(data, start, end, ascii_class, lower, classes, hashes, chars):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
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
            hashes[count], chars[count] = fmix64(h), length
            count, length, h = count + 1, 0, TOKEN_SEED
        if cls != SEPARATOR:
            if width == 1:
                h = h * TOKEN_BASE + lower[byte]
            else:
                for j in range(width):
                    h = h * TOKEN_BASE + np.uint64(data[i + j])
            length += 1
            if cls == ALONE:
                hashes[count], chars[count] = fmix64(h), 1
                count, length, h = count + 1, 0, TOKEN_SEED
        i += width
    if length:
        hashes[count], chars[count] = fmix64(h), length
        count += 1
    return count


@numba.njit(cache=False, nogil=True)
def _edges(data, start, end, edges):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """First byte of every word of ASCII text and the byte after its last, one after the other; how many words there are."""
    count, carry = 0, np.uint64(0)
    for at in range(start, end, BLOCK):
        inside = word_bits(data, at)
        if end - at < BLOCK:
            inside &= (_ONE << np.uint64(end - at)) - _ONE
        changes = inside ^ ((inside << _ONE) | carry)
        carry = inside >> np.uint64(BLOCK - 1)
        while changes:
            edges[count] = at + trailing_zeros(changes)
            count += 1
            changes &= changes - _ONE
    if count & 1:
        edges[count] = end
        count += 1
    return count >> 1


@numba.njit(cache=False, nogil=True)
def _ascii_tokens(data, start, end, powers, edges, hashes, chars):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """As ``_any_tokens``, for ASCII text that ``BLOCK`` bytes follow."""
    count = _edges(data, start, end, edges)
    for k in range(count):
        at = edges[2 * k]
        length = edges[2 * k + 1] - at
        if length <= 8:
            h = TOKEN_SEED * powers[length] + horner8((load64(data, at) | _SMALL) << np.uint64(64 - 8 * length))
        else:
            h, odd = TOKEN_SEED, length & 7
            if odd:
                h = h * powers[odd] + horner8((load64(data, at) | _SMALL) << np.uint64(64 - 8 * odd))
            for eight in range(at + odd, at + length, 8):
                h = h * powers[8] + horner8(load64(data, eight) | _SMALL)
        hashes[k], chars[k] = h, length
    for k in range(count):
        hashes[k] = fmix64(hashes[k])
    return count


@numba.njit(cache=False, nogil=True)
def _tokens(data, start, end, plain, tables, edges, hashes, chars):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    ascii_class, lower, classes, powers = tables
    if plain and end + BLOCK <= len(data):
        return _ascii_tokens(data, start, end, powers, edges, hashes, chars)
    return _any_tokens(data, start, end, ascii_class, lower, classes, hashes, chars)


@numba.njit(cache=False, nogil=True)
def _grams(tokens, count, n, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """n-grams of ``tokens[:count]`` by Horner's rule into ``out``, not yet finalised; how many there are."""
    if count == 0:
        return 0
    size = min(n, count)
    many = count - size + 1
    for i in range(many):
        out[i] = tokens[i]
    for j in range(1, size):
        for i in range(many):
            out[i] = out[i] * GRAM_BASE + tokens[i + j]
    return many


@numba.njit(cache=False, nogil=True)
def _mix_to_32(grams, count, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Top 32 bits of every shingle hash, through MurmurHash3's 32-bit finaliser; the length of ``out`` after its padding.

    Padding repeats a shingle, which changes no minimum.
    """
    for i in range(count):
        h = np.uint32(fmix64(grams[i]) >> np.uint64(32))
        h = np.uint32(np.uint32(h ^ (h >> np.uint32(16))) * F32_1)
        h = np.uint32(np.uint32(h ^ (h >> np.uint32(13))) * F32_2)
        out[i] = np.uint32(h ^ (h >> np.uint32(16)))
    padded = (count + _PAD - 1) // _PAD * _PAD
    for i in range(count, padded):
        out[i] = out[0]
    return padded


@numba.njit(cache=False, nogil=True)
def _minima(mixed, count, a, b, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Minimum over ``mixed[:count]`` of ``a * h + b`` for every permutation."""
    for k in range(len(a)):
        scale, shift, least = a[k], b[k], np.uint32(0xFFFFFFFF)
        for i in range(count):
            least = min(least, np.uint32(np.uint32(scale * mixed[i]) + shift))
        out[k] = least


@kept
@numba.njit(cache=False, nogil=True)
def _batch_tokens(data, starts, ends, plain, tables, edges, hashes, chars, offsets):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for row in range(len(starts)):
        at = offsets[row]
        offsets[row + 1] = at + _tokens(data, starts[row], ends[row], plain[row], tables, edges, hashes[at:], chars[at:])


@kept
@numba.njit(cache=False, nogil=True)
def _batch_shingles(data, starts, ends, plain, tables, n, edges, hashes, chars, out, offsets):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for row in range(len(starts)):
        at = offsets[row]
        count = _tokens(data, starts[row], ends[row], plain[row], tables, edges, hashes, chars)
        count = _grams(hashes, count, n, out[at:])
        offsets[row + 1] = at + count
        for i in range(at, at + count):
            out[i] = fmix64(out[i])


@kept
@numba.njit(cache=False, nogil=True)
def _batch_signatures(data, starts, ends, plain, tables, n, edges, hashes, chars, grams, mixed, a, b, out, counts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for row in range(len(starts)):
        count = _tokens(data, starts[row], ends[row], plain[row], tables, edges, hashes, chars)
        counts[row, 1] = count
        count = _grams(hashes, count, n, grams)
        _minima(mixed, _mix_to_32(grams, count, mixed), a, b, out[row])
        counts[row, 0] = count


def _most_tokens(text: TextBuffer) -> NDArray[np.int64]:
    """Upper bound of tokens a row: two bytes a token at least (a spaceless code point has three), and one more."""
    return (text.ends - text.starts) // 2 + 1


def _rows(text: TextBuffer) -> tuple[object, ...]:
    return text.data, text.starts, text.ends, plain_rows(text), (_ASCII_CLASS, _LOWER, class_table(), _POWERS)


def _scratch(text: TextBuffer) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int32]]:
    widest = int(_most_tokens(text).max(initial=0))
    return np.empty(2 * widest, np.int64), np.empty(widest, np.uint64), np.empty(widest, np.int32)


def token_hashes(text: TextBuffer) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.int64]]:
    """Token hashes, their lengths in code points, and row offsets; see ``kernel.token_hashes``."""
    room = int(_most_tokens(text).sum())
    hashes, chars, offsets = np.empty(room, np.uint64), np.empty(room, np.int32), np.zeros(len(text) + 1, np.int64)
    _batch_tokens(*_rows(text), _scratch(text)[0], hashes, chars, offsets)
    return hashes[: offsets[-1]], chars[: offsets[-1]], offsets


def shingle_hashes(text: TextBuffer, n: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Shingle hashes in order of occurrence, and row offsets; see ``kernel.shingle_hashes``."""
    out, offsets = np.empty(int(_most_tokens(text).sum()), np.uint64), np.zeros(len(text) + 1, np.int64)
    _batch_shingles(*_rows(text), n, *_scratch(text), out, offsets)
    return out[: offsets[-1]], offsets


def signatures(text: TextBuffer, n: int, a: NDArray[np.uint32], b: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """MinHash values and shingle counts; see ``kernel.signatures``."""
    edges, hashes, chars = _scratch(text)
    grams, mixed = np.empty(len(hashes), np.uint64), np.empty(len(hashes) + _PAD, np.uint32)
    out, counts = np.empty((len(text), len(a)), np.uint32), np.zeros((len(text), 2), np.int64)
    _batch_signatures(*_rows(text), n, edges, hashes, chars, grams, mixed, a, b, out, counts)
    return out, counts


@kept
@numba.njit(cache=False, nogil=True)
def shared(left, right):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """How many members two ascending sets have in common."""
    i, j, found = 0, 0, 0
    while i < len(left) and j < len(right):
        x, y = left[i], right[j]
        found += x == y
        i += x <= y
        j += y <= x
    return found
