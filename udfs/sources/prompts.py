"""Prompts of tasks that no document stands behind.

They differ from ``udfs.prompts.render`` in what may be shown. There is no open book: the text around the gold holds the gold. A gold that
stands in its question (``3`` in a word problem) gives nothing away. Options stay as published, all of them and in their order, because
they may name each other. A question keeps its lines, in fences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from schemas.code import CodeContract
from schemas.conf import Form
from schemas.contract import AnswerContract
from schemas.ids import content_id
from udfs.admission.contracts import read_contract
from udfs.prompts.passages import quote
from udfs.prompts.render import prompt_row
from udfs.prompts.templates import load

#: Templates that only these tasks use.
TEMPLATES = ("code",)


def template_versions() -> dict[str, str]:
    """``name@version`` -> hash, of ``TEMPLATES``; part of the fingerprint where tasks of added sources are admitted."""
    return {template.label: content_id(template.system, template.text) for template in map(load, TEMPLATES)}


def shown(question: str) -> str:
    """A question as prompts show it: on its line, or with all its lines between fences that it cannot close."""
    question = question.strip()
    return quote(question) if "\n" in question or "\r" in question else question


def prompts_of(task: Mapping[str, Any], forms: Sequence[Form]) -> Iterator[dict[str, Any]]:
    """Rows of gold.prompts: a program's one form, a choice's one form, a constrained form's own, else the closed-book ones that are configured.

    Args:
        task: row of gold.tasks.
        forms: configured ones; a task that can be asked in one form alone is asked in that one whatever is configured.

    Raises:
        ValueError: the task's contract is none.
    """
    contract = read_contract(task["contract"])
    if isinstance(contract, CodeContract):
        template = load("code")
        yield prompt_row(
            task, template, template.fill({"task": quote(task["question"])}), form="code", context_mode="closed_book", contract=contract
        )
    elif contract.type == "choice":
        yield _choice(task, contract)
    elif contract.format is not None:
        template = load(f"format_{contract.format}")
        values = {"question": shown(task["question"])} | ({"unit": contract.unit or ""} if contract.format == "unit" else {})
        yield prompt_row(task, template, template.fill(values), form="constrained", context_mode="closed_book", contract=contract)
    else:
        closed: tuple[Form, ...] = ("answer_only", "reason_then_answer")
        for form in [form for form in forms if form in closed] or closed[:1]:
            template = load(form)
            text = template.fill({"question": shown(task["question"])})
            yield prompt_row(task, template, text, form=form, context_mode="closed_book", contract=contract)


def _choice(task: Mapping[str, Any], contract: AnswerContract) -> dict[str, Any]:
    template = load("choice")
    options = "\n".join(f"{chr(65 + at)}. {' '.join(text.split())}" for at, text in enumerate(contract.options))
    text = template.fill({"question": shown(task["question"]), "options": options})
    return prompt_row(task, template, text, form="choice", context_mode="choice", contract=contract, options=contract.options)
