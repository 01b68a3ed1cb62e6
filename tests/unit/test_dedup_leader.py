"""The decision within components, against brute force over all pairs; no JVM."""

from __future__ import annotations

import os
import random

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse.csgraph import connected_components

from tests.near_texts import edited, prose, shingles
from udfs.dedup import leader, numba_units
from udfs.dedup.components import labels, star_forest
from udfs.dedup.leader import Rule, near_duplicates
from udfs.dedup.minhash import MinHashScheme, band_key_lists
from udfs.dedup.store import SetStore
from udfs.text.tokens import tokens

SCHEME = MinHashScheme(shingle=5, bands=20, rows=6)
WIDE = MinHashScheme(shingle=5, bands=60, rows=2)  # candidates from J = .3 up
RULE = Rule(jaccard=0.8, tries=4, shingle=5)


def ranked(texts, old=()):
    return sorted(texts, key=lambda name: (name not in old, -len(tokens(texts[name])), name))


def decide(texts, *, scheme=SCHEME, rule=RULE, old=(), batch=7, kernel="numpy"):
    """Everything as one component, in rank order, in batches of ``batch``; removed -> (kept, figures)."""
    order = ranked(texts, old)
    column = pa.array([texts[name] for name in order], pa.string())
    table = pa.table({
        "component": pa.array([1] * len(order), pa.int64()),
        "doc_id": order,
        "fixed": [name in old for name in order],
        "text": column,
        "band_keys": band_key_lists(column, scheme, kernel),
    })  # fmt: skip
    rows = [row for out in near_duplicates(iter(table.to_batches(batch)), rule=rule, kernel=kernel) for row in out.to_pylist()]
    assert len({row["doc_id"] for row in rows}) == len(rows)
    return {row.pop("doc_id"): row for row in rows}


def originals(found):
    return {name: row["dup_of"] for name, row in found.items()}


def brute_force(texts, threshold=0.8):
    """The greedy choice over all pairs: who goes."""
    sets, kept, gone = {name: shingles(text) for name, text in texts.items()}, [], set()
    for name in ranked(texts):
        alike = (len(sets[k] & sets[name]) >= threshold * len(sets[k] | sets[name]) for k in kept)
        if sets[name] and any(alike):
            gone.add(name)
        else:
            kept.append(name)
    return gone


@pytest.mark.parametrize(
    ("edits", "goes"),
    [(0, True), (1, True), (3, True), (4, True), (5, False), (20, False)],  # J = 1, .95, .86, .815, .774, .32
)
def test_known_jaccard(edits, goes):
    texts = {"a": " ".join(prose(1)), "b": " ".join(edited(prose(1), edits))}
    found = decide(texts)
    assert originals(found) == ({"b": "a"} if goes else {})
    if goes:
        assert found["b"]["jaccard"] == pytest.approx((196 - 5 * edits) / (196 + 5 * edits))
        assert found["b"]["containment"] == pytest.approx((196 - 5 * edits) / 196)
        assert 0 < found["b"]["bands_matched"] <= 20


def test_short_empty_and_chinese_texts_never_merge_by_being_short():
    texts = {
        "cat": "cat", "dog": "a totally different dog", "hello": "hello world", "four": "one two three four", "empty": "", "blank": " ", "marks": "?!",
        "zh1": "\u6211\u4eec\u660e\u5929\u53bb\u516c\u56ed\u8d70\u8def\u3002", "zh2": "\u4ed6\u5728\u5317\u4eac\u5927\u5b66\u5b66\u4e60\u6570\u5b66\u3002",
        "zh3": "\u8fd9\u672c\u4e66\u7684\u4f5c\u8005\u662f\u4e00\u4f4d\u533b\u751f\u3002",
    }  # fmt: skip
    assert decide(texts, scheme=WIDE) == {}
    assert originals(decide({"cat": "cat", "cat2": "Cat!", "zh1": texts["zh1"], "zh9": texts["zh1"] + "!"})) == {
        "cat2": "cat",
        "zh9": "zh1",
    }


