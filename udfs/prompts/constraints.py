"""Format-constraint tasks: a known task, asked for in a given form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.contract import AnswerContract, FormatRule
from schemas.errors import VerilakeError
from schemas.ids import canonical_json, content_id, seed_from
from udfs.grading import grade, grade_format
from udfs.prompts.leaks import given_away
from udfs.prompts.options import one_line
from udfs.prompts.render import prompt_row
from udfs.prompts.templates import load, template_versions

#: Version of the rules in this module; the templates' own versions and hashes belong to a fingerprint as well.
FORMAT_VERSION = "1:" + content_id(*(value for name, value in sorted(template_versions().items()) if name.startswith("format_")))[:8]


class ConstraintError(VerilakeError):
    """A constraint was asked of a task whose gold cannot keep it."""

    @classmethod
    def from_task(cls, task_id: str, rule: str) -> ConstraintError:
        """Which task, which rule."""
        return cls(f"task {task_id} cannot be asked for under format_{rule}. Ask rules_for(task) which rules it can keep.")


def _ideal(rule: FormatRule, contract: AnswerContract) -> str:
    """The right answer in the asked form."""
    if rule == "json":
        return canonical_json({"answer": contract.gold})
    return f"{contract.gold} {contract.unit}" if rule == "unit" else contract.gold


def rules_for(task: Mapping[str, Any]) -> tuple[FormatRule, ...]:
    """The rules under which a task may be asked for, by trying its gold on them.

    A rule fits where the right answer in its form is graded correct on both counts, and its prompt would not give the answer away.

    Args:
        task: row of gold.tasks.
    """
    if task["answer_type"] == "code":
        return ()
    base = AnswerContract.model_validate_json(task["contract"])
    if base.type == "choice" or base.format is not None:
        return ()
    fitting: list[FormatRule] = []
    rules: tuple[FormatRule, ...] = ("json", "one_word", "unit")
    for rule in rules:
        contract = base.model_copy(update={"format": rule})
        ideal = _ideal(rule, contract)
        form = grade_format(contract, ideal)
        if form is None or form.reward != 1.0 or grade(contract, ideal).reward != 1.0:
            continue
        if given_away(base, task["answer"], _shown(task, rule, contract)) is None:
            fitting.append(rule)
    return tuple(fitting)


def rule_for(task: Mapping[str, Any]) -> FormatRule | None:
    """One of the rules that fit a task, chosen by its id; None where none fits.

    Args:
        task: row of gold.tasks.
    """
    fitting = rules_for(task)
    return fitting[seed_from("format", task["task_id"]) % len(fitting)] if fitting else None


def _shown(task: Mapping[str, Any], rule: FormatRule, contract: AnswerContract) -> str:
    template = load(f"format_{rule}")
    values = {"question": one_line(task["question"])} | ({"unit": contract.unit or ""} if rule == "unit" else {})
    return template.fill(values)


def constrain(task: Mapping[str, Any], rule: FormatRule, origin: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A constraint task and its one prompt, from a base task.

    Args:
        task: row of gold.tasks; every other column is inherited.
        rule: json, one_word or unit; one of ``rules_for(task)``.
        origin: slice that writes it, ``plan=<round>``.

    Returns:
        A row of gold.tasks (kind ``format_<rule>``, version 1, its parent named) and a row of gold.prompts.

    Raises:
        ConstraintError: the gold cannot keep the rule.
    """
    if rule not in rules_for(task):
        raise ConstraintError.from_task(task["task_id"], rule)
    contract = AnswerContract.model_validate_json(task["contract"]).model_copy(update={"format": rule})
    made = dict(task) | {
        "task_id": content_id("constraint", task["task_id"], rule),
        "version": 1,
        "origin": origin,
        "kind": f"format_{rule}",
        "source_kind": "constraint",
        "contract": contract.canonical(),
        "parent_task_id": task["task_id"],
        "status": "active",
        "status_reason": None,
    }
    template = load(f"format_{rule}")
    prompt = prompt_row(made, template, _shown(task, rule, contract), form="format", context_mode="closed_book", contract=contract)
    return made, prompt
