"""Verbs of publication: publish, checkout, verify, bind."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from jobs.cli.common import HERE, ConfFlag, JsonFlag, Output, RoundFlag, SetFlag, WorkspaceFlag, open_context, report_json
from jobs.workspace import Workspace

SetsFlag = Annotated[
    list[str] | None, typer.Option("--set", help="A published set (rl, sft, preferences, eval, regression); may be repeated.")
]


def register(app: typer.Typer) -> None:
    """Add these verbs to the command."""
    app.command("publish")(publish)
    app.command("checkout")(checkout)
    app.command("verify")(verify)
    app.command("bind")(bind)


def publish(
    round_no: Annotated[
        int | None, typer.Option("--round", min=1, help="Round; every closed one that is not published where left out.")
    ] = None,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """A closed round as Parquet sets with manifests, committed to DVC and git under a tag of its own."""
    from jobs import publish_round
    from jobs.rounds import is_closed

    output, ctx = Output(as_json), open_context(workspace, conf, overrides)
    reports = []
    number = round_no or 1
    while round_no is not None or is_closed(ctx, number):
        reports.append(publish_round.run(ctx, number))
        output.report(reports[-1])
        number += 1
        if round_no is not None:
            break
    if not reports:
        output.console.print("no round is closed yet: verilake status says what comes next", markup=False)
    output.result({"reports": [report_json(report) for report in reports]})


def checkout(
    what: Annotated[str, typer.Argument(help="Id or path of a bound checkpoint, or a tag such as round-3.")],
    directory: Annotated[Path, typer.Argument(help="A new or empty directory.")],
    sets: SetsFlag = None,
    link: Annotated[bool, typer.Option("--link", help="Hard-link read-only files of the cache instead of copying.")] = False,
    workspace: WorkspaceFlag = HERE,
    as_json: JsonFlag = False,
) -> None:
    """Exactly the bytes that a checkpoint was offered, verified."""
    from jobs.publish.checkout import checkout as materialise

    output = Output(as_json)
    report = materialise(Workspace.open(workspace), what, directory, sets=sets, link=link)
    rate = report.bytes / 2**20
    output.console.print(
        f"{report.tag}: {', '.join(report.sets)} in {report.target}: {report.files} files, {rate:,.1f} MiB, {'linked' if link else 'copied'} and verified\n"
        f"start {report.seconds_start:.2f} s, {'linking' if link else 'copying'} {report.seconds_copy:.2f} s, verifying {report.seconds_verify:.2f} s",
        markup=False, soft_wrap=True,
    )  # fmt: skip
    value = {key: item for key, item in asdict(report).items() if not key.startswith("seconds")}
    output.result({**value, "target": str(report.target), "sets": list(report.sets)})


def verify(
    directory: Annotated[Path, typer.Argument(help="A set's folder, a checkout, or a workspace.")] = HERE, as_json: JsonFlag = False
) -> None:
    """Name every changed, truncated, missing or extra file of published sets; needs no lake."""
    from jobs.publish.verify import verify as check
    from jobs.views.visible import visible

    output = Output(as_json)
    report = check(directory)
    for line in report.problems:
        output.console.print(visible(line), markup=False, soft_wrap=True)
    said = f"{len(report.problems)} problems" if report.problems else "nothing is wrong"
    output.console.print(f"{', '.join(report.sets)}: {said}", markup=False, soft_wrap=True)
    output.result({"sets": list(report.sets), "problems": list(report.problems)})
    if report.problems:
        raise typer.Exit(1)


def bind(
    checkpoint: Annotated[str, typer.Argument(help="Id of a checkpoint, or its path; then its files are hashed.")],
    round_no: RoundFlag,
    parent: Annotated[str | None, typer.Option("--parent", help="Checkpoint it was trained from.")] = None,
    mlflow_run: Annotated[str | None, typer.Option("--mlflow-run", help="MLflow run of its training.")] = None,
    sets: SetsFlag = None,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Record which published bytes a checkpoint was offered."""
    from jobs.publish.bindings import bind as record
    from jobs.publish.bindings import described

    output, ctx = Output(as_json), open_context(workspace, conf, None)
    ident, uri, sha256 = described(checkpoint)
    row = record(ctx, ident, round_no, uri=uri, sha256=sha256, parent=parent, mlflow_run_id=mlflow_run, sets=sets or ())
    offered = json.loads(row["sets"])
    output.console.print(f"{ident}: bound to {row['tag']} ({', '.join(sorted(offered))})", markup=False, soft_wrap=True)
    output.console.print(f"get its bytes back with: verilake checkout {ident} DIR", markup=False, soft_wrap=True)
    output.result({**{key: value for key, value in row.items() if key != "at"}, "sets": offered})