def test_of_a_chain_every_other_link_stays():
    # Windows of 100 words, ten apart, over one text: neighbours share 86 of 106 shingles (J = .81), the next but one 76 of 116 (.66).
    words = prose(9, 100 + 10 * 300)
    texts = {f"d{i:03}": " ".join(words[10 * i : 10 * i + 100]) for i in range(300)}
    found = decide(texts, scheme=WIDE)
    assert originals(found) == {f"d{i:03}": f"d{i - 1:03}" for i in range(1, 300, 2)}
    assert {round(row["jaccard"], 6) for row in found.values()} == {round(86 / 106, 6)}


def test_a_member_that_one_leader_rejects_finds_another():
    template = prose(20, 150)
    texts = {
        "a": " ".join([*template, *prose(21, 60)]),
        "b": " ".join([*template, *prose(22, 55)]),
        "c": " ".join([*template, *prose(22, 55)[:50]]),  # like b alone
        "d": " ".join([*template, *prose(23, 50)]),
    }
    assert originals(decide(texts, scheme=WIDE)) == {"c": "b"}
    assert originals(decide(texts, scheme=WIDE, old=("a", "b"))) == {"c": "b"}
    assert originals(decide(texts, scheme=WIDE, old=("a", "b", "c", "d"))) == {}  # what was kept stays kept
    assert originals(decide(texts, scheme=WIDE, old=("c",))) == {"b": "c"}  # the earlier ingest wins over the longer text


def hot_and_planted():
    """A bucket of 150 that share a long template, groups of edited copies with J on both sides of the threshold, short and empty ones."""
    rng = random.Random(3)
    texts = {f"page{i:03}": " ".join([*prose(50, 300), *prose(100 + i, 8)]) for i in range(150)}
    for group in range(40):
        words = prose(1000 + group, rng.randint(150, 260))
        texts[f"g{group}"] = " ".join(words)
        for i in range(rng.randint(0, 3)):
            texts[f"g{group}e{i}"] = " ".join(edited(words, rng.choice([0, 1, 1, 2, 9, 14])))
    return texts | {f"s{i}": f"short text {i}" for i in range(20)} | {"nothing": "", "marks": "!!!"}


@pytest.mark.parametrize(("batch", "kernel"), [(1000, "numba"), (1, "numpy"), (13, "auto")])
def test_brute_force_agrees_whatever_the_batches_and_the_kernel(batch, kernel):
    texts = hot_and_planted()
    found = decide(texts, batch=batch, kernel=kernel)
    assert set(found) == brute_force(texts)
    assert len([name for name in found if name.startswith("page")]) == 149
    for name, row in found.items():
        assert row["dup_of"] not in found
        a, b = shingles(texts[name]), shingles(texts[row["dup_of"]])
        assert row["jaccard"] == pytest.approx(len(a & b) / len(a | b))
        assert row["containment"] == pytest.approx(len(a & b) / len(a))
        assert row["bands_matched"] > 0


def test_a_crowd_of_look_alikes_below_the_threshold_costs_linear_work(monkeypatch):
    # 600 pages of half template, half their own (J about 1/3): past the exact unit each is compared with RULE.tries others at most.
    compared = []
    monkeypatch.setattr(leader, "EXACT_UNIT", 20)
    monkeypatch.setattr(leader, "similarity", lambda *_: compared.append(1) or leader.Similarity(0.3, 0.5))
    texts = {f"p{i:03}": " ".join([*prose(70, 60), *prose(5000 + i, 60)]) for i in range(600)}
    assert decide(texts, scheme=WIDE) == {}
    assert 0 < len(compared) <= 580 * RULE.tries + 20 * 20


