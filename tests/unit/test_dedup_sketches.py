"""Stored signatures open in datasketch; bands and rows as its optimiser chooses them; components as networkx finds them."""

from __future__ import annotations

import random

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from datasketch import MinHash, MinHashLSH

from jobs.config import ConfigError, load_config
from udfs.dedup.components import labels
from udfs.dedup.curve import describe_curve, optimal_banding, resolved
from udfs.dedup.minhash import MinHashScheme, band_key_lists, signatures
from udfs.dedup.sketches import as_lean_minhash, as_minhash, minima_of, stored

SCHEME = MinHashScheme(shingle=5, bands=20, rows=6)


def pages():
    """Groups of pages with one word in ten, in thirty, in hundred replaced, and pages of their own."""
    rng, out = random.Random(11), []
    for group in range(25):
        words = [f"w{group}x{rng.randint(0, 10**6)}" for _ in range(150)]
        out += [" ".join(w if rng.random() > rate else f"e{rng.randint(0, 10**6)}" for w in words) for rate in (0, 0.01, 0.03, 0.1, 0.3)]
    return out


def test_a_stored_signature_is_a_datasketch_minhash() -> None:
    texts = pages()
    minima, _ = signatures(pa.array(texts), SCHEME)
    column = stored(minima)
    assert column.type == pa.binary()
    assert [len(value) for value in column.to_pylist()] == [480] * len(texts)
    first, second = column[0].as_py(), column[1].as_py()
    assert first[:4] == int(minima[0, 0]).to_bytes(4, "little")
    assert np.array_equal(minima_of(first), minima[0])
    opened, lean = as_minhash(first, SCHEME), as_lean_minhash(first, SCHEME)
    assert opened.scheme == "affine32"
    assert np.array_equal(opened.hashvalues, minima[0])
    assert np.array_equal(lean.hashvalues, minima[0])
    assert opened.jaccard(as_minhash(second, SCHEME)) == (minima[0] == minima[1]).mean() == lean.jaccard(as_lean_minhash(second, SCHEME))
    fresh = MinHash(num_perm=120, seed=1, scheme="affine32", hashfunc=int)
    assert [p.tolist() for p in opened.permutations] == [p.tolist() for p in fresh.permutations]
    assert stored(np.zeros((0, 120), np.uint32)).to_pylist() == []


def test_its_lsh_index_finds_the_candidates_of_our_band_keys() -> None:
    texts = pages()
    minima, _ = signatures(pa.array(texts), SCHEME)
    index = MinHashLSH(num_perm=120, params=(20, 6))
    sketches = [as_minhash(value, SCHEME) for value in stored(minima).to_pylist()]
    for name, sketch in enumerate(sketches):
        index.insert(name, sketch)
    keys = [set(row) for row in band_key_lists(pa.array(texts), SCHEME).to_pylist()]
    ours = [{other for other in range(len(texts)) if keys[other] & keys[name]} for name in range(len(texts))]
    assert [set(index.query(sketch)) for sketch in sketches] == ours
    assert sum(map(len, ours)) > 2 * len(texts)


@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.8, 0.9])
def test_banding_for_a_threshold_is_datasketchs(threshold: float) -> None:
    chosen = MinHashLSH(threshold=threshold, num_perm=120)
    assert optimal_banding(threshold, 120) == (chosen.b, chosen.r)
    curate = resolved(load_config(overrides=["curate.bands=0", f"curate.jaccard={threshold}"]).curate)
    assert (curate.bands, curate.rows) == (chosen.b, chosen.r)
    assert curate.bands * curate.rows <= 120


def test_the_curve_in_words() -> None:
    # 1 - (1 - .5^6)^20 = 1 - .984375^20 = .27019; (1/20)^(1/6) = .60696
    said = describe_curve(20, 6)
    assert said.startswith("LSH: 20 bands x 6 rows = 120 permutations, half-way at 0.607; P(0.5) = 0.2702, P(0.6) =")
    assert said.endswith("P(0.95) = 1.0000")


@pytest.mark.parametrize(
    ("keep", "words"),
    [
        ('["length", "id"]', "keep must begin with earlier_ingest"),
        ('["earlier_ingest", "length"]', "end with id"),
        ('["earlier_ingest", "length", "length", "id"]', "name nothing twice"),
        ('["earlier_ingest", "source_priority", "id"]', "the list source_priority names sources"),
        ('["earlier_ingest", "beauty", "id"]', "Input should be 'earlier_ingest'"),
    ],
)
def test_a_keep_rule_that_is_no_total_order_is_refused(keep: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load_config(overrides=[f"curate.keep={keep}"])


@pytest.mark.parametrize("seed", range(20))
def test_components_of_random_graphs_are_those_of_networkx(seed: int) -> None:
    draw = random.Random(seed)
    nodes = [draw.randint(-(2**63), 2**63 - 1) for _ in range(draw.choice([3, 60, 400]))]
    edges = [(draw.choice(nodes), draw.choice(nodes)) for _ in range(int(len(nodes) * draw.choice([0.1, 0.5, 1.0, 3.0])) or 1)]
    edges += edges[:5] * 300  # the same edge many times, as the forests of many partitions hold it
    graph = nx.Graph(edges)
    names, least = labels(*np.array(edges, np.int64).T)
    found = dict(zip(names.tolist(), least.tolist(), strict=True))
    assert found == {node: min(part) for part in nx.connected_components(graph) for node in part}
