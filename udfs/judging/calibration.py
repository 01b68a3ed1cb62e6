"""How far the checking model can be trusted: what it said about items whose truth is known, and whether that has changed.

The checker is looked at as a detector of bad items. Of bad items, ``recall`` is the share it rejects; of the items it rejects, ``precision``
is the share that is bad; ``pass_rate`` is the share of good items that it lets pass. No readable reply counts as a rejection: conversion
fails closed. Intervals are Wilson's at 95 %.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from udfs.stats.wilson import wilson


@dataclass(frozen=True, slots=True)
class Share:
    """k of n with its interval; ``value`` is None where n is 0."""

    k: int
    n: int

    @property
    def value(self) -> float | None:
        """K / n."""
        return self.k / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, 95 %; [0, 1] where n is 0."""
        return wilson(self.k, self.n) if self.n else (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Figures of one checker over some audits."""

    recall: Share
    precision: Share
    pass_rate: Share

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> Calibration:
        """From rows of silver.judge_audits."""
        counts = {(label, rejected): 0 for label in ("good", "bad") for rejected in (True, False)}
        for row in rows:
            counts[row["label"], row["verdict"] != "passed"] += 1
        caught, missed, wronged, passed = counts["bad", True], counts["bad", False], counts["good", True], counts["good", False]
        return cls(Share(caught, caught + missed), Share(caught, caught + wronged), Share(passed, passed + wronged))


def drifted(before: Share, now: Share) -> bool:
    """Whether two shares differ beyond what chance explains: their intervals do not meet."""
    if not before.n or not now.n:
        return False
    (low, high), (least, most) = before.interval, now.interval
    return most < low or least > high


def judge_alerts(
    audits: Sequence[Mapping[str, Any]], order: Sequence[str], *, min_recall: float, min_pass_rate: float
) -> list[dict[str, Any]]:
    """Rows of gold.alerts, without round and severity, about every checker that was audited.

    Args:
        audits: rows of silver.judge_audits of all conversions.
        order: ingests in the order in which they came; the last one with audits of a checker is held against those before.
        min_recall: of bad items, the share that must be rejected; an alert where the whole interval lies below.
        min_pass_rate: likewise of good items that must pass.
    """
    place = {ingest: at for at, ingest in enumerate(order)}
    checkers: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in audits:
        checkers.setdefault((row["model"] or "", row["template"]), []).append(row)
    alerts: list[dict[str, Any]] = []
    for (model, template), rows in sorted(checkers.items()):
        newest = max((row["ingest_id"] for row in rows), key=lambda ingest: (place.get(ingest, -1), ingest))
        now = Calibration.of(row for row in rows if row["ingest_id"] == newest)
        before = Calibration.of(row for row in rows if row["ingest_id"] != newest)
        checker = f"{model} {template}".strip()
        bounds = (
            ("recall", now.recall, min_recall, "rejects {k} of {n} items known to be bad"),
            ("pass_rate", now.pass_rate, min_pass_rate, "lets {k} of {n} items known to be good pass"),
        )
        for name, share, bound, said in bounds:
            if share.n and share.interval[1] < bound:
                alerts.append(
                    _alert(
                        f"judge_{name}",
                        checker,
                        share,
                        bound,
                        f"the checker {checker} {said.format(k=share.k, n=share.n)}: fewer than the {bound:.0%} that conf asks for",
                    )
                )
        for name in ("recall", "pass_rate"):
            was, is_now = getattr(before, name), getattr(now, name)
            if drifted(was, is_now):
                alerts.append(
                    _alert(
                        "judge_drift",
                        f"{checker} {name}",
                        is_now,
                        was.k / was.n,
                        f"{name} of the checker {checker} was {was.k} of {was.n} and is {is_now.k} of {is_now.n} in ingest {newest[:12]}: the model behind the name may have changed",
                    )
                )
    return alerts


def _alert(name: str, checker: str, share: Share, bound: float, message: str) -> dict[str, Any]:
    return {
        "name": name, "slice_kind": "judge", "slice": checker, "value": share.k / share.n, "bound": bound,
        "message": f"{message}. Look at silver.judge_audits; convert again with another checker (convert.models) if it is so",
    }  # fmt: skip