def test_a_small_unit_is_decided_exactly_however_many_look_alikes_are_tried_before():
    # 60 kept pages of one template (J about .6 to each other), and for each a twin with J .9 to it alone: with four tries and leaders of
    # a bucket limited, some twins met none but strangers.
    template = prose(80, 120)
    pages = {f"p{i:02}": [*template, *prose(8100 + i, 60)] for i in range(60)}
    texts = {name: " ".join(words) for name, words in pages.items()}
    texts |= {f"q{i:02}": " ".join(edited(pages[f"p{i:02}"], 1)[:-1]) for i in range(60)}
    found = decide(texts, scheme=WIDE, rule=Rule(jaccard=0.8, tries=1, shingle=5))
    assert originals(found) == {f"q{i:02}": f"p{i:02}" for i in range(60)}
    kept = [shingles(texts[name]) for name in texts if name not in found]
    assert max(len(a & b) / len(a | b) for n, a in enumerate(kept) for b in kept[:n]) < 0.8


def test_components_mode_keeps_the_best_of_a_chain_and_measures_all_to_it():
    words = prose(9, 100 + 10 * 6)
    texts = {f"d{i}": " ".join(words[10 * i : 10 * i + 100]) for i in range(7)}
    found = decide(texts, scheme=WIDE, rule=Rule(jaccard=0.8, tries=4, shingle=5, mode="components"))
    assert originals(found) == {f"d{i}": "d0" for i in range(1, 7)}
    # Windows ten words apart lose ten shingles of 96 each: d_i shares 96 - 10 i with d0.
    assert [row["jaccard"] for row in found.values()] == [pytest.approx((96 - 10 * i) / (96 + 10 * i)) for i in range(1, 7)]
    old = decide(texts, scheme=WIDE, rule=Rule(jaccard=0.8, tries=4, shingle=5, mode="components"), old=("d3", "d5"))
    assert originals(old) == {f"d{i}": "d3" for i in (0, 1, 2, 4, 6)}  # what was kept stays


@pytest.mark.parametrize("bounds", [(256, 16, 4), (5, 2, 1), (1, 1, 3), (0, 3, 2)])
@pytest.mark.parametrize("chunk", [1 << 28, 60_000, 1])
def test_the_compiled_choice_is_that_of_the_plain_one_whatever_the_chunks(monkeypatch, bounds, chunk):
    exact, leaders, tries = bounds
    monkeypatch.setattr(leader, "EXACT_UNIT", exact)
    monkeypatch.setattr(leader, "MAX_LEADERS", leaders)
    rng, texts = random.Random(exact), {}
    for group in range(6):
        template = prose(300 + group, 120)
        for i in range(40):  # J to each other from .5 to 1, so that bounds bite
            texts[f"g{group}p{i:02}"] = " ".join([*template[: rng.randint(60, 120)], *prose(9000 + 100 * group + rng.randint(0, 9), 60)])
    old = tuple(rng.sample(sorted(texts), 12))
    rule = Rule(jaccard=0.8, tries=tries, shingle=5)
    wanted = decide(texts, scheme=WIDE, rule=rule, old=old, kernel="numpy")
    monkeypatch.setattr(leader, "DECIDE_BYTES", chunk)
    assert decide(texts, scheme=WIDE, rule=rule, old=old, kernel="numba") == wanted
    assert len(wanted) > 20


def test_components_do_not_see_each_other():
    text = " ".join(prose(1))
    keys = band_key_lists(pa.array([text] * 4), SCHEME, "numpy")
    batch = pa.record_batch({
        "component": pa.array([1, 1, 2, 2], pa.int64()), "doc_id": ["a", "b", "c", "d"], "fixed": [False] * 4, "text": [text] * 4, "band_keys": keys,
    })  # fmt: skip
    for kernel in ("numpy", "numba"):
        rows = [row for out in near_duplicates(iter([batch]), rule=RULE, kernel=kernel) for row in out.to_pylist()]
        assert {row["doc_id"]: row["dup_of"] for row in rows} == {"b": "a", "d": "c"}
    assert list(near_duplicates(iter([]), rule=RULE, kernel="numpy")) == []


