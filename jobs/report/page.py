"""The page: a template of ``conf/report`` filled with a :class:`jobs.report.content.Content`, everything escaped."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from jinja2 import Environment, FunctionLoader, StrictUndefined

from jobs.report import charts, marks
from jobs.report.content import Content
from jobs.report.contrast import sides
from jobs.report.rounds import RoundFacts
from jobs.report.spread import OUTCOMES
from jobs.report.tables import REASONS
from jobs.views.funnel import WAITING, Sum

#: Parts of a sum that the page names; rarer ones are added up.
_PARTS = 8
#: Texts longer than this are folded away until someone opens them.
_FOLDED = 700


def render(content: Content) -> str:
    """The whole page as text; the same content gives the same bytes."""
    environment = Environment(
        loader=FunctionLoader(_source), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "name": marks.name, "cell": marks.cell, "block": marks.block, "plain": marks.plain, "count": marks.count, "share": marks.share, "bounds": marks.bounds, "points": marks.points,
        "figure": marks.figure, "seconds": marks.seconds, "size": marks.size, "moment": marks.moment,
    }  # fmt: skip
    style = environment.get_template("style.css").render()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    page = environment.get_template("page.html.j2").render(
        c=content, style_hash=f"sha256-{digest}", trend=_trend(content.rounds), whisker=charts.whisker, columns=charts.columns, stack=charts.stack,
        sum_parts=sum_parts, sides=sides, waiting=WAITING, reasons=REASONS, outcomes=OUTCOMES, folded=_FOLDED, paid=sum(cost.price for cost in content.costs),
    )  # fmt: skip
    return page + "\n"


def _source(name: str) -> str:
    return resources.files("conf").joinpath("report", name).read_text("utf-8")


def sum_parts(item: Sum) -> list[tuple[str, int, str]]:
    """(name, count, kind) of the parts of a sum: ``on`` for what goes on, ``out`` for what left with a reason, ``wait`` for what waits."""
    parts = [(name, n, "wait" if name == WAITING else "out" if ":" in name else "on") for name, n in item.parts.items()]
    left = sorted((part for part in parts if part[2] == "out"), key=lambda part: (-part[1], part[0]))
    kept = [part for part in parts if part[2] != "out"]
    rest = left[_PARTS:]
    return kept + left[:_PARTS] + ([(f"for {len(rest)} rarer reasons", sum(part[1] for part in rest), "out")] if rest else [])


def _trend(rounds: list[RoundFacts]) -> dict[str, object] | None:
    """Lines of the solve rates over the rounds; None where there is but one round."""
    if len(rounds) < 2:
        return None
    chosen = {"held": [facts.held_out for facts in rounds], "train": [facts.train for facts in rounds]}
    values = {key: [rate.known.rate if rate else None for rate in rates] for key, rates in chosen.items()}
    spans = {key: [rate.known.interval if rate else None for rate in rates] for key, rates in chosen.items()}
    ends = [end for intervals in spans.values() for interval in intervals if interval for end in interval]
    axis = charts.Axis.around(ends)
    return {"axis": axis, "first": rounds[0].round, "last": rounds[-1].round} | {
        key: charts.line(values[key], spans[key], axis) for key in chosen
    }
