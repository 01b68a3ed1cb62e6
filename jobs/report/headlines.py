"""The few figures that a reader takes away, each with its change to the round before."""

from __future__ import annotations

from dataclasses import dataclass, replace

from jobs.report import marks
from jobs.report.contrast import Contrast
from jobs.report.rounds import RoundFacts


@dataclass(frozen=True)
class Headline:
    """One figure, written out.

    Attributes:
        value: as shown.
        note: what it is made of.
        change: to the round before; None where that round has no such figure, or there is none.
        leading: shown larger.
    """

    label: str
    value: str
    note: str
    change: str | None
    leading: bool = False


def headlines(now: RoundFacts, before: RoundFacts | None, contrast: Contrast | None) -> list[Headline]:
    """The figures of a round, the two scores first; the change of the held-out score only where both rounds asked the same."""
    found = [_held_out(now, before, contrast), _rate("Training solve rate", "train", now, before)]
    if "eval_collected" in now.rates:
        found.append(_rate("Collected failures solved", "eval_collected", now, before))
    found.append(_teaching(now, before))
    samples = marks.count(now.figures.get("samples"))
    for label, key, note in (
        ("Samples accepted", "accepted_share", "without any flag"),
        ("Rewards unknown", "null_reward_share", "the infrastructure’s or the gold’s fault"),
    ):
        change = _change(now.figures.get(key), before.figures.get(key) if before else None, before, points=True)
        found.append(Headline(label, marks.share(now.figures.get(key)), f"of {samples} samples; {note}", change))
    for label, key, note in (
        ("Tasks asked", "tasks", f"in {marks.count(now.counts.get('prompts', 0))} prompts"),
        ("Rows for supervised training", "sft", f"and {marks.count(now.counts.get('preferences', 0))} preference pairs"),
    ):
        change = _change(now.counts.get(key, 0), before.counts.get(key, 0) if before else None, before, points=False)
        found.append(Headline(label, marks.count(now.counts.get(key, 0)), note, change))
    return found


def _held_out(now: RoundFacts, before: RoundFacts | None, contrast: Contrast | None) -> Headline:
    plain = _rate("Held-out solve rate", "eval_fixed", now, before)
    if before is None or contrast is None or now.held_out is None:
        return plain
    if contrast.found is None:
        return replace(plain, change=f"cannot be compared with round {before.round}")
    change, low, high = (getattr(contrast.found.fixed.difference, name) for name in ("estimate", "low", "high"))
    if change is None:
        return plain
    said = _change(change, 0.0, before, points=True)
    return replace(
        plain, change=f"{said} (95 % interval {marks.points(low)} to {marks.points(high)})" if low is not None and low != high else said
    )


def _rate(label: str, part: str, now: RoundFacts, before: RoundFacts | None) -> Headline:
    rate, previous = now.rates.get(part), before.rates.get(part) if before else None
    if rate is None or rate.known.rate is None:
        return Headline(label, marks.NONE, "no sample with a known reward", None, leading=True)
    known = rate.known
    note = f"95 % interval {marks.bounds(known.interval)}; {known.k:,} of {known.n:,} samples on {rate.prompts:,} prompts"
    change = _change(known.rate, previous.known.rate if previous else None, before, points=True)
    return Headline(label, marks.share(known.rate), note, change, leading=True)


def _teaching(now: RoundFacts, before: RoundFacts | None) -> Headline:
    rate, label = now.train, "Prompts that can teach"
    if rate is None:
        return Headline(label, marks.NONE, "no training prompts", None)
    note = f"{rate.mixed:,} of {rate.prompts:,} training prompts solved sometimes, not always"
    old = before.train.mixed_share if before and before.train else None
    return Headline(label, marks.share(rate.mixed_share), note, _change(rate.mixed_share, old, before, points=True))


def _change(new: float | None, old: float | None, before: RoundFacts | None, *, points: bool) -> str | None:
    """The difference in words: in points of a per cent, or as a count."""
    if new is None or old is None or before is None:
        return None
    if points:
        said = marks.points(new - old)
        return f"as in round {before.round}" if said == "0.0" else f"{said} points on round {before.round}"
    return f"{new - old:+,.0f}".replace("-", "−") + f" on round {before.round}" if new != old else f"as in round {before.round}"
