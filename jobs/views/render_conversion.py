"""What conversion cost, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from jobs.views.audits import AuditedChecker
from jobs.views.conversion import ConversionCosts, StageCost
from jobs.views.quotas import CellFill
from jobs.views.visible import visible
from udfs.judging.calibration import Share

_NAME = 60


def render_conversion(costs: ConversionCosts) -> RenderableType:
    """A line for each stage and domain; below, the price of what came of it."""
    if not costs.stages:
        return Text("nothing is converted yet", style="dim")
    by_persona = any(stage.persona is not None for stage in costs.stages)
    heads = ("stage", "domain", *(("persona",) if by_persona else ()), "came", "passed", "calls", "prompt", "cached", "completion", "price")
    grid = Grid(title="Conversion", title_justify="left", box=None, pad_edge=False)
    for name in heads:
        grid.add_column(name, justify="left" if name in ("stage", "domain", "persona") else "right")
    for stage in costs.stages:
        grid.add_row(*_line(stage, by_persona=by_persona))
    counted = (("candidates", costs.candidates), ("admitted tasks", costs.admitted), ("tasks in the capability band", costs.in_band))
    told = [f"{count:,} {what}" + ("" if (price := costs.per(count)) is None else f", {price:.6g} each") for what, count in counted]
    return Group(grid, Text(f"paid {costs.price:.6g}: {'; '.join(told)}"))


def _line(stage: StageCost, *, by_persona: bool) -> list[Text]:
    persona = [Text(visible(stage.persona or "-", _NAME))] if by_persona else []
    figures = [
        f"{stage.total:,}", f"{stage.states.get('passed', 0):,} ({stage.passed:.0%})", f"{stage.draws:,}", f"{stage.prompt_tokens:,}",
        f"{stage.cached_tokens:,}", f"{stage.completion_tokens:,}", f"{stage.price:.6g}",
    ]  # fmt: skip
    return [Text(stage.stage), Text(visible(stage.domain or "-", _NAME)), *persona, *map(Text, figures)]


def render_cells(cells: Sequence[CellFill]) -> RenderableType:
    """A line for each cell of the pool that conversion is to fill."""
    if not cells:
        return Text("no task is admitted yet, and convert.quotas.cells names none: no cell is known", style="dim")
    grid = Grid(title="Quotas", title_justify="left", box=None, pad_edge=False)
    for name in ("cell", "wished", "filled", "lacking"):
        grid.add_column(name, justify="left" if name == "cell" else "right")
    for cell in cells:
        grid.add_row(Text(visible(cell.cell, _NAME)), *(Text(f"{count:,}") for count in (cell.wished, cell.filled, cell.lacking)))
    return grid


def render_audits(checkers: Sequence[AuditedChecker]) -> RenderableType:
    """A line for each checker and domain, with intervals."""
    if not checkers:
        return Text("no checking model was audited: name a file of labelled items in convert.audit", style="dim")
    grid = Grid(title="Audits of checking models", title_justify="left", box=None, pad_edge=False)
    for name in (
        "conversion",
        "model",
        "template",
        "domain",
        "bad ones rejected",
        "rejected ones bad",
        "good ones passed",
        "what got past",
    ):
        grid.add_column(name)
    for checker in checkers:
        found = checker.calibration
        missed = ", ".join(f"{count} {flaw}" for flaw, count in checker.flaws.items())
        names = (checker.ingest_id[:12], checker.model, checker.template, checker.domain or "all")
        grid.add_row(
            *(Text(visible(name, _NAME)) for name in names),
            *(Text(_share(share)) for share in (found.recall, found.precision, found.pass_rate)),
            Text(missed or "-"),
        )
    return Group(grid)


def _share(share: Share) -> str:
    low, high = share.interval
    return "-" if share.value is None else f"{share.k} of {share.n} = {share.value:.0%} [{low:.0%}, {high:.0%}]"
