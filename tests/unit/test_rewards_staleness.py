"""Ratios of re-scored to recorded log-probabilities: by hand, in bounds, unknown tokens, parts in any order."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest

from schemas.table import FLOATS, INTS
from udfs.rewards.staleness import Bounds, RatioSums, token_ratios

WIDE = Bounds(0.0, 1000.0)


def ratios(turns, bounds=WIDE, count=None):
    """Turns as (trajectory, recorded, re-scored, mask, versions)."""
    sums = RatioSums(count if count is not None else 1 + max(turn[0] for turn in turns), bounds)
    then, now, mask, versions = (
        pa.array([turn[at] for turn in turns], kind) for at, kind in ((1, FLOATS), (2, FLOATS), (3, INTS), (4, INTS))
    )
    sums.add(token_ratios(then, now, mask), np.array([turn[0] for turn in turns], dtype=np.int64), versions)
    return sums.ratios()


def turn(then, now, *, of=0, mask=None, version=1):
    return (of, then, now, mask or [1] * len(then or now or []), [version] * len(mask or then or now or []))


def test_by_hand():
    # ratios 2, 1/2, 4: product 4, geometric mean 4^(1/3)
    got = ratios([turn([-3.0, -1.0, -4.0], [-3.0 + math.log(2), -1.0 - math.log(2), -4.0 + math.log(4)])])
    assert (got.tokens[0], got.known[0]) == (3, 3)
    assert got.sequence[0] == pytest.approx(4.0, rel=1e-6)  # float32 carries 1e-7 a token
    assert got.geometric[0] == pytest.approx(4 ** (1 / 3), rel=1e-6)
    assert got.weight[0] == pytest.approx((2 + 0.5 + 4) / 3, rel=1e-6)


def test_a_small_gap_by_token_is_a_large_one_by_sequence():
    # R§6: 0.012 a token over 100 tokens is a sequence ratio of e^1.2 = 3.32
    got = ratios([turn([-1.0] * 100, [-0.988] * 100)])
    assert got.sequence[0] == pytest.approx(math.exp(1.2), rel=1e-5)
    assert got.geometric[0] == pytest.approx(math.exp(0.012), rel=1e-6)


def test_the_same_weights_give_exactly_one():
    logprobs = [-0.1 * at for at in range(50)]
    got = ratios([turn(logprobs, logprobs)])
    assert (got.sequence[0], got.geometric[0], got.weight[0]) == (1.0, 1.0, 1.0)


def test_only_sampled_tokens_count_and_turns_add_up():
    # a tool's answer between two turns: mask 0, and whatever stands there says nothing
    turns = [
        turn([-9.0, -2.0], [-1.0, -2.0 + math.log(3)], mask=[0, 1]),
        turn([None, None], [-5.0, None], mask=[0, 0]),
        turn([-2.0], [-2.0 - math.log(6)], version=4),
    ]
    got = ratios(turns)
    assert (got.tokens[0], got.known[0]) == (2, 2)
    assert got.sequence[0] == pytest.approx(0.5, rel=1e-6)


@pytest.mark.parametrize(
    ("then", "now"),
    [
        (None, [-1.0, -1.0, -1.0]),  # the dump had none
        ([-1.0, -1.0, -1.0], None),  # re-scoring failed
        ([-1.0, None, -1.0], [-1.0, -1.0, -1.0]),
        ([-1.0, -1.0, -1.0], [-1.0, math.nan, -1.0]),
        ([-1.0, -math.inf, -1.0], [-1.0, -1.0, -1.0]),  # masked by top-k under the other weights
        ([-1.0, 0.5, -1.0], [-1.0, -1.0, -1.0]),  # no logarithm of a probability
        ([-1.0, -1.0], [-1.0, -1.0, -1.0]),  # of another text
    ],
)
def test_a_token_without_both_is_unknown_never_zero(then, now):
    got = ratios([(0, then, now, [1, 1, 1], [1, 1, 1]), turn([-1.0], [-1.0], of=1)])
    assert (got.tokens[0], got.tokens[1]) == (3, 1)
    assert got.known[0] < 3
    assert np.isnan([got.sequence[0], got.geometric[0], got.weight[0]]).all()
    assert got.sequence[1] == 1.0


def test_a_probability_of_one_is_known():
    got = ratios([turn([0.0], [-math.log(2)])])  # log-probability 0.0 is certainty, not "missing"
    assert (got.known[0], got.sequence[0]) == (1, pytest.approx(0.5, rel=1e-6))


# ratios 1/4, 1, 3 under bounds [0.5, 2]
@pytest.mark.parametrize(
    ("level", "mode", "weight"),
    [
        ("token", "truncate", (0.5 + 1.0 + 2.0) / 3),
        ("token", "mask", 1.0 / 3),
        ("sequence", "truncate", 0.75),  # 1/4 * 1 * 3
        ("sequence", "mask", 0.75),
        ("geometric", "truncate", 0.75 ** (1 / 3)),
    ],
)
def test_bounds(level, mode, weight):
    got = ratios([turn([-3.0] * 3, [-3.0 - math.log(4), -3.0, -3.0 + math.log(3)])], Bounds(0.5, 2.0, level, mode))
    assert got.weight[0] == pytest.approx(weight, rel=1e-6)
    assert (got.below[0], got.above[0]) == (1, 1)
    assert got.sequence[0] == pytest.approx(0.75, rel=1e-6)  # what is truncated is the weight, not the ratio


@pytest.mark.parametrize(("mode", "weight"), [("truncate", 2.0), ("mask", 0.0)])
def test_a_whole_sequence_out_of_bounds(mode, weight):
    got = ratios([turn([-3.0] * 2, [-1.0] * 2)], Bounds(0.5, 2.0, "sequence", mode))
    assert got.weight[0] == pytest.approx(weight)


def test_the_end_of_exp_is_no_overflow():
    got = ratios([turn([-1e30] * 2, [-1.0] * 2), turn([-1.0], [-1e30], of=1)], Bounds(0.0, 1000.0))
    assert np.isfinite(got.sequence).all()
    assert got.sequence[0] > 1e300
    assert got.sequence[1] < 1e-300
    assert got.weight[0] == pytest.approx(1000.0)


def test_versions_of_sampled_tokens():
    got = ratios([
        (0, [-1.0] * 3, [-1.0] * 3, [0, 1, 1], [1, 5, 4]), (1, [-1.0], [-1.0], [1], [-1]), (2, [-1.0], [-1.0], [1], None),
    ])  # fmt: skip
    assert got.oldest.tolist() == [4, -1, -1]


def test_nothing_and_empty_turns():
    got = ratios([turn([], [])], count=2)
    assert got.tokens.tolist() == [0, 0]
    assert np.isnan(got.sequence).all()
    empty = RatioSums(0, WIDE)
    empty.add(
        token_ratios(pa.array([], FLOATS), pa.array([], FLOATS), pa.array([], INTS)), np.array([], dtype=np.int64), pa.array([], INTS)
    )
    assert len(empty.ratios().tokens) == 0


def test_parts_and_order_change_no_bit():
    rng = np.random.default_rng(3)
    turns = [turn((-rng.random(n) * 4).tolist(), (-rng.random(n) * 4).tolist(), of=at % 3) for at, n in enumerate((5, 1, 17, 3, 8, 2))]
    found = set()
    for order in itertools.islice(itertools.permutations(turns), 0, 720, 71):
        sums = RatioSums(3, Bounds(0.5, 2.0))
        for part in (order[:2], order[2:3], order[3:]):
            then, now, mask, versions = (
                pa.array([t[at] for t in part], kind) for at, kind in ((1, FLOATS), (2, FLOATS), (3, INTS), (4, INTS))
            )
            sums.add(token_ratios(then, now, mask), np.array([t[0] for t in part], dtype=np.int64), versions)
        got = sums.ratios()
        found.add((got.sequence.tobytes(), got.geometric.tobytes(), got.weight.tobytes(), got.tokens.tobytes()))
    assert len(found) == 1


def test_slices_of_a_larger_array_read_their_own_tokens():
    # batches of a scan are windows on larger buffers: offsets do not begin at 0
    then = pa.array([[-9.0], [-1.0, -2.0], None, [-3.0]], FLOATS)
    now = pa.array([[-9.0], [-1.5, -2.0], [-1.0], [-3.0]], FLOATS)
    mask = pa.array([[1], [1, 1], [1], [1]], INTS)
    got = token_ratios(then.slice(1, 2), now.slice(1, 2), mask.slice(1, 2))
    assert got.lengths.tolist() == [2, 1]
    assert got.as_lists().to_pylist() == [[pytest.approx(math.exp(-0.5)), 1.0], [None]]
