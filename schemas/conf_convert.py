"""Configuration of conversion: which engine and models, what the chain may do, what it may cost."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field, field_validator, model_validator

from schemas.conf_section import Count, Positive, Section, Share
from schemas.contract import AnswerType

#: Where a document goes that fits no other domain.
OTHER = "other"
Domain = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{1,39}$")]
#: Stages that ask a model.
STAGES = ("filter", "identify", "generate", "check")
Money = Annotated[float, Field(ge=0.0)]


def checked_domains(domains: tuple[str, ...]) -> tuple[str, ...]:
    """The names a document's domain is chosen from.

    Raises:
        ValueError: fewer than ten, one twice, or without a place for what fits nowhere.
    """
    if OTHER not in domains or len(set(domains)) != len(domains) or len(domains) < 10:
        raise ValueError(f"ten domains or more, each once, {OTHER!r} among them, got {list(domains)}")
    return domains


class TokenPrice(Section):
    """Money for a million tokens of a model.

    Attributes:
        prompt: of the prompt.
        completion: of what was drawn.
        cached: of the part of the prompt that came from a cache of prefixes; None: as the rest of it.
    """

    prompt: Money
    completion: Money
    cached: Money | None = None


class Chain(Section):
    """What the chain of a model's conversion asks; :class:`udfs.conversion.recipe.Recipe` says the rest."""

    domains: tuple[Domain, ...]
    max_personas: Annotated[int, Field(ge=1, le=16)]
    n_fewshots: Annotated[int, Field(ge=0, le=8)]
    max_chars: Annotated[int, Field(ge=200, le=1_000_000)]
    temperature: Annotated[float, Field(ge=0.0, le=2.0)]
    max_tokens: Annotated[int, Field(ge=16, le=65_536)]

    @field_validator("domains")
    @classmethod
    def _domains_are_sound(cls, domains: tuple[str, ...]) -> tuple[str, ...]:
        return checked_domains(domains) if domains else domains  # none: the recipe's own


class Quotas(Section):
    """How many tasks are wished for, and how many documents a step of conversion may ask about; :mod:`udfs.conversion.quotas` shares them out."""

    per_cell: Count
    documents: Positive
    cells: tuple[str, ...]

    @model_validator(mode="after")
    def _cells_are_sound(self) -> Quotas:
        types = get_args(AnswerType)
        wrong = [cell for cell in self.cells if not cell.rpartition("/")[0] or cell.rpartition("/")[2] not in types]
        if wrong or len(set(self.cells)) != len(self.cells):
            raise ValueError(f"cells: each once, 'domain/answer_type' of {', '.join(types)}, got {wrong or list(self.cells)}")
        return self


class Convert(Section):
    """Conversion through the hand-off."""

    engine: Literal["extractive", "openai", "vllm", "replay"]
    model: str
    models: dict[str, str]
    docs_per_shard: Positive
    max_items_per_document: Positive
    budget: Money
    prices: dict[str, TokenPrice]
    audit: str
    audit_share: Share
    chain: Chain
    quotas: Quotas

    @model_validator(mode="after")
    def _models_are_named(self) -> Convert:
        unknown = sorted(set(self.models) - set(STAGES))
        if unknown:
            raise ValueError(f"models: no stage is called {', '.join(unknown)}; allowed: {', '.join(STAGES)}")
        if self.engine != "extractive" and not self.model:
            raise ValueError(
                f"engine = {self.engine!r} needs model: the name at the server (openai), a checkpoint's directory (vllm), the one to replay (replay)"
            )
        if self.engine == "vllm" and self.models:
            raise ValueError("models: a vllm worker holds one model; serve several behind an OpenAI-compatible server")
        return self

    @model_validator(mode="after")
    def _a_budget_can_be_kept(self) -> Convert:
        unpriced = sorted({self.model_of(stage) for stage in STAGES} - set(self.prices))
        if self.budget > 0.0 and self.engine != "extractive" and unpriced:
            raise ValueError(f"budget = {self.budget} needs prices of every model that is asked; none of {', '.join(unpriced)}")
        return self

    def model_of(self, stage: str) -> str:
        """Which model a stage asks."""
        return self.models.get(stage, self.model)
