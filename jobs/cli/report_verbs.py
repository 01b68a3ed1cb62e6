"""The verb that writes the report; no JVM."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jobs.cli.common import HERE, JsonFlag, Output, WorkspaceFlag
from jobs.workspace import Workspace


def register(app: typer.Typer) -> None:
    """Add this verb to the command."""
    app.command("report")(report)


def report(
    round_no: Annotated[int | None, typer.Option("--round", min=1, help="A closed round; the newest one where left out.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="HTML file to write; default: reports/round-N.html of the workspace.")] = None,
    workspace: WorkspaceFlag = HERE,
    as_json: JsonFlag = False,
) -> None:
    """One static HTML page about a round: scores, funnel, distributions, alerts, price, samples; opens without network."""
    from jobs.report import write_report

    output = Output(as_json)
    path = write_report(Workspace.open(workspace), round_no, out)
    output.console.print(f"report: {path}", markup=False, soft_wrap=True)
    output.result({"report": str(path)})
