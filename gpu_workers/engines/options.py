"""Options of an engine on this machine: ``--engine-option KEY=VALUE``, checked all at once before anything is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from gpu_workers.errors import RefusedRunError
from schemas.errors import wrong_fields


class EngineOptions(BaseModel):
    """What every engine knows.

    Attributes:
        in_flight: draws that the engine is given at once.
        stall_seconds: an engine from which nothing comes for so long hangs, and ends its worker.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    in_flight: int = 64
    stall_seconds: float = 600.0


Options = TypeVar("Options", bound=EngineOptions)


def read_options(kind: type[Options], engine: str, given: Mapping[str, object]) -> Options:
    """The options of an engine.

    Raises:
        RefusedRunError: options that it does not have, lack, or that are of another type; all of them are named.
    """
    try:
        return kind.model_validate(dict(given))
    except ValidationError as error:
        wrong = wrong_fields(error, "options")
        raise RefusedRunError(f"engine {engine}: {wrong}. It has the options {', '.join(kind.model_fields)}.") from None
