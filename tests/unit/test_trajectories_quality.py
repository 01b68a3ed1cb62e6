"""Quality verdicts of one group: reasons by gravity, duplicates, evidence, order."""

from __future__ import annotations

import itertools
import json

import pytest

from udfs.trajectories.copying import Source
from udfs.trajectories.quality import Attempt, Component, judge_group

PROMPT = "Give the name of the city in which the observatory described in the catalogue was founded, on one line, without any explanation."
SOURCE = Source.of(PROMPT, None)


def attempt(index=0, response="Answer: Rome", **change):
    base = {
        "trajectory_id": f"t{index}", "sample_index": index, "response": response, "outcome": 0.0, "status": "completed", "failure_class": None,
        "rewards": (Component("correct", 0.0, "incorrect", is_outcome=True),), "length": 4, "median": 4, "token_fault": None,
    }  # fmt: skip
    return Attempt(**{**base, **change})


def only(given):
    [verdict] = judge_group([given], SOURCE, length_factor=4.0)
    return verdict


def rewards(value, verdict, *flags):
    return {"outcome": value, "rewards": (Component("correct", value, verdict, is_outcome=True, flags=flags),)}


@pytest.mark.parametrize(
    ("change", "state", "reason"),
    [
        ({}, "accepted", "accepted"),
        (rewards(1.0, "correct"), "accepted", "accepted"),
        (rewards(None, "error") | {"failure_class": "engine_dead", "response": None, "status": "failed"}, "rejected", "no_reward"),
        (rewards(None, "unparsable_gold"), "rejected", "no_reward"),
        (rewards(2.0, "correct"), "rejected", "bad_reward"),
        (rewards(0.0, "correct"), "rejected", "bad_reward"),
        ({"rewards": ()}, "rejected", "bad_reward"),
        ({"outcome": 1.0}, "rejected", "bad_reward"),  # the trajectory says otherwise than its reward row
        ({"token_fault": "mask"}, "rejected", "bad_tokens"),
        ({"response": " \n\t"}, "rejected", "empty_response"),
        ({"response": PROMPT}, "rejected", "copied_prompt"),
        ({"status": "truncated"}, "flagged", "truncated"),
        (rewards(0.0, "unparsable_pred"), "flagged", "bad_format"),
        (rewards(1.0, "correct", "multiple_answers"), "flagged", "multiple_answers"),
        ({"length": 16}, "accepted", "accepted"),  # exactly the factor is not more than it
        ({"length": 17}, "flagged", "abnormal_length"),
        ({"length": None, "median": None}, "accepted", "accepted"),
    ],
)
def test_reasons(change, state, reason):
    verdict = only(attempt(**change))
    assert (verdict.state, verdict.reason) == (state, reason)
    assert (verdict.flags == ()) == (reason == "accepted")
    assert set(json.loads(verdict.evidence)) == set(verdict.flags)


def test_the_gravest_reason_leads_and_all_flags_stay():
    broken = {"token_fault": "mask"}
    verdict = only(attempt(response=PROMPT, length=99, status="truncated", **rewards(0.0, "unparsable_pred"), **broken))
    assert verdict.reason == "bad_tokens"
    assert verdict.flags == ("abnormal_length", "bad_format", "bad_tokens", "copied_prompt", "truncated")


def test_a_format_reward_of_zero_is_a_broken_form():
    parts = (
        Component("correct", 1.0, "correct", is_outcome=False),
        Component("format", 0.0, "incorrect", is_outcome=False),
        Component("outcome", 0.0, "incorrect", is_outcome=True),
    )
    assert only(attempt(rewards=parts)).reason == "bad_format"


def test_duplicates_point_to_the_first_whatever_the_order():
    group = [
        attempt(0, "Answer: Rome"),
        attempt(1, "answer:  ROME "),
        attempt(2, "Answer: Bern"),
        attempt(3, "Ａｎｓｗｅｒ: Rome"),
        attempt(4, None),
        attempt(5, ""),
    ]
    expected = judge_group(group, SOURCE, length_factor=4.0)
    assert [v.reason for v in expected][:4] == ["accepted", "duplicate_response", "accepted", "duplicate_response"]
    assert json.loads(expected[3].evidence)["duplicate_response"] == {"of": "t0"}
    for order in itertools.permutations(group):
        assert judge_group(order, SOURCE, length_factor=4.0) == expected


def test_every_attempt_gets_one_verdict():
    assert judge_group([], SOURCE, length_factor=4.0) == []
    same_index = [attempt(3), attempt(3, trajectory_id="other")]
    assert len(judge_group(same_index, SOURCE, length_factor=4.0)) == 2
