"""What conversion cost, on a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from jobs.views.conversion import ConversionCosts, StageCost
from jobs.views.visible import visible

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
    counted = (("candidate", costs.candidates), ("admitted task", costs.admitted), ("task in the capability band", costs.in_band))
    told = [f"{count:,} {what}s" + ("" if (price := costs.per(count)) is None else f", {price:.6g} each") for what, count in counted]
    return Group(grid, Text(f"paid {costs.price:.6g}: {'; '.join(told)}".replace("bands", "band")))


def _line(stage: StageCost, *, by_persona: bool) -> list[Text]:
    persona = [Text(visible(stage.persona or "-", _NAME))] if by_persona else []
    figures = [
        f"{stage.total:,}", f"{stage.states.get('passed', 0):,} ({stage.passed:.0%})", f"{stage.draws:,}", f"{stage.prompt_tokens:,}",
        f"{stage.cached_tokens:,}", f"{stage.completion_tokens:,}", f"{stage.price:.6g}",
    ]  # fmt: skip
    return [Text(stage.stage), Text(visible(stage.domain or "-", _NAME)), *persona, *map(Text, figures)]
