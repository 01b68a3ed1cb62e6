"""From hits to matches: how much of an item a text holds in one place, and whether that is enough."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs.decontamination.grams import I64, U64, find
from udfs.decontamination.index import FIELD_NAMES, GramTable, Index, covered
from udfs.dedup.kernel import KernelName, token_hashes

BOTH = "both"
#: Hits of an item that lie further apart than this many times its tokens (and at least so many tokens) are two places.
_GAP, _LEAST_GAP = 2, 64
#: Share of an item's tokens that its own long n-grams must cover before shorter ones beside them are looked at, and the length of those.
_SEEDED, _EDITED = 0.2, 3
#: Tokens that an edit may add or drop before its neighbours are looked for elsewhere; shifts that are looked at.
_SLIP, _MOST_SHIFTS = 4, 1024


@dataclass(frozen=True)
class Match:
    """A text holds an item.

    Attributes:
        row: of the batch.
        field: of the index.
        part: question, answer, or both (a short question beside its answer).
        start, end: first token of the text in the match, and the one after its last.
        coverage: share of the field's counted tokens that the text holds, plain or weighted by rarity, whichever is smaller.
        matched: number of tokens that it holds.
        counted: tokens that could be.
        grams: n-grams of the index that were hit; empty for a short question.
        held: tokens of the field that the text holds; likewise.
    """

    row: int
    field: int
    part: str
    start: int
    end: int
    coverage: float
    matched: int
    counted: int
    grams: tuple[int, ...] = ()
    held: tuple[int, ...] = ()


@dataclass(frozen=True)
class Matches:
    """What a batch holds.

    Attributes:
        found: matches in order of row and field.
        stray: n-grams that rows hold without holding an item they belong to: index int64[k], ascending, and in how many rows.
    """

    found: tuple[Match, ...]
    stray: tuple[I64, I64]


class Matcher:
    """Matches batches against one index; the compiled lookup is made on first need."""

    def __init__(self, index: Index, kernel: KernelName = "auto") -> None:
        self.index, self._kernel = index, kernel
        self._compiled = kernel != "numpy" and find_spec("numba") is not None
        self._finders: dict[int, object] = {}

    def __call__(self, column: pa.Array | pa.ChunkedArray) -> Matches:
        """Matches of a text column."""
        tokens, _, offsets = token_hashes(column, self._kernel)
        pairs = self._pairs(self.index.long, tokens, offsets)
        found, stray = _long_matches(self.index, pairs, tokens, offsets)
        found += self._short_matches(tokens, offsets)
        return Matches(tuple(sorted(found, key=lambda m: (m.row, m.field))), stray)

    def _hits(self, table: GramTable, tokens: U64, offsets: I64) -> tuple[I64, I64]:
        if not len(table.grams):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        if not self._compiled:
            return find(tokens, offsets, table.n, table.grams, table.refs, self.index.tokens)
        from udfs.decontamination.numba_find import Finder

        if table.n not in self._finders:
            self._finders[table.n] = Finder(table.n, table.grams, table.refs, self.index.tokens)
        finder = self._finders[table.n]
        assert isinstance(finder, Finder)  # noqa: S101 -- for the type checker: numba may be missing where the class is named
        return finder(tokens, offsets)

    def _pairs(self, table: GramTable, tokens: U64, offsets: I64) -> NDArray[np.int64]:
        """int64[6, k]: row, field, token of the text, n-gram, token of the field, how often it stands in the field; sorted in this order."""
        at, gram = self._hits(table, tokens, offsets)
        many = table.bounds[gram + 1] - table.bounds[gram]
        hit = np.repeat(np.arange(len(at)), many)
        inner = np.arange(len(hit)) - np.repeat(np.cumsum(many) - many, many)
        owner = table.bounds[gram[hit]] + inner
        row = np.searchsorted(offsets, at[hit], side="right") - 1
        pairs = np.stack([row, table.fields[owner], at[hit] - offsets[row], gram[hit], table.positions[owner], table.times[owner]])
        return pairs[:, np.lexsort(pairs[2::-1])]

    def _short_matches(self, tokens: U64, offsets: I64) -> list[Match]:
        index, found = self.index, {}
        for row, fld, at, _, position, _ in self._pairs(index.short, tokens, offsets).T.tolist():
            text = tokens[offsets[row] : offsets[row + 1]]
            question = index.tokens[index.starts[fld] : index.ends[fld]]
            start = at - position
            end = start + len(question)
            if (row, fld) in found or start < 0 or not np.array_equal(text[start:end], question):
                continue
            low, high = index.final[index.item[fld]].tolist()
            place = _beside(text, index.tokens[low:high], start, end, index.rule.window)
            if place is not None:
                size = len(question) + high - low
                found[row, fld] = Match(row, fld, BOTH, min(start, place), max(end, place + high - low), 1.0, size, size)
        return list(found.values())


def _beside(text: U64, answer: U64, start: int, end: int, window: int) -> int | None:
    """Where ``answer`` begins within ``window`` tokens after ``end``, else before ``start``, without touching the question."""
    after = text[end : end + window + len(answer)]
    before = text[max(0, start - window - len(answer)) : start]
    for part, offset in ((after, end), (before, max(0, start - window - len(answer)))):
        for i in np.flatnonzero(part[: max(0, len(part) - len(answer) + 1)] == answer[0]).tolist():
            if np.array_equal(part[i : i + len(answer)], answer):
                return int(i) + offset
    return None


def _long_matches(index: Index, pairs: NDArray[np.int64], tokens: U64, offsets: I64) -> tuple[list[Match], tuple[I64, I64]]:
    row, fld = pairs[0], pairs[1]
    new = np.ones(len(row), bool)
    new[1:] = (row[1:] != row[:-1]) | (fld[1:] != fld[:-1])
    begins = np.flatnonzero(new)
    sizes = np.diff(np.append(begins, len(row)))
    # An n-gram covers n tokens wherever it stands in the item: most texts with a stray phrase are done here, all at once.
    reach = index.rule.n * np.add.reduceat(pairs[5], begins) if len(begins) else begins
    hopeful = np.flatnonzero(reach >= np.ceil(index.counted[fld[begins]] * _SEEDED))
    found, within = [], np.zeros(len(row), bool)
    for k in hopeful.tolist():
        part = slice(begins[k], begins[k] + sizes[k])
        this = int(row[begins[k]])
        match = best_place(index, this, int(fld[begins[k]]), pairs[2:5, part], tokens[offsets[this] : offsets[this + 1]])
        if match is not None:
            found.append(match)
            within[part] = True
    return found, _stray(row, pairs[3], within)


def _stray(row: I64, gram: I64, within: NDArray[np.bool_]) -> tuple[I64, I64]:
    if not len(row):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    most = int(gram.max()) + 1
    key = row * most + gram
    alone = np.setdiff1d(key, key[within])
    grams, rows = np.unique(alone % most, return_counts=True)
    return grams, rows.astype(np.int64)


def best_place(index: Index, row: int, fld: int, hits: NDArray[np.int64], text: U64) -> Match | None:
    """The place of a text that holds most of a field, the first of equals; None where that is not enough.

    Args:
        index: items.
        row: of the batch.
        fld: of the index.
        hits: int64[3, k]: tokens at which hits begin, ascending; their n-grams; the first token of the field at which each stands.
        text: token hashes of the row.
    """
    tokens = int(index.ends[fld] - index.starts[fld])
    cuts = np.flatnonzero(np.diff(hits[0]) > max(_LEAST_GAP, _GAP * tokens)) + 1
    best: Match | None = None
    for place in np.split(hits, cuts, axis=1):
        match = _measured(index, row, fld, place, text)
        if match is not None and (best is None or match.matched > best.matched):
            best = match
    return best


def _measured(index: Index, row: int, fld: int, hits: NDArray[np.int64], text: U64) -> Match | None:
    at, gram, position = hits
    n, grams = index.rule.n, np.unique(gram)
    own = index.gram_at[index.starts[fld] : index.ends[fld]]
    counts = covered(own, own >= 0, n)
    held = covered(own, np.isin(own, grams) & (own >= 0), n)
    if held.sum() < _SEEDED * counts.sum():
        return None
    if not held[counts].all():
        item = index.tokens[index.starts[fld] : index.ends[fld]]
        held |= counts & _beside_seeds(item, text, np.unique(at - position))
    coverage = _coverage(index, fld, held, counts)
    if coverage is None:
        return None
    return Match(
        row, fld, FIELD_NAMES[int(index.kind[fld])], int(at[0]), int(at[-1]) + n, coverage, int(held.sum()), int(counts.sum()),
        tuple(grams.tolist()), tuple(np.flatnonzero(held).tolist()),
    )  # fmt: skip


def _coverage(index: Index, fld: int, held: NDArray[np.bool_], counts: NDArray[np.bool_]) -> float | None:
    """Share of the tokens of a field that are held, of those that count; None where it is too little.

    The smaller of two shares: of tokens, so that a rare name is no paragraph, and weighted by rarity, so that a form is no question.
    """
    weights = index.weights[index.starts[fld] : index.ends[fld]]
    share = min(int(held.sum()) / int(counts.sum()), int(weights[held].sum()) / int(weights[counts].sum()))
    # A share against a point of a straight line: equal up to the last bit is enough.
    return share if share + 1e-9 >= index.rule.required(int(counts.sum())) else None


def _beside_seeds(item: U64, text: U64, shifts: I64) -> NDArray[np.bool_]:
    """Which tokens of an item stand in the text, ``_EDITED`` and more in a row, nearly where its long n-grams put them.

    What an edit leaves between two changes is too short for a long n-gram. That it must lie in its place keeps apart what only has the
    same short phrases, as all texts do in scripts whose tokens are letters.

    Args:
        item: its tokens.
        text: tokens of the text.
        shifts: place in the text less place in the item, of the long n-grams.
    """
    held = np.zeros(len(item), bool)
    around = np.unique(shifts[:, None] + np.arange(-_SLIP, _SLIP + 1))[:_MOST_SHIFTS]
    for shift in around.tolist():
        low, high = max(0, -shift), min(len(item), len(text) - shift)
        if high - low < _EDITED:
            continue
        same = item[low:high] == text[low + shift : high + shift]
        run = np.lib.stride_tricks.sliding_window_view(same, _EDITED).all(axis=1)
        held[low:high] |= covered(np.zeros(high - low, np.int32), np.append(run, np.zeros(_EDITED - 1, bool)), _EDITED)
    return held


def without_common(index: Index, fld: int, grams: I64, held: I64, common: I64) -> tuple[float, int, int] | None:
    """A match measured again without common phrases, which count on neither side; None where it is none any more.

    Args:
        index: items.
        fld: of the index.
        grams: n-grams that were hit.
        held: tokens of the field that were held.
        common: n-grams that do not count.

    Returns:
        Coverage, tokens held, tokens that count.
    """
    own, n = index.gram_at[index.starts[fld] : index.ends[fld]], index.rule.n
    hit, rest = np.isin(own, grams) & (own >= 0), (own >= 0) & ~np.isin(own, common)
    counts, seeds = covered(own, rest, n), covered(own, hit & rest, n)
    left = np.zeros(len(own), bool)
    left[held] = True
    left &= counts & (seeds | ~covered(own, hit, n))
    if not counts.any() or seeds.sum() < _SEEDED * counts.sum():
        return None
    coverage = _coverage(index, fld, left, counts)
    return None if coverage is None else (coverage, int(left.sum()), int(counts.sum()))
