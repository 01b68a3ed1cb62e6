"""Verbs of decontamination: benchmark sets, and what of the lake holds their items."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from jobs.cli.common import HERE, ConfFlag, JsonFlag, Output, SetFlag, WorkspaceFlag, open_context, report_json
from jobs.lake.layout import Lake
from jobs.workspace import Workspace


class Format(Enum):
    """Formats of benchmark files."""

    GSM8K = "gsm8k"
    MATH = "math"
    HUMANEVAL = "humaneval"
    MBPP = "mbpp"
    JSONL = "jsonl"


def register(app: typer.Typer) -> None:
    """Add these verbs to the command."""
    sets = typer.Typer(
        no_args_is_help=True, rich_markup_mode=None, help="Benchmark sets that must not be trained on: versioned by their content."
    )  # fmt: skip
    sets.command("add")(add)
    sets.command("list")(list_sets)
    app.add_typer(sets, name="benchmarks")
    app.command("decontaminate")(decontaminate)


def add(
    path: Annotated[Path, typer.Argument(help="JSON lines (plain or gzip) or Parquet.")],
    name: Annotated[str, typer.Option("--name", help="Name of the set; other content under the same name is its next version.")],
    adapter: Annotated[Format, typer.Option("--adapter", help="Format of the file.")] = Format.JSONL,
    question_field: Annotated[str, typer.Option("--question-field", help="jsonl: field of the question.")] = "question",
    answer_field: Annotated[str, typer.Option("--answer-field", help="jsonl: field of the final answer; empty: none.")] = "answer",
    solution_field: Annotated[
        str, typer.Option("--solution-field", help="jsonl: field of the worked solution, where there is one.")
    ] = "solution",
    choices_field: Annotated[str, typer.Option("--choices-field", help="jsonl: field of the options, where there are any.")] = "choices",
    tests_field: Annotated[str, typer.Option("--tests-field", help="jsonl: field of the tests, where there are any.")] = "tests",
    id_field: Annotated[str, typer.Option("--id-field", help="jsonl: field of the item's id; its position where it has none.")] = "id",
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Add a benchmark set. What is curated, admitted or decontaminated afterwards is held against it."""
    from jobs.decontamination import benchmarks
    from udfs.decontamination.adapters import Fields, read_items

    output, ctx = Output(as_json), open_context(workspace, conf, overrides)
    fields = Fields(question_field, answer_field, solution_field, choices_field, tests_field, id_field)
    report = benchmarks.add(ctx, name, read_items(path, adapter.value, fields))
    output.report(report)
    benchmark = report.scope.removeprefix("benchmark=")
    used = next(version for version in benchmarks.versions(ctx.lake) if version.benchmark == benchmark)
    if not used.in_force:
        output.console.print(f"{benchmark} is known; a version of {name} that was added later is in force", markup=False)
    output.result({**report_json(report), "benchmark": benchmark, "in_force": used.in_force})


def list_sets(workspace: WorkspaceFlag = HERE, as_json: JsonFlag = False) -> None:
    """Every version of every set, and which are in force."""
    from jobs.decontamination.benchmarks import versions

    output, found = Output(as_json), versions(Lake(Workspace.open(workspace).lake_root))
    for version in found:
        output.console.print(
            f"{version.benchmark:<44} {version.items:>8,} items{'' if version.in_force else '  (superseded)'}", markup=False
        )
    if not found:
        output.console.print("no benchmark set; add one with: verilake benchmarks add PATH --name NAME", markup=False)
    output.result({
        "benchmarks": [{"benchmark": v.benchmark, "name": v.name, "items": v.items, "in_force": v.in_force} for v in found]
    })  # fmt: skip


def decontaminate(
    retroactive: Annotated[bool, typer.Option("--retroactive", help="Tasks, rounds, published sets and checkpoints as well.")] = False,
    retire: Annotated[
        bool, typer.Option("--retire", help="Retire the training tasks found: later rounds leave them out. Implies --retroactive.")
    ] = False,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Hold documents and candidate questions, and with --retroactive all that was made of them, against the benchmark sets in force."""
    from jobs import decontaminate as job
    from jobs.decontamination.told import lines_of

    output, ctx = Output(as_json), open_context(workspace, conf, overrides)
    reports, found = job.run(ctx, retroactive=retroactive, retire=retire)
    for report in reports:
        output.report(report)
    if not reports:
        output.console.print("no benchmark set is in force; add one with: verilake benchmarks add PATH --name NAME", markup=False)
    for line in lines_of(found, action=ctx.config.decontaminate.action, retire=retire) if found is not None else ():
        output.console.print(line, markup=False, soft_wrap=True)
    output.result({"reports": [report_json(report) for report in reports], "affected": None if found is None else found.to_json()})
