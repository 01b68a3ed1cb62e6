"""Alignment and mixing: goldens with their derivation, invariances, unknown rewards, exact moments."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.config import load_config
from udfs.rewards.composition import align_to, align_to_range, compose, moments_by
from udfs.rewards.moments import Moments
from udfs.rewards.round import RawRewards, compose_round, merged, moments_of
from udfs.stats.group import advantages

FINITE = st.floats(-1e6, 1e6, allow_nan=False, allow_subnormal=True)


def aligned(values, clip=3.0, keys=None):
    keys = keys or ["d"] * len(values)
    return align_to(values, keys, moments_by(values, keys), clip)


# [0,0,1,1]: mean 1/2, population spread 1/2 -> -1, 1. [1, 0 x 7]: mean 1/8, spread sqrt(7)/8 -> sqrt(7), -1/sqrt(7).
# [1, 0 x 15]: spread sqrt(15)/16, so (15/16) / (sqrt(15)/16) = sqrt(15) = 3.87 is cut to 3.
@pytest.mark.parametrize(
    ("values", "expected", "clips"),
    [
        ([0.0, 0.0, 1.0, 1.0], [-1.0, -1.0, 1.0, 1.0], 0),
        ([1.0] + [0.0] * 7, [math.sqrt(7)] + [-1 / math.sqrt(7)] * 7, 0),
        ([1.0] + [0.0] * 15, [3.0] + [-1 / math.sqrt(15)] * 15, 1),
        ([0.7] * 8, [0.0] * 8, 0),
        ([0.1] * 3, [0.0] * 3, 0),  # np.std of these is 1.4e-17
        ([0.3, None, 0.3 + 1e-10], [0.0, None, 0.0], 0),  # equal by R§5's rule
        ([0.9], [0.0], 0),
        ([None, math.nan, 0.0, 1.0], [None, None, -1.0, 1.0], 0),
        ([None, None], [None, None], 0),
    ],
)
def test_z_scores(values, expected, clips):
    got = aligned(values)
    assert got.values == [None if e is None else e if e == 0.0 else pytest.approx(e, rel=1e-15) for e in expected]
    assert sum(got.clipped) == clips


def test_domains_do_not_mix():
    got = aligned([0.0, 1.0, 0.2, 0.2, 10.0, 30.0], keys=["a", "a", "b", "b", "c", "c"])
    assert got.values == [-1.0, 1.0, 0.0, 0.0, -1.0, 1.0]


def test_a_declared_range_is_mapped_onto_0_to_1():
    assert align_to_range([0.0, 10.0, None, -1.0], [(0.0, 10.0)] * 3 + [(-1.0, 1.0)]).values == [0.0, 1.0, None, 0.0]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=2, max_size=12), st.integers(-1000, 1000), st.integers(-8, 8))
def test_shift_and_scale_by_powers_of_two_change_no_bit(values, shift, power):
    # sums are exact, and so is (x + c) * 2^k here: the z-scores are the same numbers, not nearly the same
    before = [value / 8 for value in values]
    after = [(value + shift) * 2.0**power for value in before]
    if 2.0**power >= 1e-2:  # far below 1 the rule for equal values is absolute, and small spreads are none
        assert aligned(after, clip=1e9).values == aligned(before, clip=1e9).values


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1, width=32), min_size=2, max_size=12), st.floats(0.5, 100.0), st.floats(-100.0, 100.0))
def test_shift_and_scale_change_nothing(values, scale, shift):
    before, after = aligned(values).values, aligned([value * scale + shift for value in values]).values
    if max(values) - min(values) > 1e-3:
        assert after == pytest.approx(before, abs=1e-9)


@settings(max_examples=80, deadline=None)
@given(st.lists(FINITE, max_size=20), st.randoms(use_true_random=False))
def test_moments_are_exact_whatever_the_order_and_the_parts(values, rng):
    whole = Moments.of(values)
    mixed = list(values)
    rng.shuffle(mixed)
    cut = rng.randint(0, len(values))
    assert Moments.of(mixed[cut:]) + Moments.of(mixed[:cut]) == whole
    exact = [Fraction(value) for value in values]
    if not exact:
        assert (whole.mean, whole.std) == (None, None)
        return
    mean = sum(exact) / len(exact)
    assert whole.mean == float(mean)
    if not whole.constant:
        variance = float(sum((x - mean) ** 2 for x in exact) / len(exact))
        assert whole.std == math.sqrt(variance)


def test_moments_hold_the_smallest_and_the_largest_doubles():
    tiny, huge = 5e-324, 1.7e308
    assert (Moments.of([tiny]).mean, Moments.of([huge, huge]).mean) == (tiny, huge)
    assert Moments.of([-huge, huge]).mean == 0.0
    with pytest.raises((ValueError, OverflowError)):
        Moments.of([math.nan])


@pytest.mark.parametrize(
    ("verifier", "judge", "alpha", "expected"),
    [
        (1.0, -1.0, 1.0, 1.0),
        (1.0, None, 1.0, 1.0),  # no weight: need not be known
        (None, -1.0, 1.0, None),
        (1.0, -1.0, 0.0, -1.0),
        (None, -1.0, 0.0, -1.0),  # the judge alone decides
        (1.0, None, 0.0, None),
        (1.0, -1.0, 0.75, 0.5),
        (None, -1.0, 0.05, None),  # any weight at all
        (1.0, None, 0.95, None),
        (None, None, 0.5, None),
    ],
)
def test_what_has_weight_must_be_known(verifier, judge, alpha, expected):
    assert compose(verifier, judge, alpha) == expected


def reward(*overrides):
    return load_config(overrides=[f"reward.{item}" for item in overrides]).reward


def raw(groups, kinds=None, judge=None):
    """Groups of outcomes (None = the verifier failed)."""
    values = [value for group in groups for value in group]
    n = len(values)
    kinds = kinds or ["math"] * len(groups)
    return RawRewards(
        group=[f"g{g}" for g, group in enumerate(groups) for _ in group], task_type=[k for k, group in zip(kinds, groups, strict=True) for _ in group],
        verifier=values, bounds=[(0.0, 1.0)] * n, verdict=["error" if v is None else "correct" if v else "incorrect" for v in values],
        judge=judge or [None] * n, judge_fault=["unjudged"] * n if judge is None else [None if j is not None else "invalid" for j in judge],
        form=[None] * n, length=[10] * n, cut_off=[False] * n,
    )  # fmt: skip


def test_alpha_goes_by_task_type_then_domain_then_the_default():
    groups = [[0.0, 1.0]] * 4
    kinds = ["word_problem", "olympiad", "essay", "trivia"]
    judged = raw(groups, kinds, judge=[0.0, 1.0] * 4)
    made = compose_round(
        judged, reward("domains = {}", 'domains={word_problem="math", olympiad="math"}', "alpha={olympiad=0.5, essay=0.0}")
    )
    assert made.alpha == [0.95, 0.95, 0.5, 0.5, 0.0, 0.0, 1.0, 1.0]
    assert made.domain == ["math"] * 4 + ["essay"] * 2 + ["trivia"] * 2


def test_a_domain_that_no_judge_was_asked_about():
    code = raw([[0.0, 1.0]], ["code"])
    assert compose_round(code, reward()).alpha == [1.0, 1.0]
    assert compose_round(code, reward()).score_raw == [-1.0, 1.0]
    strict = compose_round(code, reward('unjudged="unknown"'))
    assert (strict.alpha, strict.score_raw, strict.unknown) == ([0.95] * 2, [None] * 2, ["genrm_unjudged"] * 2)
    # alpha = 0: nothing stands in for the judge
    assert compose_round(raw([[0.0, 1.0]], ["essay"]), reward("alpha={essay=0.0}")).score_raw == [None, None]


def test_unknown_rewards_stay_unknown_and_say_why():
    made = compose_round(raw([[0.0, 1.0, None, 1.0]], ["code"], judge=[0.2, 0.4, 0.6, None]), reward())
    assert [score is None for score in made.score_raw] == [False, False, True, True]
    assert made.unknown == [None, None, "error", "genrm_invalid"]
    for column in made.advantages.values():
        assert [value is None for value in column] == [False, False, True, True]


def test_scales_are_aligned_before_they_are_mixed():
    # a judge who uses [0.50, 0.52] counts as much as one who uses [0, 1]
    narrow = compose_round(raw([[0.0, 1.0]], ["code"], judge=[0.50, 0.52]), reward("alpha={code=0.5}"))
    wide = compose_round(raw([[0.0, 1.0]], ["code"], judge=[0.0, 1.0]), reward("alpha={code=0.5}"))
    assert narrow.score_raw == wide.score_raw == [-1.0, 1.0]


def test_in_group_alignment_is_the_population_advantage():
    groups = [[0.0, 0.0, 1.0, 1.0], [1.0] + [0.0] * 7]
    made = compose_round(raw(groups), reward('alignment="group"'))
    expected = [value for group in groups for value in advantages(group, "grpo_population")]
    assert made.score_raw == pytest.approx(expected)


def test_a_running_score_pools_the_rounds_of_its_window():
    # [0,0,1,1] after [1,1,1,1]: mean 3/4, spread sqrt(3)/4 -> (1 - 3/4) / (sqrt(3)/4) = 1/sqrt(3), and -sqrt(3)
    now, before = raw([[0.0, 0.0, 1.0, 1.0]]), raw([[1.0, 1.0, 1.0, 1.0]])
    made = compose_round(now, reward("window_rounds=2"), merged([moments_of(before, reward())]))
    assert made.score_raw == pytest.approx([-math.sqrt(3)] * 2 + [1 / math.sqrt(3)] * 2)
    three = [moments_of(raw([[value, 0.3]]), reward()) for value in (0.1, 0.2, 0.9)]
    assert all(merged(order) == merged(three) for order in itertools.permutations(three))


@pytest.mark.parametrize("noisy", [[0.7] * 8, [0.3] * 7, [0.1] * 3, [0.1 + 0.2, 0.3, 0.3]])
@pytest.mark.parametrize("alignment", ["domain", "group", "range"])
def test_constant_groups_are_exactly_zero_through_the_whole_chain(noisy, alignment):
    # the domain's spread is tiny but no noise: without looking at the raw values, z-scores would blow the group's own noise up
    made = compose_round(raw([noisy, [noisy[0] + 1e-6] * 4]), reward(f'alignment="{alignment}"'))
    n = len(noisy)
    for column in made.advantages.values():
        assert column == [0.0] * (n + 4)
    assert made.zero_variance == [True] * (n + 4)
    assert {choice.why for choice in made.choice} == {"zero_variance"}


def test_seven_low_and_one_high_are_sane():
    # R§5: NeMo-RL gives 3692.7 for the one. It is one of eight, whatever the two values: 7/8 * sqrt(8) and -sqrt(8)/8, RLOO 0.6 and -0.6/7.
    values = [0.35] * 7 + [0.95]
    made = compose_round(raw([values]), reward('alignment="range"', 'framework="none"'))
    assert made.advantages["grpo_unbiased"] == pytest.approx([-math.sqrt(8) / 8] * 7 + [7 / 8 * math.sqrt(8)])
    assert made.advantages["rloo"] == pytest.approx([-0.6 / 7] * 7 + [0.6])


def test_the_order_of_groups_and_samples_changes_no_bit():
    rng = random.Random(5)
    groups = [[round(rng.random(), 3) for _ in range(8)] for _ in range(12)]
    kinds = [rng.choice(["code", "essay"]) for _ in groups]
    said = [[round(rng.random(), 3) for _ in group] for group in groups]

    def chain(order, samples):
        made = compose_round(
            raw([[groups[g][s] for s in samples] for g in order], [kinds[g] for g in order], judge=[said[g][s] for g in order for s in samples]), reward()
        )  # fmt: skip
        keys = [(g, s) for g in order for s in samples]
        columns = [made.score_raw, made.score_shaped, *made.advantages.values(), made.choice]
        return {key: values for key, *values in zip(keys, *columns, strict=True)}

    first = chain(range(12), range(8))
    for seed in range(5):
        rng.seed(seed)
        assert chain(rng.sample(range(12), 12), rng.sample(range(8), 8)) == first


def test_wrong_settings_are_named():
    from jobs.config import ConfigError

    for item, part in (
        ("reward.window_rounds=3", None),
        ("reward.alpha={math=1.5}", "reward.alpha.math"),
        ("reward.clip=0", "reward.clip"),
        ("reward.clip=inf", "reward.clip"),
        ('reward.framework="unsloth"', "reward.framework"),
        ("reward.overlong.buffer_tokens=129", "buffer_tokens (129) exceeds max_tokens (128)"),
        ("reward.sampling.band=[0.9, 0.1]", "band must rise"),
        ("reward.staleness.upper=0.5", "reward.staleness.upper"),
        ("reward.sampling.widht=1", "unknown key"),
    ):
        if part is None:
            assert load_config(overrides=[item]).reward.window_rounds == 3
            continue
        with pytest.raises(ConfigError, match=part.replace("(", r"\(").replace(")", r"\)")):
            load_config(overrides=[item])
    with pytest.raises(ConfigError, match="window_rounds"):
        load_config(overrides=["reward.window_rounds=3", 'reward.alignment="group"'])
