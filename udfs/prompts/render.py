"""One task in one form: a row of gold.prompts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from schemas.code import CodeContract
from schemas.conf import Form
from schemas.contract import AnswerContract
from schemas.ids import canonical_json, content_id
from udfs.prompts.leaks import given_away
from udfs.prompts.options import one_line, sound_options
from udfs.prompts.passages import quote
from udfs.prompts.templates import Template, load

_MODES: dict[Form, str] = {"answer_only": "closed_book", "reason_then_answer": "closed_book", "choice": "choice", "open_book": "open_book"}


def prompt_row(
    task: Mapping[str, Any],
    template: Template,
    text: str,
    *,
    form: str,
    context_mode: str,
    contract: AnswerContract | CodeContract,
    context: str | None = None,
    options: Sequence[str] = (),
) -> dict[str, Any]:
    """A row of gold.prompts for a rendered text.

    Args:
        task: row of gold.tasks.
        template: what it was rendered from.
        text: user message.
        form: form of the prompt.
        context_mode: closed_book, open_book or choice.
        contract: what this form is graded by.
        context: passage, as contained in ``text``.
        options: texts of a choice.
    """
    return {
        "prompt_id": content_id(task["task_id"], task["version"], template.label, context_mode, text),
        "origin": task["origin"],
        "task_id": task["task_id"],
        "task_version": task["version"],
        "form": form,
        "template": template.label,
        "context_mode": context_mode,
        "system": template.system,
        "text": text,
        "context": context,
        "options": canonical_json(list(options)),
        "contract": contract.canonical(),
    }


def render(
    task: Mapping[str, Any], form: Form, *, passage: str | None = None, pool: Sequence[str] = (), n_options: int = 4
) -> dict[str, Any] | None:
    """Render a task; None where this form cannot be had soundly.

    That is: an open book without passage, a choice with too few sound options, a closed-book text that would contain its answer. Corpus text is
    data: the question becomes one line, the passage is fenced, braces mean nothing.

    Args:
        task: row of gold.tasks; read are task_id, version, origin, question, answer, contract, distractors.
        form: which form.
        passage: evidence with its surroundings, for the open book.
        pool: answers of other tasks of the same kind, for the choice.
        n_options: wished number of options.

    Raises:
        TemplateError: the form's template is broken.
        ValueError: the task's contract is none.
    """
    template = load(form)
    contract = AnswerContract.model_validate_json(task["contract"])
    question = one_line(task["question"])
    mode = _MODES[form]
    if form == "open_book":
        if not passage:
            return None
        text = template.fill({"question": question, "passage": quote(passage)})
        return prompt_row(task, template, text, form=form, context_mode=mode, contract=contract, context=passage)
    blank = {"question": question} | ({"options": ""} if form == "choice" else {})
    if given_away(contract, task["answer"], f"{template.system}\n{template.fill(blank)}") is not None:
        return None
    if form != "choice":
        return prompt_row(task, template, template.fill(blank), form=form, context_mode=mode, contract=contract)
    if contract.type == "choice":
        distractors = [text for i, text in enumerate(contract.options) if chr(65 + i) != contract.gold]
    else:
        distractors = [str(text) for text in json.loads(task["distractors"])]
    seed = content_id("choice", task["task_id"], task["version"])
    options = sound_options(contract, task["answer"], distractors, pool, n=n_options, seed=seed)
    if options is None:
        return None
    text = template.fill({"question": question, "options": options.block})
    graded = AnswerContract(type="choice", gold=options.letter, options=options.texts)
    return prompt_row(task, template, text, form=form, context_mode=mode, contract=graded, options=options.texts)
