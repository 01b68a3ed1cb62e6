"""Anomalies of a round: which figures left which bounds, and what a person should do about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from schemas.conf import Check

#: A share of fewer than these is noise, not an anomaly; unknown and missing rewards are watched from the first on.
MIN_DENOMINATOR = 20


@dataclass(frozen=True, slots=True)
class Watch:
    """A metric with an upper bound.

    Attributes:
        alert: name of the alert, as in conf check.block_on.
        bound: attribute of the configuration's check section.
        what: what the figure means, with {share} and {slice}.
        advice: what to do.
        min_denominator: least count on which the share is judged.
    """

    alert: str
    bound: str
    what: str
    advice: str
    min_denominator: int = MIN_DENOMINATOR


WATCHES: Mapping[str, Watch] = {
    "missing_samples": Watch(
        "missing_samples", "max_null_share", "{share} of the planned samples of {slice} never arrived",
        "look for dead letters and quarantined commits of the run (verilake status), then work it again", 1,
    ),
    "null_reward_share": Watch(
        "null_reward_share", "max_null_share", "{share} of the rewards of {slice} are unknown",
        "look at failure_class in silver.trajectories: engine failures want a new run of the shard, unparsable_gold wants its tasks repaired", 1,
    ),
    "duplicate_share": Watch(
        "duplicate_share", "max_duplicate_share", "{share} of the responses of {slice} repeat another of their group",
        "the policy has collapsed or the temperature is too low; groups without variety teach nothing",
    ),
    "format_failures": Watch(
        "format_failures", "max_format_failures", "{share} of the responses of {slice} broke the asked form",
        "read some of them: a prompt that does not say its form, a verifier that is too strict, or a policy that has not learnt it",
    ),
    "zero_variance_share": Watch(
        "zero_variance_share", "max_zero_variance_share", "{share} of the groups of {slice} are all right or all wrong",
        "they have no advantage to learn from: plan nearer to the capability boundary, or draw more samples",
    ),
}  # fmt: skip

#: Slices on which shares are watched; others are figures to look at.
WATCHED_SLICES = ("all", "task_type")
WORKER_OUTLIER = "worker_outlier"


def alerts_of(metrics: Iterable[Mapping[str, Any]], check: Check) -> list[dict[str, Any]]:
    """Rows of gold.alerts (without the round) for the metrics that left their bounds, in order of name and slice.

    Args:
        metrics: rows of gold.round_metrics and gold.worker_metrics; those that nobody watches are passed over.
        check: bounds, and which alerts end the round.
    """
    found: list[dict[str, Any]] = []
    for metric in metrics:
        if metric["value"] is None:
            continue
        if metric["name"] == "worker_z":
            found.extend(_outlier(metric, check))
        elif metric["name"] in WATCHES and metric["slice_kind"] in WATCHED_SLICES:
            found.extend(_exceeded(metric, WATCHES[metric["name"]], check))
    return sorted(found, key=lambda a: (a["name"], a["slice_kind"], a["slice"]))


def _exceeded(metric: Mapping[str, Any], watch: Watch, check: Check) -> list[dict[str, Any]]:
    bound = float(getattr(check, watch.bound))
    if metric["denominator"] < watch.min_denominator or metric["value"] <= bound:
        return []
    where = "the round" if metric["slice_kind"] == "all" else f"{metric['slice_kind']} {metric['slice']}"
    share = f"{metric['numerator']} of {metric['denominator']} ({metric['value']:.1%})"
    message = f"{watch.what.format(share=share, slice=where)}; check.{watch.bound} allows {bound:.1%}: {watch.advice}."
    return [_alert(watch.alert, metric, bound, message, check)]


def _outlier(metric: Mapping[str, Any], check: Check) -> list[dict[str, Any]]:
    if abs(metric["value"]) <= check.worker_z:
        return []
    side = "above" if metric["value"] > 0 else "below"
    message = (
        f"worker {metric['slice']} solved {metric['numerator']} of {metric['denominator']}, {abs(metric['value']):.1f} standard errors {side} the other "
        f"workers on equal task types; check.worker_z allows {check.worker_z:g}: compare its engine version, weights and hardware, and draw its shards again."
    )
    return [_alert(WORKER_OUTLIER, metric, check.worker_z, message, check)]


def _alert(name: str, metric: Mapping[str, Any], bound: float, message: str, check: Check) -> dict[str, Any]:
    return {
        "name": name, "slice_kind": metric["slice_kind"], "slice": metric["slice"], "severity": "block" if name in check.block_on else "warn",
        "value": float(metric["value"]), "bound": bound, "message": message,
    }  # fmt: skip
