"""What calls cost: a table of prices by model, and sums in whole numbers of 10^-9 of the currency (law 3)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from schemas.conf_convert import TokenPrice

NANOS = 10**9


class Price(TokenPrice):
    """A price as configured, with what calls cost by it."""

    def nanos(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> int:
        """Cost of a call, 10^-9 of the currency, half to even: the same on every machine."""
        cached = self.prompt if self.cached is None else self.cached
        per_million = (
            Decimal(repr(self.prompt)) * (prompt_tokens - cached_tokens)
            + Decimal(repr(cached)) * cached_tokens
            + Decimal(repr(self.completion)) * completion_tokens
        )
        return int((per_million * 1000).to_integral_value(ROUND_HALF_EVEN))


#: Of a model without a price.
FREE = Price(prompt=0.0, completion=0.0)


def prices_of(table: Mapping[str, Mapping[str, Any]] | None) -> dict[str, Price]:
    """The price table of a plan's settings, by model."""
    return {model: Price.model_validate(dict(given)) for model, given in (table or {}).items()}
