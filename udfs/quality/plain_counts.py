"""The counts in Python and numpy: their definition, and what runs where no compiler is or where compiling does not pay."""

from __future__ import annotations

import re
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from udfs.dedup.mix import GRAM_BASE
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
from udfs.quality.marks import BULLETS, CITATIONS, CLOSERS, ENDERS, FULL_STOPS, LOREM, NOTICES, SYMBOL, TERMINALS, mark_table
from udfs.text.buffers import TextBuffer

# Phrases begin where no letter precedes; ASCII letters match in either case, nothing else does.
_NOTICE = re.compile("|".join(p.decode() for p in NOTICES), re.IGNORECASE | re.ASCII)
_LOREM = re.compile(LOREM.decode(), re.IGNORECASE | re.ASCII)
_DIGITS = "0123456789"


def _begins_word(text: str, found: re.Match[str]) -> bool:
    return found.start() == 0 or not text[found.start() - 1].isalpha()


def _without_citations(line: str) -> str:
    while line.endswith("]"):
        number = line[:-1].rstrip(_DIGITS)
        if number.endswith("["):
            line = number[:-1]
        else:
            named = next((c.decode() for c in CITATIONS if line.endswith(c.decode())), None)
            if named is None:
                break
            line = line.removesuffix(named)
        line = line.rstrip(" \t")
    return line


def _sentences(fields: list[str]) -> int:
    """Ends of sentences in a line, and one more where it goes on after the last."""
    count, is_open = 0, False
    for field in fields:
        ends = False
        for char in field:
            if char in FULL_STOPS:
                count, is_open, ends = count + 1, False, False
            elif char in ENDERS:
                is_open = ends = True
            elif char not in CLOSERS:
                is_open, ends = True, False
        if ends:
            count, is_open = count + 1, False
    return count + is_open


def _of_line(line: str) -> dict[str, int]:
    fields = line.split()
    end = _without_citations(line)
    terminal = end.endswith(tuple(TERMINALS))
    kept = len(fields) >= MIN_LINE_FIELDS and max(map(len, fields)) <= MAX_FIELD
    kept = kept and not any(_begins_word(line, found) for found in _NOTICE.finditer(line))
    sentences = _sentences(fields) if kept else 0
    return {
        "fields": len(fields),
        "alpha_fields": sum(any(map(str.isalpha, field)) for field in fields),
        "bullet_lines": line.startswith(tuple(BULLETS)),
        "ellipsis_lines": line.endswith(("...", "\u2026")),
        "terminal_lines": terminal,
        "short_lines": len(line) <= SHORT_LINE,
        "long_lines": len(line) >= LONG_LINE,
        "c4_sentences": sentences,
        "c4_strict_sentences": sentences if terminal and not end.endswith("...") else 0,
    }


def _repeats(items: list[tuple[str, ...]]) -> tuple[int, int]:
    seen: set[tuple[str, ...]] = set()
    times = chars = 0
    for item in items:
        if item in seen:
            times, chars = times + 1, chars + sum(map(len, item))
        seen.add(item)
    return times, chars


def counts_of_text(text: str) -> dict[str, int]:
    """``LINE_COUNTS`` of one text."""
    stripped = [line.strip() for line in text.split("\n")]
    lines = [line for line in stripped if line]
    paragraphs = [tuple(group) for full, group in groupby(stripped, bool) if full]
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    counts = dict.fromkeys(LINE_COUNTS, 0)
    counts |= {"chars": len(text), "symbols": int(np.count_nonzero(mark_table()[points] & SYMBOL)), "newlines": text.count("\n")}
    counts |= {"hashes": text.count("#"), "ellipses": text.count("...") + text.count("\u2026"), "braces": text.count("{")}
    counts["lorem"] = sum(_begins_word(text, found) for found in _LOREM.finditer(text))
    counts |= {"lines": len(lines), "line_chars": sum(map(len, lines)), "paragraphs": len(paragraphs)}
    counts["dup_lines"], counts["dup_line_chars"] = _repeats([(line,) for line in lines])
    counts["dup_paragraphs"], counts["dup_paragraph_chars"] = _repeats(paragraphs)
    for line in lines:
        for name, value in _of_line(line).items():
            counts[name] += value
    return counts


def line_counts(text: TextBuffer) -> NDArray[np.int64]:
    """``LINE_COUNTS`` of every row; see ``numba_counts.line_counts``."""
    out = np.zeros((len(text), len(LINE_COUNTS)), np.int64)
    for row, (start, end) in enumerate(zip(text.starts.tolist(), text.ends.tolist(), strict=True)):
        counts = counts_of_text(text.data[start:end].tobytes().decode("utf-8", "replace"))
        out[row] = [counts[name] for name in LINE_COUNTS]
    return out


def counts_of_tokens(tokens: NDArray[np.uint64], sizes: NDArray[np.int32], stops: NDArray[np.uint64]) -> dict[str, int]:
    """``GRAM_COUNTS`` of one text."""
    counts = dict.fromkeys(GRAM_COUNTS, 0)
    sums = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    counts |= {"words": len(tokens), "word_chars": int(sums[-1])}
    places, grams = np.arange(len(tokens)), tokens
    for n in range(1, LONGEST_GRAM + 1):
        if not len(places):
            break
        _, first, inverse, often = np.unique(grams, return_index=True, return_inverse=True, return_counts=True)
        times = often[inverse]
        later = np.ones(len(grams), np.bool_)
        later[first] = False
        if n == 1:
            counts |= {"top_word": int(often.max()), "stop_words": int(np.isin(np.unique(stops), tokens).sum())}
        elif FIRST_TOP <= n <= LAST_TOP and often.max() > 1:
            most = int(often.max())
            longest = int((sums[places + n] - sums[places])[times == most].max())
            counts[f"top_{n}_chars"] = min(most * longest, int(sums[-1]))
        if n == FIRST_DUP:
            counts["dup_5"] = int(later.sum())
        if n >= FIRST_DUP:
            step = np.zeros(len(tokens) + 1, np.int64)
            np.add.at(step, places[later], 1)
            np.add.at(step, places[later] + n, -1)
            counts[f"dup_{n}_chars"] = int(np.asarray(sizes)[np.cumsum(step)[:-1] > 0].sum())
        twice = times > 1
        goes_on = np.flatnonzero(twice[:-1] & twice[1:] & (np.diff(places) == 1))
        grams = grams[goes_on] * GRAM_BASE + tokens[places[goes_on] + n]
        places = places[goes_on]
    return counts


def gram_counts(
    tokens: NDArray[np.uint64],
    sizes: NDArray[np.int32],
    offsets: NDArray[np.int64],
    stops: NDArray[np.uint64],
    firsts: NDArray[np.int64],
    lasts: NDArray[np.int64],
) -> NDArray[np.int64]:
    """``GRAM_COUNTS`` of every row; see ``numba_counts.gram_counts``."""
    out = np.zeros((len(offsets) - 1, len(GRAM_COUNTS)), np.int64)
    for row in range(len(out)):
        own = slice(int(offsets[row]), int(offsets[row + 1]))
        counts = counts_of_tokens(tokens[own], sizes[own], stops[int(firsts[row]) : int(lasts[row])])
        out[row] = [counts[name] for name in GRAM_COUNTS]
    return out
