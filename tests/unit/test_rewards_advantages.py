"""Advantages by framework and dynamic sampling: golden vectors of R§5, float noise, single and unknown samples."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs.rewards.advantages import EPSILONS, ESTIMATORS, group_advantages
from udfs.rewards.sampling import choose

# [0,0,1,1]: mean 1/2, squares 1. Unbiased spread sqrt(1/3) -> sqrt(3)/2; population 1/2 -> 1; Dr.GRPO 1/2; RLOO 1/2 * 4/3.
HALF = ([0.0, 0.0, 1.0, 1.0], {"grpo_unbiased": 0.8660254, "grpo_population": 1.0, "dr_grpo": 0.5, "rloo": 2 / 3})
# [1, 0 x 7]: mean 1/8, squares 7/8. sqrt(1/8) -> 7/sqrt(8); sqrt(7)/8 -> sqrt(7); 7/8; RLOO 7/8 * 8/7.
ONE = ([1.0] + [0.0] * 7, {"grpo_unbiased": 2.4748737, "grpo_population": 2.6457513, "dr_grpo": 0.875, "rloo": 1.0})


@pytest.mark.parametrize(("scores", "best"), [HALF, ONE])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_golden_vectors(scores, best, estimator):
    got = group_advantages(scores)[estimator]
    assert max(got) == pytest.approx(best[estimator], rel=1e-7)
    assert math.fsum(got) == pytest.approx(0.0, abs=1e-12)


# (x - m) / (s + eps) with the unbiased s of [0,0,1,1], sqrt(1/3) = 0.57735: the frameworks' constants show in the digits.
@pytest.mark.parametrize(
    ("framework", "digits"), [("none", 0.8660254), ("openrlhf", 0.8660254), ("verl", 0.8660239), ("areal", 0.8660104), ("trl", 0.8658754)]
)
def test_epsilon_goes_by_the_name_of_the_framework(framework, digits):
    got = group_advantages(HALF[0], framework)
    assert got["grpo_unbiased"][3] == pytest.approx(digits, abs=6e-8)
    assert got["rloo"] == group_advantages(HALF[0], "none")["rloo"]  # nothing is divided by there
    with pytest.raises(KeyError):
        group_advantages(HALF[0], "unsloth")


def test_epsilons_are_those_that_were_read():
    assert {name: EPSILONS[name] for name in ("verl", "trl", "openrlhf", "slime", "areal", "nemo_rl")} == {
        "verl": 1e-6, "trl": 1e-4, "openrlhf": 1e-9, "slime": 1e-6, "areal": 1e-5, "nemo_rl": 1e-6,
    }  # fmt: skip


@pytest.mark.parametrize("framework", EPSILONS)
@pytest.mark.parametrize("scores", [[0.7] * 8, [0.3] * 7, [0.1] * 3, [1.0], [-2.5], [0.3, 0.1 + 0.2]])
def test_equal_scores_and_single_ones_are_exactly_zero(framework, scores):
    # eight times 0.7 is 0.0560 in verl, 0.921 in OpenRLHF (R§5); one sample is its own reward in verl
    assert all(column == [0.0] * len(scores) for column in group_advantages(scores, framework).values())


@pytest.mark.parametrize("low", [0.35, 0.3])
def test_one_of_eight_is_the_same_whatever_the_two_values(low):
    # NeMo-RL's leave-one-out in float32 gives 3692.7 and 6367 for the one
    got = group_advantages([low] * 7 + [low + 0.6])
    assert got["grpo_unbiased"] == pytest.approx([-0.3535534] * 7 + [2.4748737])
    assert got["rloo"] == pytest.approx([-0.6 / 7] * 7 + [0.6])


def test_unknown_scores_are_left_out_and_stay_unknown():
    got = group_advantages([None, 0.0, math.nan, 0.0, 1.0, 1.0])
    assert got["dr_grpo"] == [None, -0.5, None, -0.5, 0.5, 0.5]
    assert all(column == [None, None] for column in group_advantages([None, None]).values())
    assert all(column == [None, 0.0] for column in group_advantages([None, 1.0]).values())
    assert all(column == [] for column in group_advantages([]).values())


def test_constant_parts_make_zero_whatever_alignment_made_of_their_noise():
    blown_up = [0.1, 0.3, 0.2]
    assert group_advantages(blown_up, "none", [[0.7, 0.7 + 1e-12, 0.7]])["dr_grpo"] == [0.0, 0.0, 0.0]
    assert group_advantages(blown_up, "none", [[0.7] * 3, [0.1, 0.2, 0.3]])["dr_grpo"] != [0.0, 0.0, 0.0]
    # a part counts by the samples whose score is known
    assert group_advantages([0.1, None, 0.2], "none", [[0.7, 0.0, 0.7]])["dr_grpo"] == [0.0, None, 0.0]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 20), min_size=2, max_size=10), st.randoms(use_true_random=False))
def test_permutations_change_nothing_and_scale_changes_only_what_keeps_it(values, rng):
    scores = [value / 20 for value in values]
    order = list(range(len(scores)))
    rng.shuffle(order)
    first, mixed = group_advantages(scores), group_advantages([scores[at] for at in order])
    assert all(mixed[name] == [first[name][at] for at in order] for name in ESTIMATORS)
    scaled = group_advantages([4.0 * score + 3.0 for score in scores])
    for name in ("grpo_unbiased", "grpo_population"):
        assert scaled[name] == pytest.approx(first[name], abs=1e-9)
    for name in ("dr_grpo", "rloo"):
        assert scaled[name] == pytest.approx([4.0 * value for value in first[name]], abs=1e-9)


@pytest.mark.parametrize(
    ("metric", "options", "keep", "weight", "why"),
    [
        ([0.0, 1.0, 0.0, 0.0], {}, True, 1.0, "kept"),
        ([1.0] * 8, {}, False, 0.0, "zero_variance"),
        ([0.0] * 8, {}, False, 0.0, "zero_variance"),
        ([0.1] * 3, {}, False, 0.0, "zero_variance"),  # np.std is 1.4e-17, and verl's == 0.0 keeps the group
        ([1.0], {}, False, 0.0, "too_few_known"),
        ([1.0, None, None], {}, False, 0.0, "too_few_known"),
        ([None, None], {}, False, 0.0, "too_few_known"),
        ([1.0, None, 0.0], {}, True, 1.0, "kept"),  # unknown ones count for nothing
        ([1.0, None, 1.0], {}, False, 0.0, "zero_variance"),
        # a band on the mean, ends included
        ([1.0, 0.0, 0.0, 0.0], {"band": (0.25, 0.75)}, True, 1.0, "kept"),
        ([1.0] + [0.0] * 7, {"band": (0.25, 0.75)}, False, 0.0, "outside_band"),
        # soft: mean 1/8 lies half of the margin below the band
        ([1.0] + [0.0] * 7, {"band": (0.25, 0.75), "margin": 0.25}, True, 0.5, "kept"),
        ([0.0] + [1.0] * 7, {"band": (0.25, 0.75), "margin": 0.25}, True, 0.5, "kept"),
        ([1.0] + [0.0] * 7, {"band": (0.25, 0.75), "margin": 0.125}, False, 0.0, "outside_band"),
        # variance: p (1 - p) of at most 1/4; of 1/8 that is 7/64 * 4
        ([1.0] + [0.0] * 7, {"weighting": "variance"}, True, 7 / 16, "kept"),
        ([1.0, 0.0], {"weighting": "variance"}, True, 1.0, "kept"),
        # another range: shares of it
        ([10.0, 0.0], {"weighting": "variance", "bounds": (0.0, 10.0)}, True, 1.0, "kept"),
        ([-1.0, 1.0], {"band": (0.4, 0.6), "bounds": (-1.0, 1.0)}, True, 1.0, "kept"),
    ],
)
def test_dynamic_sampling(metric, options, keep, weight, why):
    got = choose(metric, **options)
    assert (got.keep, got.why) == (keep, why)
    assert got.weight == pytest.approx(weight, rel=1e-12)
    assert got.keep == (got.weight > 0.0)
