"""What ``rewards`` looks like on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from jobs.views.reward_figures import ALL, Figures
from jobs.views.rewards import RoundRewards
from jobs.views.visible import visible

_CELL = 60
_HEADS = ("task type", "n", "unknown", "raw mean", "genrm", "alpha", "score", "shaped", "clipped", "groups", "equal", "kept", "left out")
_RHO = ("task type", "rollouts", "whole", "tokens", "unknown", "below", "above", "gap", "sequence p05 p50 p95", "geometric p05 p50 p95")


def render_rewards(found: RoundRewards, figures: Sequence[Figures]) -> RenderableType:
    """Figures by task type, what is unknown and why, and the ratios where there are any."""
    parts: list[RenderableType] = [_said(found)]
    grid = _grid(f"Rewards of round {found.round}", _HEADS)
    for item in figures:
        left = {name: n for name, n in item.choices.items() if name != "kept"}
        cells = (
            item.task_type if item.task_type in (item.domain, ALL) else f"{item.task_type} ({item.domain})", f"{item.n:,}",
            f"{item.n - item.known:,}", _figure(item.raw_mean), _figure(item.genrm_mean), " ".join(f"{alpha:g}" for alpha in item.alpha),
            _figure(item.mean), _figure(item.shaped_mean), f"{sum(item.clipped.values()):,}", f"{item.groups:,}", f"{item.zero_variance:,}",
            f"{item.kept:,}", _counts(left),
        )  # fmt: skip
        _add(grid, cells)
    parts.append(grid)
    total = figures[-1]
    if total.unknown:
        parts.append(Text(f"unknown: {_counts(total.unknown)}", style="yellow"))
    if found.ratios is not None:
        parts += _ratios(found, figures)
    return Group(*parts)


def _said(found: RoundRewards) -> Text:
    """What the figures depend on, in one line."""
    settings, shaping = found.settings, ", ".join(found.composed.shaping) or "none"
    over = f"by domain over round{'s' if len(found.window) > 1 else ''} {', '.join(map(str, found.window))}"
    how = {"domain": f"z-score {over}", "group": "z-score within the group", "range": "declared range to [0, 1]"}[settings.alignment]
    return Text(
        f"{found.view}, settings {found.settings_id[:12]}; alignment: {how}; shaping: {shaping}; epsilon of {settings.framework}",
        style="dim",
    )


def _ratios(found: RoundRewards, figures: Sequence[Figures]) -> list[RenderableType]:
    ratios, bounds = found.ratios, found.settings.staleness
    if ratios is None:
        return []
    grid = _grid(f"Ratios under {visible(ratios.policy_id, _CELL)} (version {ratios.policy_version})", _RHO)
    for item in figures:
        rho = item.rho
        if rho is None or not rho.trajectories:
            continue
        gap = "-" if rho.version_gap is None else str(rho.version_gap)
        counts = (rho.trajectories, rho.known, rho.tokens, rho.unknown_tokens, rho.below, rho.above)
        spread = (" ".join(f"{value:.3g}" for value in held.values()) or "-" for held in (rho.sequence, rho.geometric))
        _add(grid, (item.task_type, *(f"{n:,}" for n in counts), gap, *spread))
    parts: list[RenderableType] = [
        grid, Text(f"bounds [{bounds.lower:g}, {bounds.upper:g}], {bounds.mode} by {bounds.level}", style="dim"),
    ]  # fmt: skip
    for n, why in (
        (ratios.not_comparable, "re-scored at another temperature, or raw log-probabilities on one side"),
        (ratios.failed, "whose re-scoring failed"),
    ):
        if n:
            parts.append(Text(f"unknown: {n:,} turn{'s' if n > 1 else ''} {why}", style="yellow"))
    return parts


def _grid(title: str, heads: Sequence[str]) -> Grid:
    grid = Grid(title=title, title_justify="left", box=None, pad_edge=False)
    for at, head in enumerate(heads):
        grid.add_column(head, justify="left" if at == 0 or head == "left out" else "right", no_wrap=at == 0)
    return grid


def _add(grid: Grid, cells: Sequence[str]) -> None:
    grid.add_row(*(Text(visible(cell, _CELL * 2)) for cell in cells))


def _counts(found: dict[str, int]) -> str:
    return ", ".join(f"{n:,} {name}" for name, n in sorted(found.items(), key=lambda item: (-item[1], item[0]))) or "-"


def _figure(value: float | None) -> str:
    shown = "-" if value is None else f"{value:.3f}"
    return "0.000" if shown == "-0.000" else shown
