"""Features of candidate answers: one row a candidate, one column a weight (E§2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from udfs.reader.question import ASKS, Question
from udfs.reader.spans import CAPITAL, CODE, LITERAL, MONTH, NUMBER, VERSION, YEAR, Ints, Words

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: Words over which nearness to a term of the question falls to 1/e.
REACH = 6.0
_FAR = 10**6
_SIDES = {"=": 1, "(": 2, ":": 3, "'": 4, '"': 4, ",": 5}

#: Whether a span has the shape that a kind of question asks for.
TYPES: dict[str, tuple[str, int]] = {
    "date": ("any", YEAR | MONTH), "number": ("any", NUMBER), "name": ("all", CAPITAL), "version": ("all", VERSION),
    "default": ("any", LITERAL | NUMBER), "base": ("all", CAPITAL | CODE), "object": ("any", CODE),
}  # fmt: skip

CANDIDATE_NAMES: tuple[str, ...] = (
    "bm25", "top_passage", "title_in_question", "sentence_overlap", "proximity", "in_question", "partly_in_question",
    "length_off_two", "one_word", "four_or_more", "blank_left", "blank_right", "left_word_in_question", "right_word_in_question",
    "sentence_start", "boundary_left", "boundary_right", "after_equals", "after_paren", "after_colon", "after_comma", "quoted",
    "rarity", "frequency", "position", "one_word_asked", "unit_asked_number", "abstain",
    *(f"type_{kind}" for kind in ASKS), *(f"type_{kind}_missed" for kind in ASKS), "default_after_colon", "base_after_colon",
)  # fmt: skip
_COLUMN = {name: k for k, name in enumerate(CANDIDATE_NAMES)}


@dataclass(frozen=True)
class Passage:
    """A passage as it was retrieved.

    Attributes:
        words: its words.
        title_terms: terms of its document's title.
        score: BM25 over that of the best passage, in (0, 1].
        rank: 0 for the best.
    """

    words: Words
    title_terms: tuple[str, ...]
    score: float
    rank: int


def blank_matrix(rows: int) -> Floats:
    """A matrix of zeros, a row a candidate; columns contiguous, because scores add up column by column."""
    return np.zeros((rows, len(CANDIDATE_NAMES)), order="F")


def abstention() -> Floats:
    """The row of the candidate that says it does not know."""
    row = blank_matrix(1)
    row[0, _COLUMN["abstain"]] = 1.0
    return row


def matrix(question: Question, passage: Passage, spans: tuple[Ints, Ints], idf: Callable[[str], float]) -> Floats:
    """Features of spans of one passage, in the order of ``CANDIDATE_NAMES``; all but ``frequency``, which needs all passages."""
    words, (first, last) = passage.words, spans
    x = blank_matrix(len(first))
    if not len(first):
        return x
    weights = np.asarray([idf(term) for term in question.terms])
    norm = float(weights.sum()) or 1.0
    asked = set(question.terms)
    hit = np.asarray([stem in asked for stem in words.stems], dtype=np.float64)

    def put(name: str, values: Any) -> None:
        x[:, _COLUMN[name]] = values

    put("bm25", passage.score)
    put("top_passage", float(passage.rank == 0))
    put("title_in_question", float(bool(passage.title_terms) and set(passage.title_terms) <= asked))
    put("sentence_overlap", _sentence_overlap(words, question.terms, weights)[words.sentence[first]] / norm)
    put("proximity", _proximity(words, question.terms, weights, first, last) / norm)
    _put_lengths(put, question, words, first, last, hit)
    _put_neighbours(put, question, words, first, last, hit)
    _put_types(put, question, words, first, last)
    put("rarity", _span_mean(np.asarray([idf(stem) for stem in words.stems]), first, last) / max(1.0, idf("\0")))
    put("position", first / max(1, len(words)))
    return x


def _put_lengths(put: Callable[[str, Any], None], question: Question, words: Words, first: Ints, last: Ints, hit: Floats) -> None:
    length = last - first + 1
    share = _span_mean(hit, first, last)
    put("in_question", share == 1.0)
    put("partly_in_question", (share > 0.0) & (share < 1.0))
    put("length_off_two", np.abs(length - 2))
    put("one_word", length == 1)
    put("four_or_more", length >= 4)
    put("one_word_asked", (length == 1) & ("one_word" in question.cues))
    numeric = _span_any((words.shapes & NUMBER) != 0, first, last)
    put("unit_asked_number", numeric & (length == 2) & ("unit" in question.cues))


def _put_neighbours(put: Callable[[str, Any], None], question: Question, words: Words, first: Ints, last: Ints, hit: Floats) -> None:
    count = len(words)
    left_hit = np.where(first > 0, hit[np.maximum(first - 1, 0)], 0.0)
    right_hit = np.where(last + 1 < count, hit[np.minimum(last + 1, count - 1)], 0.0)
    put("left_word_in_question", left_hit)
    put("right_word_in_question", right_hit)
    put("blank_left", _agreement(words.stems, question.left, first, -1))
    put("blank_right", _agreement(words.stems, question.right, last, 1))
    start = np.ones(count, dtype=np.bool_)
    start[1:] = words.sentence[1:] != words.sentence[:-1]
    before, after = words.neighbours
    left = np.asarray([_SIDES.get(c, 6) if c else 0 for c in before])[first]
    right = np.asarray([_SIDES.get(c, 6) if c else 0 for c in after])[last]
    end = np.ones(count, dtype=np.bool_)
    end[:-1] = start[1:]
    put("sentence_start", start[first])
    put("boundary_left", (left != 0) | start[first])
    put("boundary_right", (right != 0) | end[last])
    put("after_equals", left == 1)
    put("after_paren", left == 2)
    put("after_colon", left == 3)
    put("after_comma", left == 5)
    put("quoted", (left == 4) & (right == 4))
    put("default_after_colon", (left == 3) & ("default" in question.asks))
    put("base_after_colon", (left == 3) & ("base" in question.asks))


def _put_types(put: Callable[[str, Any], None], question: Question, words: Words, first: Ints, last: Ints) -> None:
    for kind in question.asks:
        rule, bits = TYPES[kind]
        fits = (words.shapes & bits) != 0
        match = _span_any(fits, first, last) if rule == "any" else _span_mean(fits.astype(np.float64), first, last) == 1.0
        put(f"type_{kind}", match)
        put(f"type_{kind}_missed", ~match)


def put_frequency(x: Floats, strings: Sequence[str]) -> None:
    """How often each candidate's string occurs among all candidates, as ln(1 + further occurrences)."""
    counts: dict[str, int] = {}
    for string in strings:
        counts[string] = counts.get(string, 0) + 1
    x[:, _COLUMN["frequency"]] = np.log([counts[string] for string in strings])


