"""Verbs that care for a lake: take a source down, bring an older lake forward, compact and free what nothing needs."""

from __future__ import annotations

from typing import Annotated

import typer

from jobs.cli.common import HERE, ConfFlag, JsonFlag, Output, SetFlag, WorkspaceFlag, open_context
from jobs.config import load_config
from jobs.lake.layout import Lake
from jobs.workspace import Workspace
from schemas.table import LAKE_SCHEMA_VERSION

DryRunFlag = Annotated[bool, typer.Option("--dry-run", help="Say what would be done; change nothing.")]


def register(app: typer.Typer) -> None:
    """Add these verbs to the command."""
    app.command("takedown")(takedown)
    app.command("migrate")(migrate)
    app.command("maintain")(maintain)


def takedown(
    uri: Annotated[
        list[str] | None, typer.Option("--uri", help="Address of a document; a trailing * matches any ending. Repeatable.")
    ] = None,
    doc: Annotated[list[str] | None, typer.Option("--doc", help="doc_id. Repeatable.")] = None,
    licence: Annotated[list[str] | None, typer.Option("--licence", help="Licence, letter for letter. Repeatable.")] = None,
    source: Annotated[list[str] | None, typer.Option("--source", help="Name of a collection. Repeatable.")] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; kept in ops.tombstones.")] = "",
    purge: Annotated[bool, typer.Option("--purge", help="Remove its bytes as well: lake, hand-off, published files, artifacts.")] = False,
    dry_run: DryRunFlag = False,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Take documents down: never planned, trained on or published again; with --purge their bytes go as well. Any selector that fits counts."""
    from jobs import takedown as job
    from jobs.care.selection import Selector
    from jobs.care.told import lines_of

    output = Output(as_json)
    selector = Selector(tuple(uri or ()), tuple(doc or ()), tuple(licence or ()), tuple(source or ()))
    ctx = open_context(workspace, conf, overrides)
    found = job.survey(ctx.workspace, selector) if dry_run else job.run(ctx, selector, reason=reason, purge=purge)
    for line in lines_of(found, dry_run=dry_run, purge=purge):
        output.console.print(line, markup=False, soft_wrap=True)
    output.result({**found.to_json(), "dry_run": dry_run, "purge": purge})


def maintain(
    dry_run: DryRunFlag = False,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Compact what is closed, and free what no kept version, pin or open hand-off run needs."""
    from jobs import maintain as job

    output = Output(as_json)
    found = job.run(open_context(workspace, conf, overrides), dry_run=dry_run)
    would = "would be " if dry_run else ""
    for item in found.compacted:
        after = "" if dry_run else f" to {item.files_after}"
        output.console.print(f"{item.table}: {item.files} files of {len(item.slices)} slices {would}compacted{after}", markup=False)
    for freed in found.freed:
        output.console.print(f"{freed.what}: {freed.files} files, {freed.bytes:,} bytes {would}removed", markup=False, soft_wrap=True)
    if found.left_alone:
        output.console.print(f"left alone, for a pin names them: {', '.join(found.left_alone)}", markup=False)
    output.console.print(f"{found.bytes:,} bytes {would}freed" if found.freed else "nothing to free", markup=False)
    output.result({**found.to_json(), "dry_run": dry_run})


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
    found = migration.plan_migration(lake) if dry_run else migration.migrate(lake, config, lambda: build_session(config))
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
