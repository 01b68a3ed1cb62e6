"""Section [reward] of the configuration as a type: how raw rewards become views (udfs.rewards)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from schemas.conf_section import Positive, Section, Share


class Overlong(Section):
    """Shaping of responses that come near the end of what is allowed."""

    variant: Literal["none", "dapo", "openrlhf", "verl", "truncated"]
    max_tokens: Positive
    buffer_tokens: Positive
    factor: Annotated[float, Field(gt=0.0, allow_inf_nan=False)]

    @model_validator(mode="after")
    def _buffer_fits(self) -> Overlong:
        if self.buffer_tokens > self.max_tokens:
            msg = f"buffer_tokens ({self.buffer_tokens}) exceeds max_tokens ({self.max_tokens})"
            raise ValueError(msg)
        return self


class DynamicSampling(Section):
    """Which groups a trainer should see."""

    band: tuple[Share, Share]
    margin: Share
    weighting: Literal["keep", "variance"]

    @model_validator(mode="after")
    def _band_rises(self) -> DynamicSampling:
        if self.band[0] >= self.band[1]:
            msg = f"band must rise, got {list(self.band)}"
            raise ValueError(msg)
        return self


class Staleness(Section):
    """Truncation of the ratios of re-scored tokens."""

    level: Literal["token", "sequence", "geometric"]
    mode: Literal["truncate", "mask"]
    lower: Annotated[float, Field(ge=0.0, le=1.0)]
    upper: Annotated[float, Field(ge=1.0, le=1000.0)]


class Reward(Section):
    """How raw rewards are aligned, mixed, shaped and compared."""

    alignment: Literal["domain", "group", "range"]
    window_rounds: Positive
    clip: Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
    genrm: Literal["pointwise", "pairwise"]
    unjudged: Literal["verifier", "unknown"]
    framework: Literal["verl", "trl", "openrlhf", "slime", "roll", "areal", "nemo_rl", "prime_rl", "none"]
    format_penalty: Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
    default_alpha: Share
    alpha: dict[str, Share]
    domains: dict[str, Annotated[str, Field(min_length=1)]]
    overlong: Overlong
    sampling: DynamicSampling
    staleness: Staleness

    @model_validator(mode="after")
    def _window_is_of_domains(self) -> Reward:
        if self.window_rounds > 1 and self.alignment != "domain":
            msg = f'window_rounds ({self.window_rounds}) goes with alignment = "domain" alone, got {self.alignment!r}'
            raise ValueError(msg)
        return self
