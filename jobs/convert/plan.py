"""What a conversion run shall be: engine, models with what names their weights, recipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jobs.handoff.plan import RunSpec
from jobs.handoff.policies import checkpoint_sha256, is_checkpoint
from schemas.conf_convert import STAGES, Chain, Convert
from schemas.ids import content_id
from udfs.conversion.recipe import Recipe
from udfs.extract import VERSION
from udfs.replies.request import OUTPUT_SCHEMA, template_of


@dataclass(frozen=True)
class Conversion:
    """A conversion as the configuration names it.

    Attributes:
        engine: which one.
        settings: of the hand-off's plan; prices are none of the plan's identity.
        identity: what bears on the result.
    """

    engine: str
    settings: dict[str, Any]
    identity: tuple[Any, ...]

    @property
    def chained(self) -> bool:
        """Whether a model is asked, stage by stage."""
        return self.engine != "extractive"

    @property
    def first_stage(self) -> str:
        """The stage that every document comes to."""
        return "filter" if self.chained else "extract"

    def run_spec(self, ingest_id: str, documents: str, convert: Convert, asked: str = "") -> RunSpec:
        """The hand-off run of one ingest.

        Args:
            ingest_id: the ingest.
            documents: fingerprint of its slice of silver.documents.
            convert: settings; a raised budget is another run, which carries what was paid for.
            asked: names the documents that are asked about; empty for all of them.
        """
        budget = [convert.budget] if self.chained and convert.budget else []
        audit = [convert.audit, convert.audit_share] if self.chained and convert.audit else []
        return RunSpec(
            program="convert",
            engine=self.engine,
            fingerprint=content_id("convert", ingest_id, documents, *self.identity, *budget, *audit, *([asked] if asked else [])),
            shard_size=convert.docs_per_shard,
            settings=self.settings,
        )


def conversion_of(convert: Convert) -> Conversion:
    """The conversion of a configuration.

    Raises:
        NoCheckpointError: engine vllm names no checkpoint.
        TemplateError: a prompt is missing or broken.
    """
    if convert.engine == "extractive":
        template = template_of(convert.engine, VERSION, convert.max_items_per_document)
        settings = {"engine_version": VERSION, "template": template, "max_items": convert.max_items_per_document}
        return Conversion(convert.engine, settings, (template, OUTPUT_SCHEMA))
    recipe = _recipe(convert.chain)
    # Each model once: naming a checkpoint reads all of it.
    named = {model: _named(convert.engine, model) for model in sorted({convert.model_of(stage) for stage in STAGES})}
    prices = {name: convert.prices[model] for model, (name, _) in named.items() if model in convert.prices}
    models = {stage: named[convert.model_of(stage)] for stage in STAGES}
    settings = {
        "model": convert.model,
        "models": models,
        "recipe": recipe.to_settings(),
        "prices": {name: price.model_dump(mode="json") for name, price in sorted(prices.items())},
    }
    return Conversion(convert.engine, settings, (convert.engine, models, recipe.to_settings()))


def _recipe(chain: Chain) -> Recipe:
    given = chain.model_dump(mode="json", include={"max_personas", "n_fewshots", "max_chars"})
    drawn = {"generate": {"max_tokens": chain.max_tokens, "temperature": chain.temperature}}
    return Recipe.from_settings({**given, **drawn, **({"domains": chain.domains} if chain.domains else {})})


def _named(engine: str, model: str) -> tuple[str, str]:
    """Name of a model, and what names its weights: the bytes of a checkpoint; nothing where a server keeps them."""
    if engine == "vllm" or (engine == "replay" and is_checkpoint(model)):
        digest = checkpoint_sha256(model, "convert.model")
        return f"weights-{digest[:16]}", digest
    return model, ""
