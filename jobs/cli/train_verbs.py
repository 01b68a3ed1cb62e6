"""The verb of the embedded trainer."""

from __future__ import annotations

import typer

from jobs.cli.common import HERE, ConfFlag, JsonFlag, Output, RoundFlag, SetFlag, WorkspaceFlag, open_context


def register(app: typer.Typer) -> None:
    """Add this verb to the command."""
    app.command("train")(train)


def train(
    round_no: RoundFlag,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Train the embedded policy on a round's published set; the next round rolls out what comes of it. Needs no JVM."""
    from jobs import train_policy

    output = Output(as_json)
    report = train_policy.run(open_context(workspace, conf, overrides), round_no)
    output.job(report)
