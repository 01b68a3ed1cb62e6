"""The round against the one before: scores paired by cluster, and what lies between, as ``verilake compare`` has them."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.views.changes import LIST, Change
from jobs.views.compare import Comparison, compare
from jobs.workspace import Workspace
from schemas.errors import VerilakeError


@dataclass(frozen=True)
class Contrast:
    """A comparison, or why there is none.

    Attributes:
        found: None where it was refused.
        refusal: why, in the words of ``verilake compare``.
    """

    found: Comparison | None
    refusal: str | None


def contrast(workspace: Workspace, before: int, now: int) -> Contrast:
    """Compare two closed rounds. A refusal (other held-out sets, above all) is something to report, not a failure of the report."""
    try:
        return Contrast(compare(workspace, before, now), None)
    except VerilakeError as error:
        return Contrast(None, str(error))


def sides(change: Change) -> tuple[str, str]:
    """What a fact or setting lost and gained; of a list the parts that both sides have are left out."""
    before, after = ((value or "").split(LIST) if value else [] for value in (change.before, change.after))
    went = [part for part in before if part not in after]
    came = [part for part in after if part not in before]
    return LIST.join(went), LIST.join(came)
