"""Verbs for MLflow: log what is pending, and look at it."""

from __future__ import annotations

from typing import Annotated

import typer

from jobs.cli.common import HERE, ConfFlag, JsonFlag, Output, SetFlag, WorkspaceFlag, open_context, report_json
from schemas.errors import VerilakeError


class StillPendingError(VerilakeError):
    """Rounds are published but MLflow does not know them."""

    @classmethod
    def from_rounds(cls, rounds: list[str]) -> StillPendingError:
        """Which; the reason was logged."""
        return cls(f"not logged yet: {', '.join(rounds)}. They stay published; run verilake track again once the tracking store answers.")


def register(app: typer.Typer) -> None:
    """Add these verbs to the command."""
    app.command("track")(track)
    app.command("ui")(ui)


def track(
    round_no: Annotated[int | None, typer.Option("--round", min=1, help="One round; all that are pending where left out.")] = None,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Log published rounds to MLflow; what is logged already is not logged again."""
    from jobs import track_round

    output, ctx = Output(as_json), open_context(workspace, conf, overrides)
    reports = [track_round.run(ctx, round_no)] if round_no is not None else track_round.run_pending(ctx)
    for report in reports:
        output.report(report)
    if not reports:
        output.console.print("no published round is pending" if ctx.config.track.enabled else "tracking is switched off (track.enabled)")
    output.result({"reports": [report_json(report) for report in reports]})
    waiting = [report.scope for report in reports if report.counts.get("pending")]
    if waiting:
        raise StillPendingError.from_rounds(waiting)


def ui(
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port on 127.0.0.1.")] = 5000,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
) -> None:
    """Serve the workspace's MLflow on 127.0.0.1 until Ctrl-C; where track.uri names a server, say its address."""
    from jobs.tracking.destination import destination
    from jobs.tracking.serve import serve

    ctx = open_context(workspace, conf, overrides)
    console = Output(as_json=False).console
    where = destination(ctx.config.track, ctx.workspace)
    if where.artifacts is None:
        console.print(f"rounds are logged to {where.shown}: open it in a browser", markup=False)
        return
    # Said before the server takes this process over.
    console.print(f"MLflow of {where.shown}: http://127.0.0.1:{port}   (Ctrl-C ends it)", markup=False)
    serve(ctx.workspace, where, port)
