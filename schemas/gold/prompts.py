"""gold.prompts: a task in the form in which a policy meets it."""

import pyarrow as pa

from schemas.table import Table, column

PROMPTS = Table(
    name="gold.prompts",
    comment="Task x template x context mode, rendered; stored once however many rollouts share it.",
    schema=pa.schema(
        [
            column("prompt_id", pa.string(), "content_id(task_id, version, template, context_mode, text)"),
            column("origin", pa.string(), "slice that wrote it, as in gold.tasks"),
            column("task_id", pa.string(), "gold.tasks"),
            column("task_version", pa.int32(), "version of the task it renders"),
            column(
                "form",
                pa.string(),
                "answer_only, reason_then_answer, choice, open_book, format (made by a plan), constrained (added with a rule of form), code",
            ),
            column("template", pa.string(), "name@version"),
            column("context_mode", pa.string(), "closed_book, open_book, choice"),
            column("system", pa.string(), "system message"),
            column("text", pa.string(), "user message"),
            column("context", pa.string(), "quoted passage of an open-book prompt, as contained in text", null=True),
            column("options", pa.string(), "canonical JSON list of the options in order, [] where not a choice"),
            column("contract", pa.string(), "contract this form is graded by (choice: the letter and the option's text)"),
        ]
    ),
    key=("prompt_id",),
    partition="origin",
)
