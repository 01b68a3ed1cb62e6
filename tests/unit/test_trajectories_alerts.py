"""Alerts: bounds, slices, severity, and that each message says what to do."""

from __future__ import annotations

import itertools

import pytest

from jobs.config import load_config
from udfs.trajectories.alerts import WATCHES, alerts_of

CHECK = load_config().check


def metric(name, numerator, denominator, kind="all", cut="all", value=None):
    share = numerator / denominator if denominator else None
    return {
        "name": name,
        "slice_kind": kind,
        "slice": cut,
        "numerator": numerator,
        "denominator": denominator,
        "value": share if value is None else value,
    }


@pytest.mark.parametrize(
    ("given", "raised"),
    [
        (metric("null_reward_share", 1, 50), []),  # 2 % is allowed
        (metric("null_reward_share", 2, 50), ["null_reward_share"]),
        (metric("null_reward_share", 1, 8, "task_type", "t"), ["null_reward_share"]),  # unknown rewards count from the first
        (metric("null_reward_share", 8, 8, "template", "t"), []),  # a slice that is only shown
        (metric("zero_variance_share", 19, 19), []),  # too few groups to speak of a share
        (metric("zero_variance_share", 19, 20), ["zero_variance_share"]),
        (metric("zero_variance_share", 0, 0), []),
        (metric("missing_samples", 8, 80), ["missing_samples"]),
        (metric("solve_rate", 0, 80), []),
        (metric("worker_z", 3, 80, "worker", "w", value=-4.5), ["worker_outlier"]),
        (metric("worker_z", 3, 80, "worker", "w", value=4.0), []),
    ],
)
def test_bounds(given, raised):
    assert [a["name"] for a in alerts_of([given], CHECK)] == raised


def test_severity_and_message():
    strict = CHECK.model_copy(update={"block_on": ("null_reward_share",)})
    [null, outlier] = alerts_of(
        [metric("worker_z", 3, 80, "worker", "w1", value=-4.5), metric("null_reward_share", 5, 10, "task_type", "cloze")], strict
    )
    assert (null["severity"], outlier["severity"]) == ("block", "warn")
    assert null["message"].startswith("5 of 10 (50.0%) of the rewards of task_type cloze are unknown; check.max_null_share allows 2.0%:")
    assert "worker w1 solved 3 of 80, 4.5 standard errors below" in outlier["message"]
    assert (null["value"], null["bound"], outlier["value"], outlier["bound"]) == (0.5, 0.02, -4.5, 4.0)


def test_every_watch_has_its_bound_and_advice():
    for name, watch in WATCHES.items():
        [alert] = alerts_of([metric(name, 100, 100)], CHECK)
        assert alert["bound"] == getattr(CHECK, watch.bound) < 1.0
        assert watch.advice in alert["message"]


def test_order():
    metrics = [metric(n, 100, 100, kind, cut) for n in WATCHES for kind, cut in (("all", "all"), ("task_type", "a"), ("task_type", "b"))]
    assert (
        len({tuple(a["message"] for a in alerts_of(order, CHECK)) for order in itertools.islice(itertools.permutations(metrics), 50)}) == 1
    )
