"""The calls of the chain: what each stage shows, every piece of corpus or model text between fences that it cannot close."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from udfs.conversion.ask import Ask, AskingStage
from udfs.conversion.fewshots import shown_fewshots
from udfs.conversion.readings import schemas_of
from udfs.conversion.recipe import TEMPLATES, Recipe
from udfs.extract.candidate import one_line
from udfs.prompts.passages import quote
from udfs.prompts.templates import Template, load

#: Longest title shown, in code points.
MAX_TITLE = 300
#: Said where a call is asked again: a greedy engine would repeat itself otherwise. Nothing of the reply is shown again.
REMINDER = "\nAn earlier reply was not the one JSON object that is asked for, with these fields alone and every backslash doubled.\n"


class Stages:
    """Templates, schemas and sampling of one recipe, made once."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.templates: Mapping[str, Template] = {stage: load(name) for stage, name in TEMPLATES.items()}
        self.labels = {stage: template.label for stage, template in self.templates.items()}
        schemas = schemas_of(recipe)
        drawn = {stage: recipe.sampling(stage) for stage in TEMPLATES}
        self._drawn = {
            stage: (self.templates[stage], schemas[stage], drawn[stage].max_tokens, drawn[stage].temperature) for stage in TEMPLATES
        }
        self._domains = ", ".join(recipe.domains)

    def ask(
        self,
        stage: AskingStage,
        values: Mapping[str, str],
        *,
        ordinal: int = 0,
        domain: str | None = None,
        persona: str | None = None,
    ) -> Ask:
        """The first call of a stage."""
        template, schema, max_tokens, temperature = self._drawn[stage]
        return Ask(stage, ordinal, 0, template, {**values, "reminder": ""}, schema, max_tokens, temperature, domain, persona)

    def filter(self, shown: str) -> Ask:
        """Is the text worth converting? ``shown`` is quoted."""
        return self.ask("filter", {"passage": shown})

    def identify(self, shown: str) -> Ask:
        """Its domain and readers."""
        return self.ask("identify", {"passage": shown, "domains": self._domains, "count": str(self.recipe.max_personas)})

    def examples(self, domain: str, doc_id: str) -> str:
        """The few-shots of one document, the same for all its readers: engines keep what prompts have in common."""
        return shown_fewshots(domain, doc_id, self.recipe.n_fewshots)

    def generate(self, shown: str, examples: str, ordinal: int, domain: str, persona: str) -> Ask:
        """A question of one reader."""
        values = {"passage": shown, "examples": examples, "persona": quote(persona)}
        return self.ask("generate", values, ordinal=ordinal, domain=domain, persona=persona)

    def check(
        self, shown: str, question: str, answer: str, *, ordinal: int = 0, domain: str | None = None, persona: str | None = None
    ) -> Ask:
        """Does the passage prove the answer? Neither domain nor reader is shown."""
        values = {"passage": shown, "question": quote(question), "answer": quote(answer)}
        return self.ask("check", values, ordinal=ordinal, domain=domain, persona=persona)


def again(ask: Ask) -> Ask:
    """The same call, asked a second time because the first reply could not be read."""
    values = {**ask.values, "reminder": REMINDER}
    return Ask(ask.stage, ask.ordinal, 1, ask.template, values, ask.schema, ask.max_tokens, ask.temperature, ask.domain, ask.persona)


def shown_passage(passage: str, title: str | None) -> str:
    """A passage as every stage shows it: quoted, below its document's title unless it begins with that."""
    heading = one_line(title or "")[:MAX_TITLE]
    return quote(passage if not heading or passage.lstrip().startswith(heading) else f"{heading}\n\n{passage}")


@lru_cache(maxsize=16)
def stages_of(recipe: Recipe) -> Stages:
    """The stages of a recipe; made once for each."""
    return Stages(recipe)
