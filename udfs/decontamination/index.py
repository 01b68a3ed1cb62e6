"""All items in force as sorted arrays: what is sent to every task once, and searched there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs.decontamination.grams import I32, I64, U64, gram_hashes
from udfs.decontamination.items import Item
from udfs.decontamination.rule import SHORT, Rule
from udfs.dedup.kernel import token_hashes

QUESTION, ANSWER = 0, 1
FIELD_NAMES = ("question", "answer")


@dataclass(frozen=True)
class GramTable:
    """Distinct n-grams and the fields that own them.

    Attributes:
        n: tokens an n-gram.
        grams: sorted hashes, uint64[g].
        refs: where the tokens of each begin in ``Index.tokens``.
        owners: CSR of the fields of each n-gram: ``fields[bounds[k]:bounds[k + 1]]``, ascending, each once.
        positions: for each of ``fields``, token of the field at which the n-gram first stands.
        times: for each of ``fields``, how often it stands there.
    """

    n: int
    grams: U64
    refs: I32
    bounds: I32
    fields: I32
    positions: I32
    times: I32


@dataclass(frozen=True)
class Index:
    """Items as arrays.

    Attributes:
        rule: settings it was made by.
        sets: version (``name@fingerprint``) of the set of each item.
        item_ids: its id in the set.
        item: item of each field, int64[f].
        kind: ``QUESTION`` or ``ANSWER`` of each field.
        tokens: token hashes of all fields and final answers, one after the other.
        starts, ends: bounds of each field in ``tokens``.
        final: bounds of the final answer of each item in ``tokens``, int64[items, 2].
        gram_at: the n-gram of ``long`` that begins at each token of ``tokens``; -1 where none does or it is a template.
        counted: tokens of each field that lie in an n-gram which counts: those over which its coverage is taken.
        weights: of each token of ``tokens`` in a coverage, see ``_weights``.
        long: n-grams of fields of ``n`` tokens and more.
        short: one ``SHORT``-gram, the rarest, of every question of ``SHORT`` to n - 1 tokens whose item has a final answer.
        unmatched: reason -> items that no rule can find.
    """

    rule: Rule
    sets: tuple[str, ...]
    item_ids: tuple[str, ...]
    item: I64
    kind: I64
    tokens: U64
    starts: I64
    ends: I64
    final: I64
    gram_at: I32
    counted: I64
    weights: I32
    long: GramTable
    short: GramTable
    unmatched: dict[str, int] = field(default_factory=dict)


def build_index(sets: Iterable[tuple[str, Sequence[Item]]], rule: Rule) -> Index:
    """Index the items of some versions of sets.

    Args:
        sets: (version, items), each version once; the order of sets and items is no part of any match.
        rule: settings.
    """
    versions, items = [], []
    for version, held in sorted(sets, key=lambda pair: pair[0]):
        ordered = sorted(held, key=lambda item: item.item_id)
        versions += [version] * len(ordered)
        items += ordered
    texts = [text for item in items for text in (item.question, item.solution or item.answer, item.answer)]
    tokens, _, offsets = token_hashes(pa.array(texts, pa.large_string()))
    worked = np.array([bool(item.solution) for item in items], bool)
    starts, ends = offsets[:-1].reshape(-1, 3), offsets[1:].reshape(-1, 3)
    field_starts, field_ends = starts[:, :2].ravel(), ends[:, :2].ravel()
    item = np.repeat(np.arange(len(items)), 2)
    kind = np.tile(np.array([QUESTION, ANSWER]), len(items))
    final = np.stack([starts[:, 2], ends[:, 2]], axis=1) if items else np.zeros((0, 2), np.int64)
    set_of = np.unique(np.array(versions, dtype=object).astype(str), return_inverse=True)[1].astype(np.int64)[item]
    # A final answer is mostly a phrase of the text that it was asked about: only a long one is told from that.
    alone = (kind == QUESTION) | worked[item] | (field_ends - field_starts >= rule.answer_alone)
    long, gram_at = _long_table(tokens, field_starts, field_ends, set_of, rule, alone)
    counted = _counted(gram_at, field_starts, field_ends, rule.n)
    weights = _weights(tokens, field_starts, field_ends, item, set_of)
    short = _short_table(tokens, field_starts, field_ends, item, kind, set_of, final, rule)
    findable = np.zeros(len(items), bool)
    findable[item[counted > 0]] = True
    findable[item[short.fields]] = True
    has_grams = np.zeros(len(items), bool)
    has_grams[item[field_ends - field_starts >= rule.n]] = True
    unmatched = {"template": int((~findable & has_grams).sum()), "too_short": int((~findable & ~has_grams).sum())}
    return Index(
        rule, tuple(versions), tuple(i.item_id for i in items), item, kind, tokens, field_starts, field_ends, final, gram_at, counted, weights, long, short,
        {reason: count for reason, count in unmatched.items() if count},
    )  # fmt: skip


def _grams_of_fields(tokens: U64, starts: I64, ends: I64, n: int) -> tuple[U64, I64, I64]:
    """Hash, first token and field of every n-gram of the fields; their bounds need not touch."""
    bounds = np.append(np.stack([starts, ends], axis=1).ravel(), len(tokens))
    hashes, at = gram_hashes(tokens, bounds, n)
    slot = np.searchsorted(bounds, at, side="right") - 1
    inside = slot % 2 == 0  # odd slots are the gaps between fields: the final answers
    return hashes[inside], at[inside], slot[inside] // 2


def _long_table(
    tokens: U64, starts: I64, ends: I64, set_of: I64, rule: Rule, alone: NDArray[np.bool_]
) -> tuple[GramTable, I32]:  # fmt: skip
    hashes, at, owner = _grams_of_fields(tokens, starts, ends, rule.n)
    texts = _text_ids(tokens, starts, ends)
    kept = alone[owner] & ~_template(hashes, owner, set_of, texts, rule.template_items)
    table, gram_of = _table(rule.n, tokens, hashes[kept], at[kept], owner[kept], starts)
    gram_at = np.full(len(tokens), -1, np.int32)
    gram_at[at[kept]] = gram_of
    return table, gram_at


def _template(hashes: U64, owner: I64, set_of: I64, texts: I64, most: int) -> NDArray[np.bool_]:
    """Which n-grams stand in more than ``most`` different texts of their set."""
    if not len(hashes):
        return np.zeros(0, bool)
    ids = np.unique(hashes, return_inverse=True)[1].astype(np.int64)
    key = set_of[owner] * (int(ids.max()) + 1) + ids
    keys, counts = _distinct_partners(key, texts[owner])
    return np.isin(key, keys[counts > most])


def _distinct_partners(key: I64, partner: I64) -> tuple[I64, I64]:
    """Every value of ``key``, ascending, and with how many different values of ``partner`` it stands."""
    order = np.lexsort((partner, key))
    k, p = key[order], partner[order]
    new = np.ones(len(k), bool)
    new[1:] = (k[1:] != k[:-1]) | (p[1:] != p[:-1])
    keys, counts = np.unique(k[new], return_counts=True)
    return keys, counts.astype(np.int64)


def _text_ids(tokens: U64, starts: I64, ends: I64) -> I64:
    """An ordinal for every field, the same for equal token streams: a set that repeats an item has not made it a template."""
    known: dict[bytes, int] = {}
    return np.array(
        [known.setdefault(tokens[a:b].tobytes(), len(known)) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)], np.int64
    )


def _table(n: int, tokens: U64, hashes: U64, at: I64, owner: I64, starts: I64) -> tuple[GramTable, I64]:
    """The table of some n-grams, and the index in it of each of them; -1 where a hash belongs to other tokens already."""
    grams, first, gram_of = np.unique(hashes, return_index=True, return_inverse=True)
    refs = at[first].astype(np.int64)
    gram_of = gram_of.astype(np.int64)
    steps = np.arange(n)
    same = (tokens[at[:, None] + steps] == tokens[refs[gram_of][:, None] + steps]).all(axis=1) if len(at) else np.zeros(0, bool)
    gram_of = np.where(same, gram_of, -1)
    order = np.lexsort((at, owner, gram_of))
    order = order[gram_of[order] >= 0]
    g, f = gram_of[order], owner[order]
    new = np.ones(len(g), bool)
    new[1:] = (g[1:] != g[:-1]) | (f[1:] != f[:-1])
    times = np.diff(np.append(np.flatnonzero(new), len(new)))
    order = order[new]
    bounds = np.searchsorted(gram_of[order], np.arange(len(grams) + 1))
    small = (refs, bounds, owner[order], at[order] - starts[owner[order]], times)  # int32: half the size for every worker
    return GramTable(n, grams, *(side.astype(np.int32) for side in small)), gram_of


def covered(gram_at: I32, hit: NDArray[np.bool_], n: int) -> NDArray[np.bool_]:
    """Which tokens lie in an n-gram that is hit: bool[len(gram_at)]."""
    edge = np.zeros(len(gram_at) + n, np.int64)
    begins = np.flatnonzero(hit)
    np.add.at(edge, begins, 1)
    np.add.at(edge, begins + n, -1)
    return np.cumsum(edge)[: len(gram_at)] > 0


def _counted(gram_at: I32, starts: I64, ends: I64, n: int) -> I64:
    total = np.concatenate(([0], np.cumsum(covered(gram_at, gram_at >= 0, n)))) if len(gram_at) else np.zeros(1, np.int64)
    return (total[ends] - total[starts]).astype(np.int64)


def _weights(tokens: U64, starts: I64, ends: I64, item: I64, set_of: I64) -> I32:
    """1000 log2((N + 1) / d) of a token that d of the N items of its set hold, at least 1: int32[len(tokens)]; equal weights in a set of one.

    The one word by which two questions of a form differ is rare in their set, and the words of the form are not: a text with all but
    that word does not hold the item. Integers, so that sums do not depend on their order.
    """
    weights = np.ones(len(tokens), np.int32)
    sizes = ends - starts
    if not sizes.sum():
        return weights
    place = np.repeat(starts - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes) + np.arange(sizes.sum())
    word = np.unique(tokens[place], return_inverse=True)[1].astype(np.int64)
    most = int(word.max()) + 1
    key = np.repeat(set_of, sizes) * most + word
    keys, documents = _distinct_partners(key, np.repeat(item, sizes))
    items = np.bincount(set_of[::2], minlength=int(set_of.max()) + 1)
    rarity = np.log2((items[keys // most] + 1) / documents)
    weight = np.maximum(1, np.round(1000 * rarity)).astype(np.int32)
    weights[place] = weight[np.searchsorted(keys, key)]
    return weights


def _short_table(
    tokens: U64, starts: I64, ends: I64, item: I64, kind: I64, set_of: I64, final: I64, rule: Rule
) -> GramTable:  # fmt: skip
    size = ends - starts
    wanted = (kind == QUESTION) & (size >= SHORT) & (size < rule.n) & (final[item, 1] > final[item, 0])
    hashes, at, owner = _grams_of_fields(tokens, starts, ends, SHORT)
    # A question that many texts of its set hold is a phrase (``what is the value``), which no near answer makes a leak.
    texts = _text_ids(tokens, starts, ends)
    kept = wanted[owner] & ~_template(hashes, owner, set_of, texts, rule.template_items)
    often: dict[int, int] = defaultdict(int)
    for value in hashes.tolist():
        often[value] += 1
    best: dict[int, tuple[int, int, int]] = {}
    for k in np.flatnonzero(kept).tolist():
        rank = (often[int(hashes[k])], int(at[k]), k)
        best[int(owner[k])] = min(best.get(int(owner[k]), rank), rank)
    rarest = np.array(sorted(rank[2] for rank in best.values()), np.int64)
    return _table(SHORT, tokens, hashes[rarest], at[rarest], owner[rarest], starts)[0]
