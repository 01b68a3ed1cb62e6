"""The chain filter -> identify -> generate -> evidence -> check over one document."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial

from udfs.conversion.ask import Ask, AskingStage, Chain, Conversion, Document, Reply, Stage, StageState, State
from udfs.conversion.asking import PASSED, Outcome, asked
from udfs.conversion.passage import Passage
from udfs.conversion.prompts import Stages, shown_passage, stages_of
from udfs.conversion.readings import (
    CHECK_VERDICTS,
    FILTER_VERDICTS,
    Generated,
    Identified,
    read_generated,
    read_identified,
    read_verdicts,
)
from udfs.conversion.recipe import Recipe
from udfs.conversion.rows import Candidate, Siblings
from udfs.conversion.windows import Window, head_window, spread_windows

#: The generator found no question to ask for this reader.
DECLINED = "declined"
#: The identifier names nobody who would ask.
NO_PERSONA = "no_persona"


def convert(document: Document, recipe: Recipe) -> Chain:
    """Convert one document. A pure function of document, recipe and replies; see ``udfs.conversion.ask`` for how it is driven.

    Args:
        document: its text may be of any length, also empty: the filter is asked in any case.
        recipe: how.

    Raises:
        ValueError: it was sent another number of replies than it asked for.
    """
    return _Converting(document, recipe).run()


class _Converting:
    """One document on its way; every method notes the states of one stage."""

    def __init__(self, document: Document, recipe: Recipe) -> None:
        self._document = document
        self._recipe = recipe
        self._stages: Stages = stages_of(recipe)
        self._states: list[StageState] = []
        self._items: list[Candidate] = []
        self._domain: str | None = None
        self._personas: tuple[str, ...] = ()

    def run(self) -> Chain:
        head = shown_passage(head_window(self._document.text, self._recipe.max_chars).text, self._document.title)
        if (yield from self._filter(head)) and (yield from self._identify(head)):
            windows = spread_windows(self._document.text, len(self._personas), self._recipe.max_chars)
            shown = self._shown(windows, head)
            made = yield from self._generate(windows, shown)
            yield from self._check(self._prove(made, windows), shown)
        return Conversion(tuple(self._states), tuple(item.row(self._domain or "") for item in self._items))

    def _shown(self, windows: tuple[Window, ...], head: str) -> list[str]:
        """Each passage as it is shown; the head is quoted already."""
        return [head if window.offset == 0 else shown_passage(window.text, self._document.title) for window in windows]

    def _filter(self, head: str) -> Generator[Sequence[Ask], Sequence[Reply], bool]:
        (outcome,) = yield from asked([self._stages.filter(head)], [lambda reply: read_verdicts(reply, FILTER_VERDICTS)])
        return self._note_verdict("filter", 0, outcome)

    def _identify(self, head: str) -> Generator[Sequence[Ask], Sequence[Reply], bool]:
        (outcome,) = yield from asked([self._stages.identify(head)], [lambda reply: read_identified(reply, self._recipe)])
        found: Identified | None = outcome.value
        if found is None:
            self._note("identify", 0, outcome.state, outcome.reason)
            return False
        self._domain, self._personas = found.domain, found.personas
        self._note("identify", 0, *(("passed", PASSED) if found.personas else ("rejected", NO_PERSONA)))
        return bool(found.personas)

    def _generate(
        self, windows: tuple[Window, ...], shown: list[str]
    ) -> Generator[Sequence[Ask], Sequence[Reply], list[tuple[int, Generated]]]:
        domain = self._domain or ""
        examples = self._stages.examples(domain, self._document.doc_id)
        asks = [self._stages.generate(shown[i], examples, i, domain, persona) for i, persona in enumerate(self._personas)]
        outcomes = yield from asked(asks, [partial(read_generated, passage=window.text) for window in windows])
        made: list[tuple[int, Generated]] = []
        for i, outcome in enumerate(outcomes):
            value = outcome.value
            if value is None:
                self._note("generate", i, outcome.state, outcome.reason)
            elif value.declined:
                self._note("generate", i, "rejected", DECLINED)
            else:
                self._note("generate", i, "passed", PASSED, item=len(made))
                made.append((i, value))
        return made

    def _prove(self, made: list[tuple[int, Generated]], windows: tuple[Window, ...]) -> list[tuple[int, int]]:
        """(ordinal, item) of the candidates that their evidence proves."""
        siblings = Siblings()
        passages = {window.offset: Passage(window.text, window.offset) for window in windows}
        proved = []
        for item, (i, generated) in enumerate(made):
            candidate = siblings.candidate(generated, passages[windows[i].offset])
            self._items.append(candidate)
            self._note("evidence", i, "rejected" if candidate.reason else "passed", candidate.reason or PASSED, item=item)
            if candidate.reason is None:
                proved.append((i, item))
        return proved

    def _check(self, proved: list[tuple[int, int]], shown: list[str]) -> Generator[Sequence[Ask], Sequence[Reply], None]:
        asks = []
        for i, item in proved:
            held = self._items[item]
            asks.append(
                self._stages.check(
                    shown[i], held.made.question, held.shown_answer(), ordinal=i, domain=self._domain, persona=self._personas[i]
                )
            )
        outcomes = yield from asked(asks, [lambda reply: read_verdicts(reply, CHECK_VERDICTS)] * len(asks))
        for (i, item), outcome in zip(proved, outcomes, strict=True):
            if not self._note_verdict("check", i, outcome, item=item):
                reason = outcome.value or f"check_{outcome.state}"
                self._items[item] = replace(self._items[item], reason=reason)

    def _note_verdict(self, stage: AskingStage, ordinal: int, outcome: Outcome[str], *, item: int | None = None) -> bool:
        """Note a stage that judges; whether it lets pass."""
        if outcome.value is None:
            self._note(stage, ordinal, outcome.state, outcome.reason, item=item)
        else:
            self._note(stage, ordinal, "passed" if outcome.value == PASSED else "rejected", outcome.value, item=item)
        return outcome.value == PASSED

    def _note(self, stage: Stage, ordinal: int, state: State, reason: str, *, item: int | None = None) -> None:
        persona = self._personas[ordinal] if stage in ("generate", "evidence", "check") else None
        label = self._stages.labels.get(stage)
        self._states.append(StageState(stage, ordinal, state, reason, self._domain, persona, label, item))
