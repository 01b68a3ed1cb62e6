"""Shaping terms: the published figures of the overlong penalty, its variants, terms as rows, null where something is unknown."""

from __future__ import annotations

import math

import pytest

from jobs.config import load_config
from udfs.rewards.functions import FUNCTIONS, row_fault
from udfs.rewards.round import RawRewards, compose_round
from udfs.rewards.shaping import format_term, overlong, shaping_row, truncated

LMAX, LC = 16384, 4096


# DAPO eq. 13 with the paper's Lmax and Lc (R§5): 0 up to 12288, half-way -1/2, -1 at Lmax and beyond.
@pytest.mark.parametrize(
    ("length", "dapo", "openrlhf", "verl"),
    [
        (0, 0.0, 0.0, 0.0),
        (12288, 0.0, 0.0, 0.0),
        (12289, -1 / 4096, -1 / 4096, -1 / 4096),
        (14336, -0.5, -0.5, -0.5),
        (16384, -1.0, -1.0, -1.0),
        (20480, -1.0, -1.0, -2.0),  # beyond Lmax only verl goes on
        (None, None, None, None),
    ],
)
def test_overlong(length, dapo, openrlhf, verl):
    assert [overlong(length, LMAX, LC, variant) for variant in ("dapo", "openrlhf", "verl")] == [dapo, openrlhf, verl]


def test_the_penalty_never_pays_and_never_falls_back():
    for variant in ("dapo", "openrlhf", "verl", "truncated"):
        terms = [overlong(length, 128, 32, variant) for length in range(300)]
        assert all(term <= 0.0 for term in terms)
        assert terms == sorted(terms, reverse=True)
        assert not any(math.copysign(1.0, term) < 0.0 for term in terms[:90])  # nor is it -0.0


@pytest.mark.parametrize("buffer", [0, -1, 129])
def test_a_buffer_that_does_not_fit_is_refused(buffer):
    with pytest.raises(ValueError, match="1 to 128 tokens"):
        overlong(5, 128, buffer)


def test_cut_off_and_form():
    assert [truncated(cut) for cut in (True, False, None)] == [-1.0, 0.0, None]
    assert [format_term(value) for value in (1.0, 0.0, 0.25, None)] == [0.0, -1.0, -0.75, None]
    assert format_term(5.0, 0.0, 10.0) == -0.5


def test_a_term_is_a_row_of_its_own():
    row = shaping_row("overlong_dapo", -0.5, 2.0, {"max_tokens": 128, "buffer_tokens": 32})
    assert (row.kind, row.value, row.low, row.high, row.is_outcome, row.verdict) == ("shaping", -1.0, -2.0, 0.0, False, "partial")
    assert row_fault(row.reward_name, row.kind, row.value, row.low, row.high, row.verdict) is None
    other = shaping_row("overlong_dapo", -0.5, 2.0, {"max_tokens": 256, "buffer_tokens": 32})
    assert row.verifier_run_id != other.verifier_run_id  # other settings are another run
    nothing = shaping_row("overlong_dapo", None, 1.0, {})
    assert (nothing.value, nothing.verdict) == (None, "skipped")
    assert math.copysign(1.0, shaping_row("overlong_dapo", 0.0, 1.0, {}).value) == 1.0
    with pytest.raises(ValueError, match="outside"):
        shaping_row("overlong_dapo", -1.5, 1.0, {})
    with pytest.raises(KeyError):
        shaping_row("overlong_mine", -0.5, 1.0, {})


def shaped(lengths, values, *overrides, form=None, cut_off=None):
    n = len(values)
    raw = RawRewards(
        group=["g"] * n, task_type=["qa"] * n, verifier=list(values), bounds=[(0.0, 1.0)] * n, verdict=["correct"] * n, judge=[None] * n,
        judge_fault=["unjudged"] * n, form=form or [None] * n, length=list(lengths), cut_off=cut_off or [False] * n,
    )  # fmt: skip
    return compose_round(raw, load_config(overrides=['reward.alignment="range"', *overrides]).reward)


def test_raw_terms_and_shaped_scores_stand_apart():
    form = [(1.0, 0.0, 1.0), (0.0, 0.0, 1.0), (None, 0.0, 1.0), None]
    made = shaped(
        [96, 112, 10, 500], [1.0, 0.0, 1.0, 1.0], "reward.overlong.variant=dapo", "reward.overlong.factor=2.0", "reward.format_penalty=0.25",
        form=form,
    )  # fmt: skip
    assert made.score_raw == [1.0, 0.0, 1.0, 1.0]
    assert [row.value for row in made.shaping["overlong_dapo"]] == [0.0, -1.0, 0.0, -2.0]
    assert [row and row.value for row in made.shaping["format_shaping"]] == [0.0, -0.25, None, None]
    assert made.shaping["format_shaping"][3] is None  # no form was asked for: no row, and nothing to pay
    assert made.score_shaped == [1.0, -1.25, None, -1.0]
    assert {row.kind for rows in made.shaping.values() for row in rows if row} == {"shaping"}


def test_no_shaping_is_no_row():
    made = shaped([500], [1.0])
    assert (made.shaping, made.score_shaped) == ({}, [1.0])


def test_an_unknown_length_leaves_the_raw_score_alone():
    made = shaped([None, 10], [1.0, 0.0], "reward.overlong.variant=verl")
    assert (made.score_raw, made.score_shaped) == ([1.0, 0.0], [None, 0.0])
    assert made.advantages["dr_grpo"] == [None, 0.0]


def test_cut_off_responses_pay_the_fixed_penalty():
    made = shaped([10, 10, 10], [1.0, 0.0, 1.0], "reward.overlong.variant=truncated", cut_off=[True, False, None])
    assert made.score_shaped == [0.0, 0.0, None]


def test_length_alone_is_no_reason_to_keep_a_group():
    # all right, of different lengths: the shaped reward varies, and a filter on it would keep the group (R§5: verl#7792, NeMo-RL#2431)
    made = shaped([10, 100, 120, 500], [1.0] * 4, "reward.overlong.variant=dapo")
    assert len(set(made.score_shaped)) == 4
    assert [choice.why for choice in made.choice] == ["zero_variance"] * 4
    assert made.zero_variance == [True] * 4
    assert made.advantages["dr_grpo"][0] > 0.0 > made.advantages["dr_grpo"][3]  # what shaping is for, in groups that are kept


def test_names_of_variants_are_registered():
    assert {f"overlong_{variant}" for variant in ("dapo", "openrlhf", "verl", "truncated")} <= FUNCTIONS.keys()