def _sentence_overlap(words: Words, terms: Sequence[str], weights: Floats) -> Floats:
    """Summed idf of the question's terms in each sentence."""
    number = {term: k for k, term in enumerate(terms)}
    overlap = np.zeros(int(words.sentence.max()) + 1)
    seen: set[tuple[int, int]] = set()
    for sentence, stem in zip(words.sentence.tolist(), words.stems, strict=True):
        k = number.get(stem)
        if k is not None and (sentence, k) not in seen:
            seen.add((sentence, k))
            overlap[sentence] += weights[k]
    return overlap


def _proximity(words: Words, terms: Sequence[str], weights: Floats, first: Ints, last: Ints) -> Floats:
    """Sum over terms of idf x exp(-distance / REACH) to the nearest occurrence outside the span, in words."""
    total = np.zeros(len(first))
    places: dict[str, list[int]] = {}
    asked = set(terms)
    for k, stem in enumerate(words.stems):
        if stem in asked:
            places.setdefault(stem, []).append(k)
    index = np.arange(len(words))
    for term, weight in zip(terms, weights, strict=True):
        at = places.get(term)
        if not at:
            continue
        spots = np.asarray(at)
        rank = np.searchsorted(spots, index)  # occurrences before each word
        to_left = np.where(rank > 0, index - spots[np.maximum(rank - 1, 0)], _FAR)
        after = np.searchsorted(spots, index, side="right")
        to_right = np.where(after < len(spots), spots[np.minimum(after, len(spots) - 1)] - index, _FAR)
        total += weight * np.exp(-np.minimum(to_left[first], to_right[last]) / REACH)
    return total


def _agreement(stems: Sequence[str], wanted: Sequence[str], edge: Ints, step: int) -> Floats:
    """How far the words beside a span are those beside the blank: 1 for all of them, the nearest counting most."""
    if not wanted:
        return np.zeros(len(edge))
    shares = np.asarray([0.5, 0.3, 0.2][: len(wanted)])
    agreed = np.zeros(len(edge))
    going = np.ones(len(edge), dtype=np.bool_)
    for k, (word, share) in enumerate(zip(wanted, shares, strict=True), start=1):
        same = np.asarray([stem == word for stem in stems])
        at = edge + step * k
        inside = (at >= 0) & (at < len(stems))
        going &= inside & same[np.clip(at, 0, len(stems) - 1)]
        agreed += share * going
    return np.asarray(agreed / shares.sum(), dtype=np.float64)


def _span_mean(values: Floats, first: Ints, last: Ints) -> Floats:
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray((sums[last + 1] - sums[first]) / (last - first + 1), dtype=np.float64)


def _span_any(flags: Any, first: Ints, last: Ints) -> Any:
    sums = np.concatenate([[0], np.cumsum(flags.astype(np.int64))])
    return sums[last + 1] > sums[first]
