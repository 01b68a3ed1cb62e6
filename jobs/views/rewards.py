"""rewards: what a round's raw rewards become (aligned, composed, shaped, advantages, ratios), as a view. No JVM, nothing stored.

The arithmetic is in ``udfs.rewards``; here the tables are read and the columns put beside each other. Every row carries the view's version
and a hash of the settings, so that two files say whether they may be compared.
"""

from __future__ import annotations

from dataclasses import dataclass

from jobs.lake.errors import MissingInputError
from jobs.views.reader import LakeReader
from jobs.views.reward_inputs import RoundRows, read_round
from jobs.views.reward_ratios import Ratios, round_ratios
from jobs.workspace import Workspace
from schemas.conf_reward import Reward as Settings
from schemas.ids import content_id
from udfs.rewards.composition import VIEW
from udfs.rewards.round import Composed, Earlier, compose_round, merged, moments_of
from udfs.rewards.staleness import Bounds


@dataclass(frozen=True)
class RoundRewards:
    """The view over one round.

    Attributes:
        round: which.
        view: ``rewards@version``.
        settings_id: content_id of section [reward].
        settings: that section.
        window: rounds whose rows made the moments of domains, in order.
        rows: what was read.
        composed: what was made of it.
        ratios: staleness; None where nothing of the round was re-scored.
    """

    round: int
    view: str
    settings_id: str
    settings: Settings
    window: tuple[int, ...]
    rows: RoundRows
    composed: Composed
    ratios: Ratios | None


def read_rewards(workspace: Workspace, round_no: int, settings: Settings, against: str | None = None) -> RoundRewards:
    """The view over one round.

    Args:
        workspace: where.
        round_no: a round whose rollouts are ingested.
        settings: section [reward].
        against: checkpoint under which tokens were re-scored; the one with the newest weights where left out.

    Raises:
        NoLakeError: the workspace holds no lake.
        MissingInputError: the round has no trajectories.
        UnknownScorerError: ``against`` re-scored nothing of the round.
    """
    reader = LakeReader.open(workspace)
    rows = read_round(reader, round_no, settings)
    before = _earlier(reader, round_no, settings)
    limits = settings.staleness
    bounds = Bounds(limits.lower, limits.upper, limits.level, limits.mode)
    composed = compose_round(rows.raw, settings, merged([moments for _, moments in before]))
    ratios = round_ratios(reader, round_no, rows.facts, bounds, against)
    identity = content_id(VIEW, settings.model_dump(mode="json"))
    return RoundRewards(round_no, VIEW, identity, settings, (*(number for number, _ in before), round_no), rows, composed, ratios)


def _earlier(reader: LakeReader, round_no: int, settings: Settings) -> list[tuple[int, Earlier]]:
    """Moments of the window's earlier rounds; a round without rollouts adds nothing."""
    found = []
    for number in range(max(1, round_no - settings.window_rounds + 1), round_no):
        try:
            found.append((number, moments_of(read_round(reader, number, settings).raw, settings)))
        except MissingInputError:
            continue
    return found
