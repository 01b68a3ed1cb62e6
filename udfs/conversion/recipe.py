"""What bears on the result of a conversion: domains, bounds, sampling, and the versions of prompts and rules."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from schemas.conf_convert import OTHER, Domain, checked_domains
from schemas.errors import VerilakeError, wrong_fields
from schemas.ids import content_id
from udfs.conversion.fewshots import fewshots_hash
from udfs.prompts.templates import load

#: Version of the rules of the chain that no template shows: windows, evidence, contracts, arithmetic. A change that can alter a result raises it.
RULES_VERSION = "1"
#: Template of each stage that asks.
TEMPLATES = {
    "filter": "convert_filter",
    "identify": "convert_identify",
    "generate": "convert_generate",
    "check": "convert_check",
}
DOMAINS = (
    "mathematics", "natural_science", "technology", "programming", "medicine", "social_science", "history", "politics_and_law", "economics",
    "arts_and_culture", "geography_and_travel", "education", "everyday_life", OTHER,
)  # fmt: skip


class RecipeError(VerilakeError):
    """Settings that are no recipe, or one for other prompts or rules than are here."""

    exit_code = 2

    @classmethod
    def from_invalid(cls, error: ValidationError) -> RecipeError:
        """Every field that is wrong."""
        return cls(f"conversion settings: {wrong_fields(error, 'settings')}.")


@lru_cache(maxsize=1)
def current_versions() -> dict[str, str]:
    """Versions of everything in the code that bears on a conversion: label of each template, few-shots and rules -> hash."""
    templates = [load(name) for name in TEMPLATES.values()]
    return {t.label: content_id(t.system, t.text) for t in templates} | {"fewshots": fewshots_hash(), "rules": RULES_VERSION}


class Sampling(BaseModel):
    """How one stage draws: ``max_tokens`` at most, at ``temperature`` (0 is greedy)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_tokens: int = Field(ge=16, le=65_536)
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)


class Recipe(BaseModel):
    """How documents are converted. Two equal recipes and equal replies give equal results.

    Attributes:
        domains: names a document's domain is chosen from; ``other`` is one of them.
        max_personas: readers of a document for whom a question is asked for, at most.
        n_fewshots: examples shown to the generator.
        max_chars: code points of a document that one call shows; of longer ones the personas see different passages.
        filter, identify, generate, check: sampling of each stage.
        versions: of templates, few-shots and rules; those of this code.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    domains: tuple[Domain, ...] = DOMAINS
    max_personas: int = Field(default=3, ge=1, le=16)
    n_fewshots: int = Field(default=2, ge=0, le=8)
    max_chars: int = Field(default=8000, ge=200, le=1_000_000)
    filter: Sampling = Sampling(max_tokens=256)
    identify: Sampling = Sampling(max_tokens=256)
    generate: Sampling = Sampling(max_tokens=1024, temperature=0.7)
    check: Sampling = Sampling(max_tokens=320)
    versions: Mapping[str, str] = Field(default_factory=current_versions)

    @field_validator("domains")
    @classmethod
    def _domains_are_sound(cls, domains: tuple[str, ...]) -> tuple[str, ...]:
        return checked_domains(domains)

    @field_validator("versions")
    @classmethod
    def _versions_are_ours(cls, versions: Mapping[str, str]) -> Mapping[str, str]:
        ours = current_versions()
        if differing := sorted(name for name in {*ours, *versions} if ours.get(name) != versions.get(name)):
            msg = f"this code has other prompts or rules: {', '.join(differing)}; run planner and worker from one release"
            raise ValueError(msg)
        return versions

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """The recipe of a hand-off plan's settings; what they leave out is as by default.

        Raises:
            RecipeError: unknown or wrong settings (all of them at once), or versions that are not this code's.
        """
        try:
            return cls.model_validate(dict(settings))
        except ValidationError as error:
            raise RecipeError.from_invalid(error) from None

    def to_settings(self) -> dict[str, Any]:
        """The recipe as JSON values, whole."""
        return self.model_dump(mode="json")

    @property
    def recipe_hash(self) -> str:
        """Hash over everything in it: equal hashes, equal results of equal replies."""
        return content_id("recipe", self.to_settings())

    def __hash__(self) -> int:
        return hash((self.domains, self.max_personas, self.n_fewshots, self.max_chars))

    def sampling(self, stage: str) -> Sampling:
        """Sampling of a stage that asks."""
        found: Sampling = getattr(self, stage)
        return found
