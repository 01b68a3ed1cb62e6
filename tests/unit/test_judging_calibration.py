"""What audits say about a checking model. Intervals are Wilson's at 95 %, whose values are known from its formula (udfs/stats/wilson.py)."""

from __future__ import annotations

import pytest

from udfs.judging.calibration import Calibration, Share, drifted, judge_alerts

BOUNDS = {"min_recall": 0.5, "min_pass_rate": 0.5}


def audits(ingest, *, caught=0, missed=0, passed=0, wronged=0, failed_good=0, model="m@", template="convert_check@1"):
    """Rows of silver.judge_audits with so many of each outcome."""
    kinds = [
        ("bad", "rejected", caught),
        ("bad", "passed", missed),
        ("good", "passed", passed),
        ("good", "rejected", wronged),
        ("good", "failed", failed_good),
    ]
    return [
        {"ingest_id": ingest, "label": label, "verdict": verdict, "model": model, "template": template}
        for label, verdict, n in kinds
        for _ in range(n)
    ]


def test_recall_precision_and_pass_rate_are_of_a_detector_of_bad_items():
    found = Calibration.of(audits("i", caught=8, missed=2, passed=15, wronged=3, failed_good=2))
    # No readable reply of a good one counts as a rejection: 8 of 8 + 3 + 2 rejected are bad.
    assert (found.recall, found.precision, found.pass_rate) == (Share(8, 10), Share(8, 13), Share(15, 20))
    low, high = found.recall.interval
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)  # Wilson for 8 of 10, as in the textbooks


def test_without_audits_nothing_is_known():
    assert Calibration.of([]).recall.value is None
    assert Share(0, 0).interval == (0.0, 1.0)
    assert judge_alerts([], [], **BOUNDS) == []


@pytest.mark.parametrize(
    ("caught", "missed", "alarm"),
    [(0, 5, True), (1, 9, True), (4, 6, False), (10, 0, False), (0, 2, False)],
    # 0 of 5: up to 0.434; 1 of 10: up to 0.404; 4 of 10: up to 0.687; 0 of 2: up to 0.658, too few to say
)
def test_an_alert_needs_the_whole_interval_below_the_bound(caught, missed, alarm):
    names = [alert["name"] for alert in judge_alerts(audits("i", caught=caught, missed=missed), ["i"], **BOUNDS)]
    assert names == (["judge_recall"] if alarm else [])


def test_drift_is_an_interval_that_does_not_meet_the_one_before():
    assert not drifted(Share(18, 20), Share(15, 20))
    assert drifted(Share(19, 20), Share(5, 20))
    assert drifted(Share(5, 20), Share(19, 20))
    rows = [*audits("a", caught=19, missed=1), *audits("b", caught=18, missed=2), *audits("c", caught=10, missed=10)]
    (alert,) = judge_alerts(rows, ["a", "b", "c"], **BOUNDS)
    assert (alert["name"], alert["slice_kind"], alert["slice"], alert["value"]) == (
        "judge_drift",
        "judge",
        "m@ convert_check@1 recall",
        0.5,
    )
    assert "was 37 of 40 and is 10 of 20 in ingest c" in alert["message"]
    # With b as the newest, 18 of 20 meets 29 of 40: (0.699, 0.972) and (0.572, 0.839).
    assert judge_alerts(rows, ["c", "a", "b"], **BOUNDS) == []


def test_checkers_are_told_apart_by_model_and_template():
    rows = [*audits("a", caught=20), *audits("b", missed=20, model="other@"), *audits("b", caught=20)]
    assert [(alert["name"], alert["slice"]) for alert in judge_alerts(rows, ["a", "b"], **BOUNDS)] == [
        ("judge_recall", "other@ convert_check@1")
    ]
