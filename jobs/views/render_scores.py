"""What ``eval`` and ``compare`` look like on a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from jobs.views.changes import LIST, NAMED, Change, Changes, Moved, SetChange
from jobs.views.compare import Comparison, EvalComparison
from jobs.views.evals import EvalScores
from jobs.views.paired import Pair, Score
from jobs.views.visible import visible
from udfs.stats.bootstrap import Interval

_CELL = 120
#: Ids shown of each list; ``--json`` has up to changes.NAMED.
_IDS = 4


def render_comparison(comparison: Comparison, confidence: float) -> RenderableType:
    """Scores first, then what lies between the rounds."""
    first, second = (f"round {number}" for number in comparison.rounds)
    apart = comparison.collected_apart
    parts: list[RenderableType] = [
        _policies((first, second), tuple(", ".join(side) or "-" for side in comparison.policies)),
        *_pairs(first, second, comparison.fixed, comparison.fixed_by_type, comparison.collected, confidence),
    ]
    if any(apart):
        parts.append(Text(f"collected failures tried by one round alone, or in another way: {apart[0]} in {first}, {apart[1]} in {second}"))
    return Group(*parts, *_changes(comparison.changes, first, second))


def render_eval_comparison(comparison: EvalComparison, confidence: float) -> RenderableType:
    """Two checkpoints on the same sets."""
    first, second = comparison.first.policy_id, comparison.second.policy_id
    return Group(*_pairs(first, second, comparison.fixed, comparison.fixed_by_type, comparison.collected, confidence))


def render_eval(
    held: EvalScores, scores: Mapping[str, Score], types: Mapping[str, Mapping[str, Score]], round_no: int, confidence: float
) -> RenderableType:
    """One checkpoint: both sets, and each by task type."""
    grid = _grid(
        f"{held.policy_id} on the eval sets of round {round_no}", ("set", "score", f"{confidence:.0%} interval", "prompts", "clusters")
    )
    for name, found in scores.items():
        _add(grid, name, found)
        for kind, inner in types[name].items():
            _add(grid, f"  {kind}", inner)
    unknown = [ident for found in scores.values() for ident in found.unknown]
    return Group(grid, *_unknown(unknown, held.policy_id))


def _pairs(first: str, second: str, fixed: Pair, types: Mapping[str, Pair], collected: Pair, confidence: float) -> list[RenderableType]:
    heads = ("set", first, second, "difference", f"{confidence:.0%} interval", "prompts", "clusters")
    grid = _grid(f"Scores ({second} minus {first}, paired by cluster)", heads)
    for name, pair in {"fixed": fixed, **{f"  {kind}": pair for kind, pair in types.items()}, "collected": collected}.items():
        known = pair.difference
        cells = (
            name,
            _rate(pair.first),
            _rate(pair.second),
            _signed(known.estimate),
            _bounds(known, sign=True),
            str(known.prompts),
            str(known.clusters),
        )
        grid.add_row(*(Text(visible(cell, _CELL)) for cell in cells))
    named = [
        *_unknown([*fixed.unknown_first, *collected.unknown_first], first),
        *_unknown([*fixed.unknown_second, *collected.unknown_second], second),
    ]
    return [grid, *named]


def _changes(changes: Changes, first: str, second: str) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(f"\nWhat else changed from {first} to {second}", style="bold")]
    for what, moved in (("training tasks", changes.tasks), ("training prompts", changes.prompts), ("ingests", changes.ingests)):
        parts.append(Text(f"{what}: {moved.came} came, {moved.went} went, {moved.stayed} stayed{_named(moved)}"))
    parts += [_change(change) for change in (*changes.facts, *changes.settings)]
    if not changes.facts and not changes.settings:
        parts.append(Text("settings, templates, verifiers, policy, sampling, code: the same"))
    for side, published in zip((first, second), changes.published, strict=True):
        if not published:
            parts.append(Text(f"{side} is not published: values of settings and published bytes are not known for it", style="yellow"))
    if changes.sets:
        grid = _grid("Published sets", ("set", "rows", "bytes", "files", "shared files", "shared bytes"))
        for item in changes.sets:
            grid.add_row(*(Text(visible(cell)) for cell in _set(item)))
        parts.append(grid)
    return parts


def _named(moved: Moved) -> str:
    """The first ids that came and went."""
    said = [f"{sign} {', '.join(ident[:12] for ident in idents[:_IDS])}{' ...' if len(idents) > _IDS else ''}"
            for sign, idents in (("+", moved.first_came), ("-", moved.first_went)) if idents]  # fmt: skip
    return f" ({'; '.join(said)})" if said and len(moved.first_came) + len(moved.first_went) <= 2 * NAMED else ""


def _change(change: Change) -> Text:
    if not change.values:
        return Text(f"{visible(change.what, _CELL)}: differ (values are known of published rounds only)")
    # Of a list, what came and went; the rest is the same.
    before, after = ((value or "").split(LIST) if value else [] for value in (change.before, change.after))
    went, came = ([part for part in here if part not in there] for here, there in ((before, after), (after, before)))
    said = (visible(LIST.join(side) or "-", _CELL) for side in (went, came))
    return Text(f"{visible(change.what, _CELL)}: {' -> '.join(said)}")


def _set(item: SetChange) -> tuple[str, ...]:
    shared = ("?", "?") if item.shared_files is None else (f"{item.shared_files:,}", f"{item.shared_bytes:,}")
    return (item.name, *(f"{before:,} -> {after:,}" for before, after in (item.rows, item.bytes, item.files)), *shared)


def _policies(sides: tuple[str, str], policies: tuple[str, ...]) -> Text:
    return Text(", ".join(f"{side}: {visible(policy, _CELL)}" for side, policy in zip(sides, policies, strict=True)))


def _unknown(idents: list[str], side: str) -> list[RenderableType]:
    """Prompts that count for nothing, because no sample of theirs has a known reward."""
    if not idents:
        return []
    return [
        Text(f"{len(idents)} prompts of {side} without a known sample: {', '.join(ident[:12] for ident in idents[:_IDS])}", style="yellow")
    ]


def _add(grid: Grid, name: str, found: Score) -> None:
    cells = (name, _rate(found.score), _bounds(found.score), str(found.score.prompts), str(found.score.clusters))
    grid.add_row(*(Text(visible(cell, _CELL)) for cell in cells))


def _rate(interval: Interval) -> str:
    return "-" if interval.estimate is None else f"{interval.estimate:.3f}"


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.3f}"


def _bounds(interval: Interval, *, sign: bool = False) -> str:
    if interval.low is None or interval.high is None:
        return "- (fewer than two clusters)" if interval.prompts else "-"
    return f"{interval.low:+.3f} .. {interval.high:+.3f}" if sign else f"{interval.low:.3f} .. {interval.high:.3f}"


def _grid(title: str, heads: tuple[str, ...]) -> Grid:
    grid = Grid(title=Text(visible(title, _CELL)), title_justify="left", box=None, pad_edge=False)
    for at, head in enumerate(heads):
        grid.add_column(Text(visible(head, _CELL)), justify="right" if at else "left")
    return grid
