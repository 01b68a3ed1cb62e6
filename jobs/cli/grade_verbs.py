"""The verb that grades a plain file; no lake and no JVM."""

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
    app.command("grade")(grade)


def grade(
    source: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="JSONL (plain, .gz, .zst) or Parquet: id, verifier, gold, answer, ...")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="File to make: .jsonl, .jsonl.gz, .jsonl.zst or .parquet. Default: JSON lines on stdout.")
    ] = None,
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="Processes that grade. Default: one a core.")] = None,
    keep_inputs: Annotated[
        bool, typer.Option("--keep-inputs", help="Also write verifier, gold, answer and the other fields that grading knows.")
    ] = False,
    allow_weak_sandbox: Annotated[
        bool, typer.Option("--allow-weak-sandbox", help="Run code even where nothing but rlimits bounds it (tier D).")
    ] = False,
    list_verifiers: Annotated[bool, typer.Option("--list", help="Name the verifiers with versions and ranges.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Grade answers under their contracts: a verdict for every row of a plain file, whatever the row holds."""
    if list_verifiers:
        _list(Output(as_json))
        return
    if source is None:
        raise typer.BadParameter("name a file to grade, or --list the verifiers", param_hint="FILE")
    from jobs.grade.progress import GradeProgress
    from jobs.grade_file import Options, run

    # stdout is for rows, or with --json and --out for one object
    console = Output(as_json=True).console
    options = Options(workers or len(os.sched_getaffinity(0)), allow_weak_sandbox, keep_inputs)
    with GradeProgress(console, source.name, rows_on_stdout=out is None) as progress:
        summary = run(source, out, options, progress.tell)
    show(summary, console, str(source))
    if as_json:
        stream = sys.stderr if out is None else sys.stdout
        stream.write(canonical_json(summary) + "\n")
        stream.flush()


def show(summary: Mapping[str, Any], console: Console, name: str) -> None:
    """Rows by verifier and verdict, and the first that could not be graded."""
    verdicts: Mapping[str, Mapping[str, int]] = summary["verdicts"]
    columns = [verdict for verdict in _ORDER if any(verdict in counts for counts in verdicts.values())]
    table = Table("verifier", *columns, box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for verifier, counts in verdicts.items():
        table.add_row(verifier, *(f"{counts.get(verdict, 0):,}" for verdict in columns))
    console.print(table)
    for error in summary["errors"]:
        where = f"line {error['line']}" if "line" in error else f"row {error['row']}"
        console.print(f"  error: {where}, id {error['id']!r}: {', '.join(error['flags'])}", markup=False)
    more = sum(counts.get("error", 0) for counts in verdicts.values()) - len(summary["errors"])
    if more > 0:
        reasons = ", ".join(f"{flag} {count:,}" for flag, count in summary["reasons"].items())
        console.print(f"  and {more:,} more; by reason: {reasons}", markup=False)
    tiers = f", sandbox tier {', '.join(summary['tiers'])}" if summary["tiers"] else ""
    replaced = f", {summary['workers_replaced']} of them replaced" if summary["workers_replaced"] else ""
    console.print(
        f"{name}: {summary['rows']:,} rows in {summary['seconds']:.1f} s ({summary['rows_per_second']:,.0f}/s; "
        f"at most {summary['workers']} processes{replaced}{tiers})",
        markup=False,
    )


_ORDER = ("correct", "partial", "incorrect", "unparsable_pred", "timeout", "unparsable_gold", "skipped", "error")


def _list(output: Output) -> None:
    from udfs.verifiers.registry import verifiers

    table = Table("verifier", "version", "reward", "needs", "may have", "compares", box=None, pad_edge=False)
    for found in verifiers().values():
        table.add_row(found.name, found.version, f"{found.low:g} to {found.high:g}", found.needs, ", ".join(found.takes), found.about)
    output.console.print(table)
    output.result({
        found.name: {"version": found.version, "low": found.low, "high": found.high, "needs": found.needs, "takes": list(found.takes), "about": found.about}
        for found in verifiers().values()
    })  # fmt: skip
