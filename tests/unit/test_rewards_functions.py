"""The registry of reward functions: ranges are promises, and what breaks one is a fault; judgements as rewards."""

from __future__ import annotations

import itertools
import math

import pytest

from udfs.rewards.functions import FAULTS, FUNCTIONS, row_fault
from udfs.rewards.judged import Judgement, pairwise, pointwise
from udfs.trajectories.rewards import REWARD_RANGE, grade_response

KINDS = {"rule", "model", "execution", "human", "shaping"}


def test_every_function_declares_name_kind_and_a_range_that_rises():
    assert {"correct", "format", "outcome", "public_tests", "hidden_tests", "rules", "genrm", "genrm_pairwise"} <= FUNCTIONS.keys()
    for name, function in FUNCTIONS.items():
        assert function.name == name
        assert set(function.kinds) <= KINDS
        assert function.kinds
        assert function.low < function.high < math.inf
        # only shaping may be open below, and it never pays
        assert (function.low > -math.inf and function.high > 0.0) or (function.kinds == ("shaping",) and function.high == 0.0)


@pytest.mark.parametrize(
    ("name", "kind", "value", "low", "high", "verdict", "fault"),
    [
        ("correct", "rule", 1.0, 0.0, 1.0, "correct", None),
        ("correct", "rule", 1.0, None, None, "correct", None),  # from before ranges were declared
        ("correct", "rule", None, 0.0, 1.0, "error", None),
        ("correct", "rule", 1.5, 0.0, 1.0, "correct", "out_of_range"),
        ("correct", "rule", 1.5, 0.0, 2.0, "correct", "range_differs"),  # a row cannot widen what its function promises
        ("correct", "rule", -0.5, None, None, "incorrect", "out_of_range"),
        ("correct", "rule", math.nan, 0.0, 1.0, "correct", "not_finite"),
        ("correct", "rule", -math.inf, 0.0, 1.0, "incorrect", "not_finite"),
        ("correct", "model", 1.0, 0.0, 1.0, "correct", "wrong_kind"),
        ("correct", "rule", None, 0.0, 1.0, "incorrect", "null_but_known"),
        ("correct", "rule", 0.0, 0.0, 1.0, "unparsable_gold", "value_but_unknown"),
        ("hidden_tests", "execution", 0.5, 0.0, 1.0, "partial", None),
        ("hidden_tests", "execution", 1.0, 0.0, 1.0, "timeout", "incorrect_with_reward"),
        ("genrm", "model", 0.25, 0.0, 1.0, "incorrect", None),  # a judge's verdict is no grader's
        ("genrm", "model", 25.0, 0.0, 1.0, "correct", "out_of_range"),
        ("their_reward", "rule", 7.0, 0.0, 10.0, "partial", None),  # a framework's own, which its row declares
        ("their_reward", "rule", 11.0, 0.0, 10.0, "partial", "out_of_range"),
        ("their_reward", "rule", 0.5, None, None, "partial", "undeclared"),
        ("their_reward", "rule", 0.5, 1.0, 0.0, "partial", "undeclared"),
        ("their_reward", "rule", 0.5, -math.inf, math.inf, "partial", "undeclared"),
        ("overlong_dapo", "shaping", -3.0, -4.0, 0.0, "partial", None),  # times its factor
    ],
)
def test_faults(name, kind, value, low, high, verdict, fault):
    assert row_fault(name, kind, value, low, high, verdict) == fault
    assert fault is None or fault in FAULTS


def test_our_own_graders_keep_what_they_declare():
    for contract, response in (('{"type":"number","gold":"4"}', "Answer: 4"), ('{"type":"number","gold":"4"}', "five"), (None, None)):
        for row in grade_response(contract, response, None):
            assert row_fault(row.reward_name, row.kind, row.value, row.low, row.high, row.verdict) is None


def test_ranges_of_graders_are_the_house_range():
    assert all((FUNCTIONS[name].low, FUNCTIONS[name].high) == REWARD_RANGE for name in ("correct", "format", "outcome", "rules"))


def point(ident, score, draw=0, verdict="score"):
    return Judgement("pointwise", ident, None, swapped=False, verdict=verdict, score=score, judge="j", draw=draw)


def pair(first, second, *verdicts, draw=0, judge="j"):
    """A pair in both orders: the verdict as shown, then swapped."""
    return [
        Judgement("pairwise", first, second, swapped=swapped, verdict=verdict, score=None, judge=judge, draw=draw)
        for swapped, verdict in zip((False, True), verdicts, strict=False)
    ]


def test_pointwise_is_the_mean_of_valid_scores():
    said = pointwise([
        point("t", 0.5), point("t", 1.0, draw=1), point("t", None, draw=2, verdict="invalid"),
        point("u", None, verdict="invalid"), point("v", 1.5), point("v", math.nan, draw=1), point("w", 0.0),
    ])  # fmt: skip
    assert {ident: (j.value, j.counted, j.asked, j.fault) for ident, j in said.items()} == {
        "t": (0.75, 2, 3, None), "u": (None, 0, 1, "invalid"), "v": (None, 0, 2, "out_of_range"), "w": (0.0, 1, 1, None),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "first", "second"),
    [
        (("a", "a"), 1.0, 0.0),
        (("b", "b"), 0.0, 1.0),
        (("tie", "tie"), 0.5, 0.5),
        (("a", "b"), 0.5, 0.5),  # a judge who names the first place, whoever stands there, prefers nobody
        (("a", "tie"), 0.75, 0.25),
        (("a", "invalid"), None, None),
        (("a",), None, None),  # one order says nothing: the place may have decided
    ],
)
def test_a_pair_counts_in_both_orders(verdicts, first, second):
    said = pairwise(pair("t", "u", *verdicts))
    assert (said["t"].value, said["u"].value) == (first, second)
    assert said["t"].fault == (None if first is not None else "one_order")


def test_win_rates_over_a_group_do_not_depend_on_order():
    # t beats u and v, u ties v: 2/2, 0.5/2, 0.5/2
    judgements = [*pair("t", "u", "a", "a"), *pair("t", "v", "a", "a"), *pair("u", "v", "tie", "tie")]
    for order in itertools.islice(itertools.permutations(judgements), 0, 720, 37):
        assert {ident: said.value for ident, said in pairwise(order).items()} == {"t": 1.0, "u": 0.25, "v": 0.25}


def test_draws_and_judges_are_pairs_of_their_own_and_a_pair_with_itself_is_none():
    judgements = [
        *pair("t", "u", "a", "a"),
        *pair("t", "u", "b", "b", draw=1),
        *pair("t", "u", "b", "b", judge="k"),
        *pair("t", "t", "a", "a"),
    ]
    said = pairwise(judgements)
    assert (said["t"].value, said["t"].counted) == (pytest.approx(1 / 3), 3)
    assert pairwise([]) == pointwise([]) == {}
