"""The verb about rewards: what a round's raw rewards become; read-only, no JVM."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from jobs.cli.common import HERE, ConfFlag, JsonFlag, Output, RoundFlag, SetFlag, WorkspaceFlag
from jobs.cli.read_verbs import plain
from jobs.workspace import Workspace


def register(app: typer.Typer) -> None:
    """Add this verb to the command."""
    app.command("rewards")(rewards)


def rewards(
    round_no: RoundFlag,
    out: Annotated[Path | None, typer.Option("--out", dir_okay=False, help="Parquet file to write, one row a trajectory.")] = None,
    role: Annotated[str | None, typer.Option("--role", help="Trajectories of this role alone: train, probe, eval, canary.")] = None,
    against: Annotated[
        str | None, typer.Option("--against", help="Checkpoint that re-scored; default: the one with the newest weights.")
    ] = None,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """A round's rewards aligned, mixed, shaped and compared by [reward], with advantages, sampling weights and staleness; stores nothing."""
    from jobs.config import load_config
    from jobs.views.render_rewards import render_rewards
    from jobs.views.reward_figures import reward_figures
    from jobs.views.reward_rows import reward_table, write_rewards
    from jobs.views.rewards import read_rewards

    output, opened = Output(as_json), Workspace.open(workspace)
    found = read_rewards(opened, round_no, load_config(opened.root, conf or (), overrides or ()).reward, against)
    held = sorted(set(found.rows.facts["role"].to_pylist()))
    if role is not None and role not in held:
        raise typer.BadParameter(f"{role}: round {round_no} holds {', '.join(held)}", param_hint="--role")
    figures = reward_figures(found, role)
    output.console.print(render_rewards(found, figures))
    rows = None
    if out is not None:
        table = reward_table(found, role)
        write_rewards(table, out)
        rows = table.num_rows
        output.console.print(f"{rows:,} rows: {out}", markup=False, soft_wrap=True)
    scorer = None if found.ratios is None else {
        name: getattr(found.ratios, name) for name in ("policy_id", "policy_version", "not_comparable", "failed")
    }  # fmt: skip
    output.result(plain({
        "round": round_no, "view": found.view, "settings": found.settings_id, "window": found.window, "role": role,
        "figures": [asdict(item) for item in figures], "rescored_by": scorer, "out": None if out is None else str(out), "rows": rows,
    }))  # fmt: skip
