"""The verb that checks question-answer items of a plain file; no lake and no JVM."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from jobs.cli.common import JsonFlag, Output
from schemas.ids import canonical_json


def register(app: typer.Typer) -> None:
    """Add this verb to the command."""
    app.command("check-qa")(check_qa)


def check_qa(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="JSONL (plain, .gz, .zst) or Parquet: id, question, answer, context, ...")],
    out: Annotated[
        Path | None, typer.Option("--out", help="File to make: .jsonl, .jsonl.gz, .jsonl.zst or .parquet. Default: JSON lines on stdout.")
    ] = None,
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="Processes that probe. Default: one a core.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Check question-answer items: is the answer in the context, is it given away, can it be graded, does the question stand alone?"""
    from jobs.check_qa_file import Options, run
    from jobs.grade.progress import GradeProgress

    # stdout is for rows, or with --json and --out for one object
    console = Output(as_json=True).console
    with GradeProgress(console, source.name, rows_on_stdout=out is None) as progress:
        summary = run(source, out, Options(workers or len(os.sched_getaffinity(0))), progress.tell)
    show(summary, console, str(source))
    if as_json:
        stream = sys.stderr if out is None else sys.stdout
        stream.write(canonical_json(summary) + "\n")
        stream.flush()


_STATES = ("accepted", "flagged", "rejected")


def show(summary: Mapping[str, Any], console: Console, name: str) -> None:
    """Rows by language and state, by reason, the first that could not be read."""
    table = Table("language", *_STATES, box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for language, states in summary["languages"].items():
        table.add_row(language, *(f"{states.get(state, 0):,}" for state in _STATES))
    table.add_row("all rows", *(f"{summary['states'].get(state, 0):,}" for state in _STATES))
    console.print(table)
    if summary["reasons"]:
        said = ", ".join(
            f"{reason} {count:,}" for reason, count in sorted(summary["reasons"].items(), key=lambda pair: (-pair[1], pair[0]))
        )
        console.print(f"  reasons: {said}", markup=False)
    for error in summary["errors"]:
        where = f"line {error['line']}" if "line" in error else f"row {error['row']}"
        console.print(f"  unreadable: {where}, id {error['id']!r}: {', '.join(error['flags'])}", markup=False)
    shares = {label: "unknown" if share is None else f"{share:.1%}" for label, share in summary["shares"].items()}
    replaced = f", {summary['workers_replaced']} of them replaced" if summary["workers_replaced"] else ""
    console.print(
        f"{name}: {summary['rows']:,} rows, grounded {shares['grounded']}, self-contained {shares['self_contained']}, in "
        f"{summary['seconds']:.1f} s ({summary['rows_per_second']:,.0f}/s; at most {summary['workers']} processes{replaced})",
        markup=False,
    )
