"""The compiled counts: one pass over the bytes of a text, one over its tokens. ``plain_counts`` says the same in Python.

All arithmetic on hashes is forced to 64 bits by explicit casts. Compiled in memory only, like ``udfs.dedup.numba_kernel``.
"""

# ruff: noqa: ANN001, ANN202 -- numba infers the types
# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="assignment"

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from udfs.dedup.mix import GRAM_BASE, TOKEN_BASE, TOKEN_SEED
from udfs.quality.counts import (
    FIRST_DUP,
    FIRST_TOP,
    GRAM_COUNTS,
    LAST_TOP,
    LINE_COUNTS,
    LONG_LINE,
    LONGEST_GRAM,
    MAX_FIELD,
    MIN_LINE_FIELDS,
    SHORT_LINE,
)
from udfs.quality.marks import BULLETS, CITATIONS, CLOSER, ENDER, FULL_STOP, LETTER, LOREM, NOTICES, SPACE, SYMBOL, TERMINAL, mark_table
from udfs.text.buffers import TextBuffer

_C = {name: at for at, name in enumerate(LINE_COUNTS)}
_CHARS, _SYMBOLS, _NEWLINES, _HASHES, _ELLIPSES, _BRACES, _LOREM = (_C[n] for n in LINE_COUNTS[:7])
_FIELDS, _ALPHA, _LINES, _LINE_CHARS, _DUP_LINES, _DUP_LINE_CHARS = (_C[n] for n in LINE_COUNTS[7:13])
_PARS, _DUP_PARS, _DUP_PAR_CHARS, _BULLET, _ELLIPSIS, _TERMINAL, _SHORT, _LONG, _C4, _C4_STRICT = (_C[n] for n in LINE_COUNTS[13:])
_G = {name: at for at, name in enumerate(GRAM_COUNTS)}
_WORDS, _WORD_CHARS, _TOP_WORD, _TOP_2, _DUP_5, _DUP_5_CHARS, _STOP = (
    _G[n] for n in ("words", "word_chars", "top_word", "top_2_chars", "dup_5", "dup_5_chars", "stop_words")
)
_ASCII = mark_table()[:128].copy()
_BULLET_POINT, _HYPHEN = (ord(char) for char in BULLETS)
_HORIZONTAL_ELLIPSIS = 0x2026


