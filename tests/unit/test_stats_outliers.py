"""Worker outliers: the permutation z against enumeration, strata, silence where nothing can be said."""

from __future__ import annotations

import itertools
import math

import pytest

from udfs.stats.outliers import StratumCount, WorkerGroup, count_strata, worker_z


def test_z_equals_the_permutation_moments_by_enumeration():
    counts = [0, 1, 3, 8, 8, 2]  # correct counts of six groups of 8; worker a holds the first two
    draws = [sum(d) for d in itertools.combinations(counts, 2)]
    mean = sum(draws) / len(draws)
    spread = math.sqrt(sum((d - mean) ** 2 for d in draws) / len(draws))
    parts = [WorkerGroup("a" if i < 2 else "b", "t", 8, k) for i, k in enumerate(counts)]
    z = worker_z(count_strata(parts))
    assert z["a"] == pytest.approx((1 - mean) / spread, rel=1e-12)
    assert z["b"] == pytest.approx(-(1 - mean) / spread, rel=1e-12)  # two workers mirror each other


def test_a_worker_of_hard_tasks_is_no_outlier():
    # a holds the hard type and b the easy one: within the types they do not differ, so nothing can be said
    parts = [WorkerGroup("a", "hard", 8, 0)] * 20 + [WorkerGroup("b", "easy", 8, 8)] * 20
    assert worker_z(count_strata(parts)) == {"a": None, "b": None}


def test_a_broken_worker_is_found_and_order_does_not_matter():
    good = [WorkerGroup(w, t, 8, (i * 5 + 3) % 9) for w in "bcd" for t in ("x", "y") for i in range(18)]
    broken = [WorkerGroup("a", t, 8, 0) for t in ("x", "y") for _ in range(18)]
    z = worker_z(count_strata(good + broken))
    assert z["a"] is not None
    assert z["a"] < -4.0
    assert all(z[w] is not None and abs(z[w]) < 4.0 for w in "bcd")
    assert worker_z(count_strata(reversed(good + broken))) == z


@pytest.mark.parametrize(
    "parts", [[], [WorkerGroup("a", "t", 8, 3)], [WorkerGroup("a", "t", 8, k) for k in (1, 2)], [WorkerGroup(w, "t", 0, 0) for w in "ab"]]
)
def test_one_worker_alone_says_nothing(parts):
    assert all(z is None for z in worker_z(count_strata(parts)).values())


def test_sums():
    parts = [WorkerGroup("a", "t", 8, 3), WorkerGroup("a", "t", 8, 5), WorkerGroup("a", "t", 7, 1)]
    assert count_strata(parts) == [StratumCount("a", "t", 7, 1, 1, 1), StratumCount("a", "t", 8, 2, 8, 34)]
