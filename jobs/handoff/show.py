"""What ``verilake handoff status`` looks like on a terminal; texts from files are shown as text, never as markup."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from jobs.handoff.pressure import Pressure
from jobs.handoff.status import RunStatus
from jobs.views.visible import visible

_CELL = 200
_LEASES = 40


def render_handoff(runs: list[RunStatus], pressure: Pressure | None) -> RenderableType:
    """One table of runs; beneath it what is in work, who works how fast, what failed and what a person must look at."""
    if not runs:
        return Text("no hand-off run here")
    parts: list[RenderableType] = [_runs(runs)]
    for run in runs:
        parts += _detail(run, alone=len(runs) == 1)
    if pressure is not None and pressure.batch:
        parts.append(
            Text(
                f"train samples: {pressure.ingested:,} ingested, {pressure.leased:,} in work, {pressure.open:,} open; room for {pressure.room:,} more "
                f"at version {pressure.version} (max_staleness {pressure.max_staleness}, batch {pressure.batch:,})"
            )
        )
    return Group(*parts)


def _grid(title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Grid:
    grid = Grid(title=title, title_justify="left", box=None, pad_edge=False)
    for name in columns:
        grid.add_column(name)
    for row in rows:
        grid.add_row(*(Text(visible(cell, _CELL)) for cell in row))
    return grid


def _runs(runs: list[RunStatus]) -> Grid:
    rows = [
        (
            run.program, run.run_id[:12], "-" if run.round is None else str(run.round), run.engine,
            *(str(run.shards[name]) for name in ("committed", "leased", "stalled", "open", "dead")), f"{run.rows:,}",
            ", ".join(f"{name} {n:,}" for name, n in run.failures.items()) or "-", "yes" if run.taken_in else "no",
            ", ".join(f"{name} {said}".strip() for name, said in run.control.items()) or "-",
        )
        for run in runs
    ]  # fmt: skip
    heads = ("program", "run", "round", "engine", "committed", "leased", "stalled", "open", "dead", "rows", "failed", "taken in", "control")
    return _grid("Runs", heads, rows)


def _detail(run: RunStatus, *, alone: bool) -> list[RenderableType]:
    parts: list[RenderableType] = []
    what = f"{run.program} {run.run_id[:12]}"
    if run.is_open and run.leases:
        rows = [
            (held.shard, str(held.attempt), held.worker_id, f"{held.age_seconds:.0f} s ago" if held.live else f"lost, {held.age_seconds:.0f} s ago",
             str(held.done), str(held.in_flight))
            for held in run.leases[:_LEASES]
        ]  # fmt: skip
        parts.append(_grid(f"Leases of {what}", ("shard", "attempt", "worker", "last sign", "done", "in flight"), rows))
        if len(run.leases) > _LEASES:
            parts.append(Text(f"and {len(run.leases) - _LEASES} further", style="dim"))
    if run.workers and (run.is_open or alone):
        rates = [
            (rate.worker_id, str(rate.shards), f"{rate.rows:,}", "-" if rate.per_second is None else f"{rate.per_second:,.1f}")
            for rate in run.workers
        ]
        parts.append(_grid(f"Workers of {what}, last hour", ("worker", "shards", "rows", "rows/s"), rates))
    parts += [Text(visible(f"dead: {what} shard {sid}: {kind}: {why}", 2 * _CELL), style="red") for sid, kind, why in run.letters]
    parts += [
        Text(visible(f"refused: {what} shard {sid}, attempt {attempt}: {why}", 2 * _CELL), style="yellow")
        for sid, attempt, why in run.refused
    ]
    return parts
