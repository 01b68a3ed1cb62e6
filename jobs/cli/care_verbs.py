"""Verbs that care for a lake: take a source down, bring an older lake forward, compact and free what nothing needs."""

from __future__ import annotations

from typing import Annotated

import typer

from jobs.cli.common import HERE, ConfFlag, JsonFlag, Output, SetFlag, WorkspaceFlag
from jobs.config import load_config
from jobs.lake.layout import Lake
from jobs.workspace import Workspace
from schemas.table import LAKE_SCHEMA_VERSION

DryRunFlag = Annotated[bool, typer.Option("--dry-run", help="Say what would be done; change nothing.")]


def register(app: typer.Typer) -> None:
    """Add these verbs to the command."""
    app.command("migrate")(migrate)


def migrate(
    dry_run: DryRunFlag = False,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Bring a lake that an older verilake made to the schema version of this one."""
    from jobs.lake import migrate as migration
    from jobs.session import build_session

    output, opened = Output(as_json), Workspace.open(workspace)
    config, lake = load_config(opened.root, conf or (), overrides or ()), Lake(opened.lake_root)
    found = migration.plan_migration(lake) if dry_run else migration.migrate(lake, lambda: build_session(config))
    for step in found.steps:
        tables = ", ".join(table.name for table in step.adds)
        said = "would be taken" if dry_run else "taken"
        output.console.print(f"step to version {step.version} {said}: {step.what} ({tables})", markup=False)
    for note in found.notes:
        output.console.print(note, markup=False)
    if not found.steps:
        output.console.print(f"nothing to do: the lake has schema version {found.found}", markup=False)
    output.result({
        "found": found.found, "version": found.found if dry_run or not found.steps else LAKE_SCHEMA_VERSION, "dry_run": dry_run,
        "steps": [{"version": s.version, "what": s.what, "tables": [t.name for t in s.adds]} for s in found.steps], "notes": list(found.notes),
    })  # fmt: skip
