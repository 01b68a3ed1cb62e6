"""Which pools a round draws from, and how many of each task type."""

from __future__ import annotations

import pytest

from jobs.config import load_config
from jobs.plan.select import budgets, type_quotas

PLAN = load_config(overrides=["plan.failed_share=0.15", "plan.unexplored_share=0.25"]).plan


@pytest.mark.parametrize(
    ("round_no", "supply", "wanted"),
    [
        # a first round knows nothing: everything unexplored, whatever else is there
        (1, {"unexplored": 500, "later_stage": 90}, {"unexplored": 100}),
        # 15 failed, 25 unexplored, the rest from the band
        (2, {"unexplored": 500, "failed": 50, "in_band": 200}, {"failed": 15, "unexplored": 25, "in_band": 60}),
        # a band of 20: the 40 missing come from the unexplored first
        (2, {"unexplored": 500, "failed": 50, "in_band": 20}, {"failed": 15, "unexplored": 65, "in_band": 20}),
        # then from the failed, then from what lies outside the band, mastered last
        (
            2,
            {"unexplored": 30, "failed": 20, "in_band": 20, "out_of_band": 10, "mastered": 100},
            {"unexplored": 30, "failed": 20, "in_band": 20, "out_of_band": 10, "mastered": 20},
        ),
        # never from pools that may not be planned
        (3, {"not_active": 900, "constraint": 50, "no_form": 9, "in_band": 3}, {"in_band": 3}),
        (2, {}, {}),
    ],
)
def test_budgets(round_no, supply, wanted):
    assert budgets(PLAN, supply, round_no=round_no, wanted=100) == wanted


def test_type_quotas_lean_against_the_earlier_mix_within_each_pool():
    by_type = {"in_band": {"a": 100, "b": 100}, "failed": {"a": 1}}
    quotas = type_quotas(by_type, {"in_band": 40, "failed": 5}, earlier={"a": 30, "b": 10})
    # weights 10*2/3 and 10*2 (see test_planning_quotas): 40 shared 1 : 3
    assert quotas == {"in_band": {"a": 10, "b": 30}, "failed": {"a": 1}}
