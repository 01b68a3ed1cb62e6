"""Verbs of sources beside documents: benchmark sets, conversations, generated problems."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobs.cli.common import HERE, ConfFlag, JsonFlag, Output, SetFlag, WorkspaceFlag, open_context, report_json

if TYPE_CHECKING:
    from jobs.add_tasks import Added


class Split(Enum):
    """On which side items stand."""

    TRAIN = "train"
    TEST = "test"


SplitFlag = Annotated[
    Split, typer.Option("--split", help="train: trained on; test: held out, and a benchmark that corpora are held against from now on.")
]


def register(app: typer.Typer) -> None:
    """Add these verbs to the command."""
    tasks = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Tasks from sources beside documents.")
    tasks.command("add")(add)
    tasks.command("generate")(generate)
    app.add_typer(tasks, name="tasks")


def add(
    name: Annotated[str, typer.Argument(help="Name of the source.")],
    path: Annotated[Path, typer.Argument(help="JSON lines (plain, gzip, zstd) or Parquet.")],
    adapter: Annotated[
        str, typer.Option("--as", help="Format: gsm8k, math, mmlu, humaneval, mbpp, qa, format, safety, conversations.")
    ],
    split: SplitFlag = Split.TRAIN,
    licence: Annotated[str | None, typer.Option("--licence", help="Licence of items whose record names none.")] = None,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:  # fmt: skip
    """Add the items of a file: each becomes a task, or a reject with its reason."""
    from jobs import add_tasks

    output, ctx = Output(as_json), open_context(workspace, conf, overrides)
    _told(output, add_tasks.run(ctx, name, path, adapter, split=split.value, licence=licence), split)


def generate(
    name: Annotated[
        str, typer.Argument(help="A family, mixed for all of them in turn, or gym:<data set> of reasoning-gym where installed.")
    ],
    count: Annotated[int, typer.Option("--count", min=1, max=200_000, help="How many.")],
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same problems.")],
    difficulty: Annotated[str, typer.Option("--difficulty", help="Levels, from 1 (easy) to 5: one, or a range such as 2..4.")] = "1..5",
    split: SplitFlag = Split.TRAIN,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Generate problems whose answers are computed."""
    from jobs import add_tasks
    from udfs.sources.generators.families import levels_of

    levels = levels_of(difficulty)
    output, ctx = Output(as_json), open_context(workspace, conf, overrides)
    _told(output, add_tasks.generate(ctx, name, count, seed, levels, split=split.value), split)


def _told(output: Output, added: Added, split: Split) -> None:
    for report in added.reports:
        output.report(report)
    if added.waits_for:
        waiting = ", ".join(ident[:12] for ident in added.waits_for)
        output.console.print(
            f"not admitted yet: earlier ingests come first ({waiting}); verilake run, or verilake admit after them", markup=False
        )
    if split is Split.TEST:
        output.console.print(
            "held out from now on; what is in the lake already is held against it by: verilake decontaminate --retroactive --retire", markup=False
        )  # fmt: skip
    output.result({
        "ingest_id": added.ingest_id, "waits_for": list(added.waits_for), "reports": [report_json(report) for report in added.reports]
    })  # fmt: skip
