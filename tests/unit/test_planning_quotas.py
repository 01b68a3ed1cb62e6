from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.planning.quotas import allocate, counter_skew


@pytest.mark.parametrize(
    ("total", "available", "weights", "wanted"),
    [
        # equal weights, no caps: 10 over three = 3.33 each; the one remainder goes to the smaller name
        (10, {"a": 9, "b": 9, "c": 9}, {"a": 1, "b": 1, "c": 1}, {"a": 4, "b": 3, "c": 3}),
        # square roots 10 : 2 : 1 of 13 -> 10, 2, 1
        (13, {"a": 100, "b": 4, "c": 1}, None, {"a": 10, "b": 4 - 2, "c": 1}),
        # b is capped at 2, what it cannot take goes to a
        (10, {"a": 20, "b": 2}, {"a": 1, "b": 1}, {"a": 8, "b": 2}),
        # more asked than there is: everything
        (100, {"a": 3, "b": 2}, None, {"a": 3, "b": 2}),
        (0, {"a": 3}, None, {"a": 0}),
        (5, {}, None, {}),
        # a weight of zero takes part only when nothing else is left
        (3, {"a": 2, "z": 5}, {"a": 1.0, "z": 0.0}, {"a": 2, "z": 1}),
    ],
)
def test_allocate(total, available, weights, wanted):
    assert allocate(total, available, weights) == wanted


@given(st.integers(0, 500), st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(0, 80), max_size=8))
def test_quotas_add_up_and_respect_caps(total, available):
    quota = allocate(total, available)
    assert sum(quota.values()) == min(total, sum(available.values()))
    assert all(0 <= quota[name] <= available[name] for name in available)


def test_counter_skew_leans_against_the_earlier_mix():
    # fair shares of 100 and 100 are 1/2 each; a had 3/4 (factor 2/3), b had 1/4 (factor 2)
    weights = counter_skew({"a": 100, "b": 100}, {"a": 30, "b": 10})
    assert weights["a"] == pytest.approx(10 * 2 / 3)
    assert weights["b"] == pytest.approx(20.0)


def test_counter_skew_without_history_is_the_fair_share():
    assert counter_skew({"a": 4, "b": 9}, {}) == {"a": 2.0, "b": 3.0}
