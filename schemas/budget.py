"""``control/budget`` of a conversion run: what may still be paid, cut into slices that workers take one by one."""

from __future__ import annotations

from pydantic import Field

from schemas.handoff import FileModel

BUDGET = "control/budget"
#: An allowance is cut into so many slices: what lies unused in the hands of a worker is at most a few of them.
SLICES = 256


class Allowance(FileModel):
    """What the workers of a run may pay together from now on.

    Attributes:
        epoch: names the allowance; slices of an older one are not taken any more.
        nanos: 10^-9 of the currency.
    """

    epoch: str = Field(min_length=1)
    nanos: int = Field(ge=0)

    def slice_nanos(self, ordinal: int) -> int:
        """Size of a slice; all of them make up the allowance exactly."""
        return self.nanos * (ordinal + 1) // SLICES - self.nanos * ordinal // SLICES


def slice_name(epoch: str, ordinal: int) -> str:
    """The file by which a slice is taken."""
    return f"budget/{epoch}/{ordinal:03d}"
