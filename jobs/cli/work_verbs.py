"""Verbs around the hand-off: run workers, look at runs, hold workers back, clear what nothing needs."""

from __future__ import annotations

from dataclasses import asdict
from enum import Enum
from typing import Annotated

import typer

from jobs.cli.common import HERE, ConfFlag, JsonFlag, Output, SetFlag, WorkspaceFlag, open_context
from jobs.cli.progress import LoopProgress
from jobs.config import load_config
from jobs.workspace import Workspace

RunFlag = Annotated[str | None, typer.Option("--run", help="One run (id or unique prefix); all open ones where left out.")]


class Program(Enum):
    """What workers run."""

    CONVERT = "convert"
    ROLLOUT = "rollout"
    AGENT = "agent"
    JUDGE = "judge"
    LOGPROBS = "logprobs"


class Launcher(Enum):
    """Who starts workers."""

    LOCAL = "local"
    SPARK = "spark"


def register(app: typer.Typer) -> None:
    """Add these verbs to the command."""
    app.command("work")(work)
    group = typer.Typer(no_args_is_help=True, help="Hand-off runs: how they stand, and what is asked of their workers.")
    group.command("status")(status)
    group.command("pause")(pause)
    group.command("resume")(resume)
    group.command("stop")(stop)
    group.command("min-policy")(min_policy)
    group.command("gc")(gc)
    app.add_typer(group, name="handoff")


def work(
    program: Annotated[Program | None, typer.Argument(help="Runs of this program alone; left out: any open run.")] = None,
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="Processes; default: work.workers.")] = None,
    launcher: Annotated[Launcher | None, typer.Option("--launcher", help="Who starts them; default: work.launcher.")] = None,
    run: RunFlag = None,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Run workers until every open hand-off run is drained; a job elsewhere takes in what they commit."""
    from jobs import work_runs

    given = [f"work.workers={workers}"] if workers is not None else []
    given += [f'work.launcher="{launcher.value}"'] if launcher is not None else []
    output, ctx = Output(as_json), open_context(workspace, conf, [*(overrides or []), *given])
    what = program.value if program is not None else None
    with LoopProgress(output.console) as progress:
        ctx.progress = progress.shards
        drained = work_runs.run(ctx, what, run)
    named = f" of {what}" if what else ""
    output.console.print(f"{len(drained)} runs{named} drained" if drained else f"no open run{named}", markup=False)
    output.result({"drained": drained})


def status(
    run: RunFlag = None, workspace: WorkspaceFlag = HERE, conf: ConfFlag = None, overrides: SetFlag = None, as_json: JsonFlag = False
) -> None:
    """Shards by state, leases, rates, failures, dead letters, quarantine, control files."""
    from jobs.handoff.pressure import measure
    from jobs.handoff.runs import all_runs, chosen_runs
    from jobs.handoff.show import render_handoff
    from jobs.handoff.status import read_run

    output, opened = Output(as_json), Workspace.open(workspace)
    config = load_config(opened.root, conf or (), overrides or ()).handoff
    held = list(all_runs(opened.handoff_root)) if run is None else chosen_runs(opened.handoff_root, run)
    found = [read_run(each) for each in held]
    pressure = measure(opened, config) if config.batch else None
    output.console.print(render_handoff(found, pressure))
    output.result({
        "runs": [asdict(each) for each in found],
        "pressure": None if pressure is None else {**asdict(pressure), "capacity": pressure.capacity, "room": pressure.room},
    })  # fmt: skip


def pause(run: RunFlag = None, workspace: WorkspaceFlag = HERE, as_json: JsonFlag = False) -> None:
    """Workers claim no further shard until `resume`; what they have begun is finished."""
    _control(workspace, run, as_json, put={"pause": ""}, said="paused")


def resume(run: RunFlag = None, workspace: WorkspaceFlag = HERE, as_json: JsonFlag = False) -> None:
    """Take pause and stop back."""
    _control(workspace, run, as_json, remove=("pause", "stop"), said="resumed")


def stop(run: RunFlag = None, workspace: WorkspaceFlag = HERE, as_json: JsonFlag = False) -> None:
    """Workers finish the item at hand, give their shards back and end; none begins until `resume`."""
    _control(workspace, run, as_json, put={"stop": ""}, said="stopped")


def min_policy(
    version: Annotated[int, typer.Argument(min=0, help="Groups of an older policy are not begun any more; 0 takes it back.")],
    run: RunFlag = None,
    workspace: WorkspaceFlag = HERE,
    as_json: JsonFlag = False,
) -> None:
    """Let runs of older policies end: what is in flight is finished, the rest is declared aborted."""
    if version:
        _control(workspace, run, as_json, put={"min_policy_version": str(version)}, said=f"told to begin no policy below version {version}")
    else:
        _control(workspace, run, as_json, remove=("min_policy_version",), said="told that any policy will do")


def gc(
    run: RunFlag = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed; change nothing.")] = False,
    workspace: WorkspaceFlag = HERE,
    as_json: JsonFlag = False,
) -> None:
    """Remove parts that no commit names, of shards that have had a commit for two leases."""
    from jobs.handoff.gc import clear, garbage
    from jobs.handoff.runs import all_runs, chosen_runs

    output, opened = Output(as_json), Workspace.open(workspace)
    files, size = 0, 0
    for held in list(all_runs(opened.handoff_root)) if run is None else chosen_runs(opened.handoff_root, run):
        found = garbage(held)
        if not dry_run:
            clear(held, found)
        files, size = files + len(found), size + sum(entry.size for entry in found)
    output.console.print(f"{files} files, {size:,} bytes {'would be ' if dry_run else ''}removed", markup=False)
    output.result({"files": files, "bytes": size, "dry_run": dry_run})


def _control(
    workspace: WorkspaceFlag, run: str | None, as_json: bool, *, said: str, put: dict[str, str] | None = None, remove: tuple[str, ...] = ()
) -> None:
    from jobs.handoff.runs import chosen_runs

    output, opened = Output(as_json), Workspace.open(workspace)
    chosen = chosen_runs(opened.handoff_root, run)
    for held in chosen:
        for name, text in (put or {}).items():
            held.store.put(f"control/{name}", text.encode())
        for name in remove:
            held.store.remove(f"control/{name}")
        output.console.print(f"{held.plan.program} {held.plan.run_id[:12]} {said}", markup=False)
    if not chosen:
        output.console.print("no open run", markup=False)
    output.result({"runs": [held.plan.run_id for held in chosen]})
