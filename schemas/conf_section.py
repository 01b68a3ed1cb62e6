"""What every table of the configuration is, and the bounds that many values share."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A table of the TOML file: unknown keys are errors, values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True)
