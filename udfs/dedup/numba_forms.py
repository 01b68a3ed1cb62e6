"""Forms of texts by the compiled kernel: which rows are ASCII, the normal form, white space squeezed."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from udfs.dedup.object_code import kept
from udfs.text.buffers import TextBuffer
from udfs.text.normalise import NOT_SIMPLE, normalise, simple_folds


@kept
@numba.njit(cache=False, nogil=True)
def _batch_plain(data, starts, ends, plain):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for row in range(len(starts)):
        seen = np.uint8(0)
        for i in range(starts[row], ends[row]):
            seen |= data[i]
        plain[row] = seen < 0x80


def plain_rows(text: TextBuffer) -> NDArray[np.bool_]:
    """Which rows are pure ASCII: bool[n_rows]."""
    plain = np.empty(len(text), np.bool_)
    _batch_plain(text.data, text.starts, text.ends, plain)
    return plain


@numba.njit(cache=False, nogil=True)
def _code_point(data, i, end):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The code point that begins at ``i`` and its bytes; 0 bytes where they are not UTF-8 (RFC 3629, section 4)."""
    byte = np.int64(data[i])
    if byte < 0x80:
        return byte, 1
    width = 2 if 0xC2 <= byte < 0xE0 else (3 if 0xE0 <= byte < 0xF0 else (4 if 0xF0 <= byte < 0xF5 else 0))
    if width == 0 or i + width > end:
        return 0, 0
    cp = byte & (0x7F >> width)
    for j in range(1, width):
        more = np.int64(data[i + j])
        if more & 0xC0 != 0x80:
            return 0, 0
        cp = (cp << 6) | (more & 0x3F)
    if (width == 3 and (cp < 0x800 or 0xD800 <= cp < 0xE000)) or (width == 4 and not 0x10000 <= cp < 0x110000):
        return 0, 0
    return cp, width


@kept
@numba.njit(cache=False, nogil=True)
def _batch_folded(data, starts, ends, plain, folds, not_simple, out, firsts, lasts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Normal form of the rows of simple code points into ``out``, and where it lies; of other rows ``lasts`` is -1. Bytes written."""
    at = 0
    for row in range(len(starts)):
        firsts[row], lasts[row] = at, -1
        if plain[row]:
            continue
        i, end = starts[row], ends[row]
        while i < end:
            cp, width = _code_point(data, i, end)
            folded = folds[min(cp, len(folds) - 1)]
            if width == 0 or folded == not_simple:
                break
            if folded < 0x80:
                out[at] = folded
                at += 1
            else:
                more = 1 if folded < 0x800 else (2 if folded < 0x10000 else 3)
                out[at] = (0xFF00 >> (more + 1) & 0xFF) | (folded >> (6 * more))
                for j in range(more - 1, -1, -1):
                    out[at + more - j] = 0x80 | ((folded >> (6 * j)) & 0x3F)
                at += more + 1
            i += width
        if i < end:
            at = firsts[row]
        else:
            lasts[row] = at
    return at


def normalised(text: TextBuffer) -> TextBuffer:
    """The rows in normal form; see ``kernel.normal_form``. Rows of simple code points in one pass, the others as Python does it."""
    plain = plain_rows(text)
    if plain.all():
        return text
    starts, ends = text.starts.copy(), text.ends.copy()
    room = int((text.ends - text.starts)[~plain].sum()) * 2  # a code point of two bytes becomes one of four at most, one of three likewise
    out, firsts, lasts = np.empty(room, np.uint8), np.empty(len(text), np.int64), np.empty(len(text), np.int64)
    size = _batch_folded(text.data, text.starts, text.ends, plain, simple_folds(), NOT_SIMPLE, out, firsts, lasts)
    folded = ~plain & (lasts >= 0)
    starts[folded], ends[folded] = firsts[folded] + len(text.data), lasts[folded] + len(text.data)
    pieces = [text.data, out[:size]]
    size += len(text.data)
    for row in np.flatnonzero(~plain & (lasts < 0)).tolist():
        raw = text.data[text.starts[row] : text.ends[row]].tobytes()
        pieces.append(np.frombuffer(normalise(raw.decode("utf-8", "replace")).encode(), np.uint8))
        starts[row], ends[row] = size, size + len(pieces[-1])
        size += len(pieces[-1])
    return TextBuffer(np.concatenate(pieces), starts, ends)


@kept
@numba.njit(cache=False, nogil=True)
def _batch_squeezed(data, starts, ends, blanks, out, offsets):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    at = 0
    for row in range(len(starts)):
        i, end, first = starts[row], ends[row], at
        while i < end:
            byte = data[i]
            width = blanks[byte]
            if width > 1:  # the first byte of a blank beyond ASCII, perhaps
                width = _wide_blank(data, i, end)
            if width:
                if at > first and out[at - 1] != 32:
                    out[at] = 32
                    at += 1
                i += width
                continue
            out[at] = byte | 32 if 65 <= byte <= 90 else byte
            at += 1
            i += 1
        if at > first and out[at - 1] == 32:
            at -= 1
        offsets[row + 1] = at


@numba.njit(cache=False, nogil=True)
def _wide_blank(data, i, end):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Bytes of the white space beyond ASCII that begins at ``i``, or 0; of those alone that a normal form holds."""
    if data[i] == 0xC2:
        return 2 if i + 1 < end and data[i + 1] == 0x85 else 0  # U+0085
    if i + 2 >= end:
        return 0
    second, third = data[i + 1], data[i + 2]
    if data[i] == 0xE1:
        return 3 if second == 0x9A and third == 0x80 else 0  # U+1680
    return 3 if second == 0x80 and 0xA8 <= third <= 0xA9 else 0  # U+2028, U+2029


#: Bytes of the white space that a byte may begin, 0 for none: what ``str.split`` splits at, as far as NFKC leaves it.
_BLANKS = np.zeros(256, np.int64)
_BLANKS[[9, 10, 11, 12, 13, 28, 29, 30, 31, 32]] = 1
_BLANKS[0xC2], _BLANKS[0xE1], _BLANKS[0xE2] = 2, 3, 3


def squeezed(text: TextBuffer) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Every row of a normal form in small letters with its white space squeezed, and row offsets; see ``kernel.squeezed``."""
    out, offsets = np.empty(int((text.ends - text.starts).sum()) + 1, np.uint8), np.zeros(len(text) + 1, np.int64)
    _batch_squeezed(text.data, text.starts, text.ends, _BLANKS, out, offsets)
    return out, offsets