def _packed(phrases: tuple[bytes, ...]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    bounds = np.concatenate(([0], np.cumsum([len(p) for p in phrases]))).astype(np.int64)
    return np.frombuffer(b"".join(phrases), np.uint8).copy(), bounds


_PHRASES, _PHRASE_BOUNDS = _packed((*NOTICES, LOREM))
_CITED, _CITED_BOUNDS = _packed(CITATIONS)
#: Whether a phrase begins with this byte, either case.
_BEGINS = np.zeros(256, np.bool_)
_BEGINS[[byte for phrase in (*NOTICES, LOREM) for byte in (phrase[0], phrase[0] - 32)]] = True
_LAST_PHRASE = len(NOTICES)


@numba.njit(cache=False, nogil=True)
def _phrase_at(data, i, end, phrases, bounds):
    """Number of the phrase that begins at ``i``, ASCII letters in either case; -1 for none."""
    for number in range(len(bounds) - 1):
        size = bounds[number + 1] - bounds[number]
        if i + size > end:
            continue
        same = True
        for j in range(size):
            byte = data[i + j]
            if 65 <= byte <= 90:
                byte += 32
            if byte != phrases[bounds[number] + j]:
                same = False
                break
        if same:
            return number
    return -1


@numba.njit(cache=False, nogil=True)
def _without_citations(data, first, end, cited, bounds):
    """End of the line ``data[first:end]`` without the citations, blanks and tabs that close it."""
    while end > first and data[end - 1] == 93:
        j = end - 2
        while j >= first and 48 <= data[j] <= 57:
            j -= 1
        cut = j if j >= first and data[j] == 91 else -1
        for number in range(len(bounds) - 1):
            size = bounds[number + 1] - bounds[number]
            if end - size >= first:
                same = True
                for k in range(size):
                    if data[end - size + k] != cited[bounds[number] + k]:
                        same = False
                        break
                if same:
                    cut = end - size
        if cut < 0:
            break
        end = cut
        while end > first and (data[end - 1] == 32 or data[end - 1] == 9):
            end -= 1
    return end


@numba.njit(cache=False, nogil=True)
def _last_bits(data, first, end, marks):
    """Bits of the last code point of ``data[first:end]``; 0 where there is none."""
    if end <= first:
        return 0
    at, cp, shift = end - 1, 0, 0
    while data[at] & 0xC0 == 0x80:
        cp |= (np.int64(data[at]) & 0x3F) << shift
        shift += 6
        at -= 1
    width = end - at
    lead = np.int64(data[at]) if width == 1 else np.int64(data[at]) & (0x7F >> width)
    return marks[cp | (lead << shift)]


@numba.njit(cache=False, nogil=True)
def _repeats(hashes, chars, count, keys, used):
    """How many of ``hashes[:count]`` occurred before, and the sum of their ``chars``."""
    bits = 4
    while (1 << bits) < 2 * count:
        bits += 1
    size, shift = 1 << bits, np.uint64(64 - bits)
    used[:size] = 0
    times, total = 0, 0
    for k in range(count):
        h = hashes[k]
        slot = np.int64((h * TOKEN_BASE) >> shift)
        while used[slot] and keys[slot] != h:
            slot = (slot + 1) & (size - 1)
        if used[slot]:
            times += 1
            total += chars[k]
        else:
            used[slot], keys[slot] = 1, h
    return times, total


@numba.njit(cache=False, nogil=True)
def _line_counts(
    data, start, end, ascii_marks, marks, begins, phrases, bounds, cited, cited_bounds, hashes, chars, p_hashes, p_chars, keys, used, out
):
    n_chars = n_symbols = n_newlines = n_hashes = n_ellipses = n_braces = n_fields = n_alpha = n_lines = n_pars = dots = 0
    # of the field, of the line, of the paragraph that is being read
    f_chars = l_fields = l_longest = l_chars = l_tail = l_sentences = p_lines = p_sum = 0
    f_alpha = f_ender = l_open = l_notice = after_letter = False
    first, last, head, h, h_last, p_h, chars_at_first = -1, start, 0, TOKEN_SEED, TOKEN_SEED, TOKEN_SEED, 0
    i = start
    while i <= end:
        if i < end:
            byte = data[i]
            if byte < 0x80:
                width, cp, bits = 1, np.int64(byte), ascii_marks[byte]
            else:
                width = 2 if byte < 0xE0 else (3 if byte < 0xF0 else 4)
                cp = np.int64(byte) & (0x7F >> width)
                for j in range(1, width):
                    cp = (cp << 6) | (np.int64(data[i + j]) & 0x3F)
                bits = marks[cp]
            n_chars += 1
        else:
            width, cp, bits = 1, np.int64(10), np.uint8(SPACE)
        if not bits & SPACE:
            if first < 0:
                first, head, h, chars_at_first = i, cp, TOKEN_SEED, n_chars - 1
            for j in range(width):
                h = h * TOKEN_BASE + np.uint64(data[i + j])
            h_last, last = h, i + width
            l_chars = n_chars - chars_at_first
            f_chars += 1
            if bits & LETTER:
                if width == 1 and not after_letter and begins[cp]:
                    number = _phrase_at(data, i, end, phrases, bounds)
                    if number == _LAST_PHRASE:
                        out[_LOREM] += 1
                    elif number >= 0:
                        l_notice = True
                after_letter = f_alpha = l_open = True
                f_ender = False
                dots = 0
            else:
                after_letter = False
                if bits & SYMBOL:
                    n_symbols += 1
                if cp == 46:
                    dots += 1
                    if dots % 3 == 0:
                        n_ellipses += 1
                else:
                    dots = 0
                if cp == 35:
                    n_hashes += 1
                elif cp == 123:
                    n_braces += 1
                elif cp == _HORIZONTAL_ELLIPSIS:
                    n_ellipses += 1
                if bits & FULL_STOP:
                    l_sentences += 1
                    l_open = f_ender = False
                elif bits & ENDER:
                    f_ender = l_open = True
                elif not bits & CLOSER:
                    f_ender, l_open = False, True
            l_tail = dots if cp != _HORIZONTAL_ELLIPSIS else 3
        else:
            after_letter = False
            dots = 0
            if first >= 0:
                if f_chars:
                    n_fields += 1
                    l_fields += 1
                    n_alpha += f_alpha
                    l_longest = max(l_longest, f_chars)
                    if f_ender:
                        l_sentences += 1
                        l_open = False
                    f_chars, f_alpha, f_ender = 0, False, False
                if cp != 10:
                    h = h * TOKEN_BASE + np.uint64(data[i])
                    for j in range(1, width):
                        h = h * TOKEN_BASE + np.uint64(data[i + j])
            if cp == 10:
                n_newlines += i < end
                if first >= 0:
                    hashes[n_lines], chars[n_lines] = h_last, l_chars
                    n_lines += 1
                    p_lines += 1
                    p_sum += l_chars
                    p_h = p_h * GRAM_BASE + h_last
                    out[_LINE_CHARS] += l_chars
                    out[_BULLET] += head in (_BULLET_POINT, _HYPHEN)
                    out[_ELLIPSIS] += l_tail >= 3
                    out[_SHORT] += l_chars <= SHORT_LINE
                    out[_LONG] += l_chars >= LONG_LINE
                    stop = _without_citations(data, first, last, cited, cited_bounds)
                    ends = _last_bits(data, first, stop, marks) & TERMINAL != 0
                    out[_TERMINAL] += ends
                    if l_fields >= MIN_LINE_FIELDS and l_longest <= MAX_FIELD and not l_notice:
                        sentences = l_sentences + l_open
                        out[_C4] += sentences
                        dotted = stop - first >= 3 and data[stop - 1] == 46 and data[stop - 2] == 46 and data[stop - 3] == 46
                        if ends and not dotted:
                            out[_C4_STRICT] += sentences
                if (first < 0 or i == end) and p_lines:
                    p_hashes[n_pars], p_chars[n_pars] = p_h, p_sum
                    n_pars += 1
                    p_lines, p_sum, p_h = 0, 0, TOKEN_SEED
                first, l_chars, l_fields, l_longest, l_tail, l_sentences = -1, 0, 0, 0, 0, 0
                l_open, l_notice = False, False
        i += width
    out[_CHARS], out[_SYMBOLS], out[_NEWLINES], out[_HASHES] = n_chars, n_symbols, n_newlines, n_hashes
    out[_ELLIPSES], out[_BRACES], out[_FIELDS], out[_ALPHA] = n_ellipses, n_braces, n_fields, n_alpha
    out[_LINES], out[_PARS] = n_lines, n_pars
    out[_DUP_LINES], out[_DUP_LINE_CHARS] = _repeats(hashes, chars, n_lines, keys, used)
    out[_DUP_PARS], out[_DUP_PAR_CHARS] = _repeats(p_hashes, p_chars, n_pars, keys, used)


@numba.njit(cache=False, nogil=True)
def _gram_counts(tokens, sizes, stops, first_stop, last_stop, sums, places, grams, slots, keys, times, out):
    """Counts over one text's tokens.

    Only places whose n-gram and whose right neighbour's occur twice are looked at for n + 1: in prose nothing much is left after three words.
    """
    count = len(tokens)
    sums[0] = 0
    for i in range(count):
        places[i], grams[i] = i, tokens[i]
        sums[i + 1] = sums[i] + sizes[i]
    out[_WORDS], out[_WORD_CHARS], out[_STOP] = count, sums[count], 0
    for n in range(1, LONGEST_GRAM + 1):
        bits = 4
        while (1 << bits) < 2 * count:
            bits += 1
        size, shift = 1 << bits, np.uint64(64 - bits)
        times[:size] = 0
        later, covered, until = 0, 0, 0
        for k in range(count):
            h = grams[k]
            slot = np.int64(h >> shift)
            while times[slot] and keys[slot] != h:
                slot = (slot + 1) & (size - 1)
            if times[slot]:
                later += 1
                p = places[k]
                covered += sums[p + n] - sums[max(p, until)]
                until = p + n
            else:
                keys[slot] = h
            times[slot] += 1
            slots[k] = slot
        if n == 1:
            for s in range(first_stop, last_stop):
                slot = np.int64(stops[s] >> shift)
                while times[slot] and keys[slot] != stops[s]:
                    slot = (slot + 1) & (size - 1)
                out[_STOP] += times[slot] > 0
        if n <= LAST_TOP:
            most, longest = 1, 0
            for k in range(count):
                often = times[slots[k]]
                if often >= most:
                    long = sums[places[k] + n] - sums[places[k]]
                    if often > most or long > longest:
                        most, longest = often, long
            if n == 1:
                out[_TOP_WORD] = most if count else 0
            elif n >= FIRST_TOP and most > 1:
                out[_TOP_2 + n - FIRST_TOP] = min(most * longest, sums[out[_WORDS]])
        if n == FIRST_DUP:
            out[_DUP_5] = later
        if n >= FIRST_DUP:
            out[_DUP_5_CHARS + n - FIRST_DUP] = covered
        left = 0
        for k in range(count - 1):
            if times[slots[k]] > 1 and times[slots[k + 1]] > 1 and places[k + 1] == places[k] + 1:
                p = places[k]
                places[left], grams[left] = p, grams[k] * GRAM_BASE + tokens[p + n]
                left += 1
        count = left
        if not count:
            break


@numba.njit(cache=False, nogil=True)
def _batch_lines(
    data, starts, ends, ascii_marks, marks, begins, phrases, bounds, cited, cited_bounds, hashes, chars, p_hashes, p_chars, keys, used, out
):
    for row in range(len(starts)):
        _line_counts(
            data,
            starts[row],
            ends[row],
            ascii_marks,
            marks,
            begins,
            phrases,
            bounds,
            cited,
            cited_bounds,
            hashes,
            chars,
            p_hashes,
            p_chars,
            keys,
            used,
            out[row],
        )


@numba.njit(cache=False, nogil=True)
def _batch_grams(tokens, sizes, offsets, stops, firsts, lasts, sums, places, grams, slots, keys, times, out):
    for row in range(len(offsets) - 1):
        low, high = offsets[row], offsets[row + 1]
        _gram_counts(tokens[low:high], sizes[low:high], stops, firsts[row], lasts[row], sums, places, grams, slots, keys, times, out[row])


def _room(most: int) -> int:
    """Slots of a table for ``most`` keys: a power of two, at least twice as many."""
    return max(16, 1 << (2 * most - 1).bit_length()) if most else 16


def line_counts(text: TextBuffer) -> NDArray[np.int64]:
    """``LINE_COUNTS`` of every row of valid UTF-8: int64[n_rows, len(LINE_COUNTS)]."""
    most = int((text.ends - text.starts).max(initial=0)) // 2 + 1  # a line has a byte and a line feed at least
    out = np.zeros((len(text), len(LINE_COUNTS)), np.int64)
    # Pages of these that are never touched cost nothing.
    scratch = (np.empty(most, np.uint64), np.empty(most, np.int64), np.empty(most, np.uint64), np.empty(most, np.int64))
    table = (np.empty(_room(most), np.uint64), np.empty(_room(most), np.uint8))
    looked_for = (_BEGINS, _PHRASES, _PHRASE_BOUNDS, _CITED, _CITED_BOUNDS)
    _batch_lines(text.data, text.starts, text.ends, _ASCII, mark_table(), *looked_for, *scratch, *table, out)
    return out


def gram_counts(
    tokens: NDArray[np.uint64],
    sizes: NDArray[np.int32],
    offsets: NDArray[np.int64],
    stops: NDArray[np.uint64],
    firsts: NDArray[np.int64],
    lasts: NDArray[np.int64],
) -> NDArray[np.int64]:
    """``GRAM_COUNTS`` of every row: int64[n_rows, len(GRAM_COUNTS)].

    Args:
        tokens: hashes of the tokens of all rows.
        sizes: their code points.
        offsets: row i has the tokens ``offsets[i]:offsets[i + 1]``.
        stops: hashes of stop words.
        firsts: row i counts which of ``stops[firsts[i]:lasts[i]]`` it has.
        lasts: see ``firsts``.
    """
    most = int(np.diff(offsets).max(initial=0))
    out = np.zeros((len(offsets) - 1, len(GRAM_COUNTS)), np.int64)
    scratch = (np.empty(most + 1, np.int64), np.empty(most, np.int64), np.empty(most, np.uint64), np.empty(most, np.int64))
    table = (np.empty(_room(most), np.uint64), np.empty(_room(most), np.int32))
    _batch_grams(tokens, sizes, offsets, stops, firsts, lasts, *scratch, *table, out)
    return out