def test_sets_beyond_the_memory_bound_lie_in_a_file_and_come_back(monkeypatch):
    store = SetStore(memory_bytes=100)
    sets = [np.sort(np.random.default_rng(i).integers(0, 2**63, 3 + 5 * i).astype(np.uint64)) for i in range(8)]
    for values in sets:
        store.add(values)
    assert store._file is not None
    assert [store.size(i) for i in range(8)] == [len(values) for values in sets]
    assert all(np.array_equal(store.get(i), values) for i, values in enumerate(sets))
    store.close()
    assert store._file.closed
    texts = hot_and_planted()
    wanted = decide(texts)
    monkeypatch.setattr(leader, "SetStore", lambda: SetStore(memory_bytes=0))
    assert decide(texts) == wanted


def test_sets_of_the_compiled_choice_beyond_the_memory_bound_lie_in_a_file_too(monkeypatch):
    texts = hot_and_planted()
    wanted = decide(texts)
    monkeypatch.setattr(leader, "DECIDE_BYTES", 50_000)
    made = []

    def small(bands, **rule):
        made.append(numba_units.Choice(bands, **rule, memory_bytes=40_000))
        return made[-1]

    monkeypatch.setattr(leader.Decider, "_new_choice", lambda _self, _rows: small(20, threshold=0.8, tries=4, exact=256, leaders=16))
    files = []
    monkeypatch.setattr(numba_units._Sets, "close", lambda self: files.append(self._file))
    assert decide(texts, kernel="numba") == wanted
    assert len(made) == 1  # one unit, however many chunks
    assert len(files) == 2  # of sets and of their bitmaps
    assert [os.fstat(file.fileno()).st_size > limit for file, limit in zip(files, (40_000, 10_000), strict=True)] == [True, True]
    for file in files:
        file.close()


def test_the_bound_by_bitmaps_is_never_below_what_two_sets_share():
    rng = np.random.default_rng(4)
    for _ in range(300):
        common, left, right = (rng.integers(0, 2**64, rng.integers(0, most), np.uint64) for most in (400, 60, 900))
        sets = [np.unique(np.concatenate([common, own])) for own in (left, right)]
        words = [numba_units._words(len(values)) for values in sets]
        bits = [np.zeros(count, np.uint64) for count in words]
        for values, marks, count in zip(sets, bits, words, strict=True):
            numba_units._mark(values, 0, len(values), marks, 0, count)
        bound = numba_units._at_most(len(sets[0]), bits[0], words[0], len(sets[1]), bits[1], 0, words[1])
        shared = len(np.intersect1d(*sets))
        assert shared <= bound <= min(len(values) for values in sets)
        assert len(common) < 300 or words[0] != words[1] or bound < shared + 0.3 * (len(left) + len(right))  # and is worth having


def test_labels_are_the_least_nodes():
    names, least = labels(np.array([5, 9, -3], np.int64), np.array([2, 5, 8], np.int64))
    assert dict(zip(names.tolist(), least.tolist(), strict=True)) == {5: 2, 9: 2, 2: 2, -3: -3, 8: -3}


@pytest.mark.parametrize("seed", range(5))
def test_forests_of_parts_merge_to_the_components_of_the_whole(seed):
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, 400, (300, 2)).astype(np.int64)
    schema = pa.schema([("node", pa.int64()), ("hub", pa.int64())])

    def batches(rows):
        return [pa.RecordBatch.from_arrays([pa.array(part[:, 0]), pa.array(part[:, 1])], schema=schema) for part in np.array_split(rows, 4)]

    def merged(order, parts):
        forests = [out for part in np.array_split(edges[order], parts) for out in star_forest(iter(batches(part)))]
        (whole,) = star_forest(iter(forests))
        return dict(zip(whole["node"].to_pylist(), whole["hub"].to_pylist(), strict=True))

    found = merged(np.arange(300), 1)
    matrix = np.zeros((400, 400), bool)
    matrix[edges[:, 0], edges[:, 1]] = True
    _, part = connected_components(matrix, directed=False)
    assert all((part[a] == part[b]) == (found[a] == found[b]) for a in found for b in list(found)[:40])
    assert merged(rng.permutation(300), 7) == found
    assert list(star_forest(iter([]))) == []
