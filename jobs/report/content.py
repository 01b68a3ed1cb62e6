"""Everything that the page says, as one value; the template only lays it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jobs.config import load_config
from jobs.report import tables
from jobs.report.contrast import Contrast, contrast
from jobs.report.headlines import Headline, headlines
from jobs.report.rounds import RoundFacts, read_rounds
from jobs.report.samples import Sample, read_samples
from jobs.report.solve import Slice, parts_of, rates_by_form, rates_by_type
from jobs.report.spread import Histogram, length_spread, reward_spread
from jobs.views.funnel import Funnel, read_funnel
from jobs.views.reader import LakeReader
from jobs.workspace import Workspace


@dataclass(frozen=True)
class Content:
    """The page as values.

    Attributes:
        round: the reported round, the last of ``rounds``.
        before: the closed round before it.
        contrast: this round against that one; None in a first round.
        parts: parts of the plan that occur in ``by_type`` or ``by_form``, with their titles.
        funnel: sums of the ingests and of this round.
    """

    campaign: str
    round: RoundFacts
    before: RoundFacts | None
    rounds: list[RoundFacts]
    contrast: Contrast | None
    headlines: list[Headline]
    by_type: list[Slice]
    by_form: list[Slice]
    parts: dict[str, str]
    lengths: Histogram
    rewards: Histogram
    reasons: list[dict[str, Any]]
    changes: list[dict[str, Any]]
    alerts: list[dict[str, Any]]
    repairs: list[dict[str, Any]]
    pool: dict[str, int]
    stations: list[dict[str, Any]]
    costs: list[tables.Cost]
    funnel: Funnel
    samples: dict[str, list[Sample]]


def collect(workspace: Workspace, reader: LakeReader, round_no: int) -> Content:
    """Read it all. The round must be closed.

    Raises:
        ConfigError: the workspace's settings are wrong.
    """
    rounds = read_rounds(workspace, reader, round_no)
    now, before = rounds[-1], rounds[-2] if len(rounds) > 1 else None
    against = contrast(workspace, before.round, now.round) if before else None
    by_type, by_form = rates_by_type(reader, round_no), rates_by_form(reader, round_no)
    funnel = read_funnel(workspace, reader, round_no=round_no)
    return Content(
        campaign=now.pin.campaign if now.pin else load_config(workspace.root).campaign.name,
        round=now, before=before, rounds=rounds, contrast=against, headlines=headlines(now, before, against), by_type=by_type, by_form=by_form,
        parts=parts_of([*by_type, *by_form]), lengths=length_spread(reader, round_no), rewards=reward_spread(reader, round_no),
        reasons=tables.plan_reasons(reader, round_no), changes=tables.changes(reader, round_no, before.round) if before else [],
        alerts=tables.alerts(reader, round_no), repairs=tables.repairs(reader, round_no), pool=tables.pool(reader),
        stations=tables.stations(reader, round_no), costs=tables.costs(reader, round_no),
        funnel=funnel, samples=read_samples(reader, round_no),
    )  # fmt: skip
