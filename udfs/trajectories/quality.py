"""The quality of each trajectory of one group: what is odd about it, and whether it may be used.

A state speaks of *use as data* (supervised rows, preference pairs), never of the reward: an empty response keeps its 0, and
counts in every solve rate. ``rejected`` is not used; ``flagged`` is usable but odd; ``accepted`` showed nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from schemas.ids import canonical_json
from udfs.text.normalise import normalise, squeeze
from udfs.trajectories.copying import Source, copied_share
from udfs.trajectories.rewards import reward_fault

#: Findings that keep a trajectory from being used, the gravest first.
REJECTING = ("no_reward", "bad_reward", "bad_tokens", "empty_response", "copied_prompt")
#: Findings that leave it usable, the gravest first.
FLAGGING = ("truncated", "bad_format", "multiple_answers", "abnormal_length", "duplicate_response")


@dataclass(frozen=True, slots=True)
class Component:
    """One reward row of a trajectory, as stored."""

    name: str
    value: float | None
    verdict: str
    is_outcome: bool
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One trajectory as the checks see it.

    Attributes:
        trajectory_id: names it.
        sample_index: its place in the group.
        response: what was said; None where the generation failed.
        outcome: outcome_reward of silver.trajectories.
        status: status of silver.trajectories.
        failure_class: likewise.
        rewards: its reward rows.
        length: tokens of the response; None where unknown.
        median: median of the lengths of its form in this round; None where unknown.
        token_fault: which invariant of silver.tokens it breaks; None where none.
    """

    trajectory_id: str
    sample_index: int
    response: str | None
    outcome: float | None
    status: str
    failure_class: str | None
    rewards: tuple[Component, ...]
    length: int | None
    median: int | None
    token_fault: str | None


@dataclass(frozen=True, slots=True)
class QualityVerdict:
    """One row of silver.trajectory_verdicts, without the round."""

    trajectory_id: str
    state: str
    reason: str
    flags: tuple[str, ...]
    failure_class: str | None
    evidence: str


@dataclass(slots=True)
class _Findings:
    found: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, name: str, **evidence: Any) -> None:
        self.found[name] = evidence


def judge_group(attempts: Sequence[Attempt], source: Source, *, length_factor: float) -> list[QualityVerdict]:
    """Verdicts of all trajectories of one group, in order of sample_index and id.

    Args:
        attempts: all trajectories of the group.
        source: what its prompt holds that could be copied.
        length_factor: a response longer than this times the median of its form is abnormal (conf: check.length_factor).
    """
    first: dict[str, str] = {}
    verdicts: list[QualityVerdict] = []
    for attempt in sorted(attempts, key=lambda a: (a.sample_index, a.trajectory_id)):
        findings = _Findings()
        _check_reward(attempt, findings)
        _check_response(attempt, source, findings)
        _check_form(attempt, length_factor, findings)
        if attempt.response is not None and attempt.response.strip():
            key = squeeze(normalise(attempt.response))
            original = first.setdefault(key, attempt.trajectory_id)
            if original != attempt.trajectory_id:
                findings.add("duplicate_response", of=original)
        verdicts.append(_verdict(attempt, findings.found))
    return verdicts


def _check_reward(attempt: Attempt, findings: _Findings) -> None:
    outcomes = [r for r in attempt.rewards if r.is_outcome]
    faults = {r.name: fault for r in attempt.rewards if (fault := reward_fault(r.value, r.verdict)) is not None}
    if len(outcomes) != 1:
        faults["outcome"] = "missing" if not outcomes else "several"
    elif outcomes[0].value != attempt.outcome and not faults:
        faults["outcome"] = "differs_from_trajectory"
    if faults:
        findings.add("bad_reward", faults=faults)
    if attempt.outcome is None:
        findings.add("no_reward", verdict=outcomes[0].verdict if outcomes else None, failure_class=attempt.failure_class)


def _check_response(attempt: Attempt, source: Source, findings: _Findings) -> None:
    if attempt.token_fault is not None:
        findings.add("bad_tokens", fault=attempt.token_fault)
    if attempt.response is None:
        return
    if not attempt.response.strip():
        findings.add("empty_response")
        return
    share = copied_share(attempt.response, source)
    if share is not None:
        findings.add("copied_prompt", share=round(share, 6))


def _check_form(attempt: Attempt, length_factor: float, findings: _Findings) -> None:
    if attempt.status == "truncated":
        findings.add("truncated", length=attempt.length)
    broken = sorted(r.name for r in attempt.rewards if r.verdict == "unparsable_pred" or (r.name == "format" and r.value == 0.0))
    if broken:
        findings.add("bad_format", rewards=broken)
    if any("multiple_answers" in r.flags for r in attempt.rewards):
        findings.add("multiple_answers")
    if attempt.length is not None and attempt.median is not None and attempt.length > length_factor * attempt.median:
        findings.add("abnormal_length", length=attempt.length, median=attempt.median, factor=length_factor)


def _verdict(attempt: Attempt, found: dict[str, dict[str, Any]]) -> QualityVerdict:
    reason = next((name for name in (*REJECTING, *FLAGGING) if name in found), "accepted")
    state = "rejected" if reason in REJECTING else "flagged" if reason in FLAGGING else "accepted"
    return QualityVerdict(attempt.trajectory_id, state, reason, tuple(sorted(found)), attempt.failure_class, canonical_json(found))
