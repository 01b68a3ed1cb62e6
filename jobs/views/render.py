"""What the read-only commands look like on a terminal; every text from the lake is shown as text, never as markup."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from jobs.views.explain import Explanation, Section
from jobs.views.funnel import WAITING, Funnel, Sum
from jobs.views.query import QueryResult, TableInfo
from jobs.views.render_probes import contrast_line, probe_lines
from jobs.views.status import Status
from jobs.views.visible import visible

_CELL = 300
#: Rounds that status shows line by line, the newest.
_ROUNDS = 12
#: Reasons that a line of the funnel names.
_REASONS = 6
_HEADS = {"source": "comes from", "here": "is", "reached": "led to"}


def render_status(status: Status) -> RenderableType:
    """Ingests, rounds, tables, what is stale, and the next command."""
    parts: list[RenderableType] = [Text(f"workspace {status.workspace}, schema version {status.schema_version or '-'}")]
    if status.ingests:
        rows = [
            (str(i.seq), i.ingest_id[:12], f"{i.documents:,}", f"{i.rejects:,}", f"{i.at:%Y-%m-%d %H:%M}", ", ".join(i.waiting_for) or "-")
            for i in status.ingests
        ]
        parts.append(_grid("Ingests", ("#", "ingest", "documents", "rejects", "at (UTC)", "waits for"), rows, right=(2, 3)))
    if status.rounds:
        rounds = [
            (str(r.round), r.state, r.policy_id or "-", f"{r.at:%Y-%m-%d %H:%M}", "" if r.in_ledger else "not as in ops.rounds")
            for r in status.rounds[-_ROUNDS:]
        ]
        parts.append(_grid("Rounds", ("round", "state", "policy", "at (UTC)", ""), rounds))
        states = Counter(r.state for r in status.rounds[:-_ROUNDS])
        if states:
            parts.append(
                Text(f"and {states.total()} earlier: {', '.join(f'{n} {state}' for state, n in sorted(states.items()))}", style="dim")
            )
    if status.tables:
        tables = [(t.name, f"{t.rows:,}", _size(t.bytes), str(t.files), str(t.version)) for t in status.tables]
        parts.append(_grid("Tables", ("table", "rows", "size", "files", "version"), tables, right=(1, 2, 3, 4)))
    parts += [Text(f"stale: {s.job} {s.scope}: {s.why}", style="yellow") for s in status.stale]
    parts += [Text(f"failed: {s.job} {s.scope}: {visible(s.why, _CELL)}", style="red") for s in status.failed]
    parts.append(Text(f"next: {status.next_command}", style="bold"))
    return Group(*parts)


def render_funnel(funnel: Funnel) -> RenderableType:
    """One line a sum, with its mark; failing sums again at the end, loudly."""
    grid = Grid(box=None, pad_edge=False)
    for name in ("", "station", "scope", "in", "what", "became"):
        grid.add_column(name, justify="right" if name == "in" else "left", no_wrap=name in {"station", "scope"})
    for item in funnel.sums:
        grid.add_row(
            _mark(item), item.station, _scope(item.scope), "?" if item.total is None else f"{item.total:,}", item.what, _parts(item)
        )
    failing = [
        Text(
            f"DOES NOT ADD UP: {s.station} {s.scope}: {s.total:,} {s.what}, but the parts make {sum(s.parts.values()):,} ({s.difference:+,})",
            style="bold red",
        )
        for s in funnel.failing
    ]
    said = Text(f"{len(funnel.sums) - len(failing)} of {len(funnel.sums)} sums hold", style="green" if not failing else "red")
    return Group(grid, *failing, said)


def render_explanation(explanation: Explanation) -> RenderableType:
    """The chain, station by station."""
    parts: list[RenderableType] = [Text(f"{explanation.ident}  ({', '.join(explanation.found_in)})", style="bold")]
    parts += [part for section in explanation.sections for part in _section(section)]
    if explanation.contrasts:
        parts.append(Text("\nwith and without its passage", style="bold"))
        parts += [Text(f"  {contrast.task_id} {visible(contrast_line(contrast), _CELL)}") for contrast in explanation.contrasts]
    if explanation.sums:
        parts.append(render_funnel(Funnel(explanation.sums)))
    return Group(*parts)


def render_query(result: QueryResult) -> RenderableType:
    """Rows as a grid."""
    grid = Grid(pad_edge=False)
    for name in result.columns:
        grid.add_column(Text(visible(name, _CELL)))
    for row in result.rows:
        grid.add_row(*(Text(_cell(value)) for value in row))
    said = f"{len(result.rows)} row{'s' if len(result.rows) != 1 else ''}" + (", and more (see --limit)" if result.truncated else "")
    return Group(grid, Text(said))


def render_tables(tables: Iterable[TableInfo]) -> RenderableType:
    """Every table with its columns and comments."""
    parts: list[RenderableType] = []
    for table in tables:
        rows = "not in this lake" if table.rows is None else f"{table.rows:,} rows"
        parts.append(Text.assemble((table.name, "bold"), f"  {rows}, key {', '.join(table.key)}: {table.comment}"))
        grid = Grid(box=None, show_header=False, pad_edge=False, padding=(0, 2))
        for column in table.columns:
            grid.add_row("", Text(column.name), Text(column.type + ("?" if column.nullable else ""), style="dim"), Text(column.comment))
        parts.append(grid)
    return Group(*parts)


def _section(section: Section) -> Iterable[RenderableType]:
    count = f"{section.total:,}" + ("" if section.complete else " or more")
    more = f"{count}, the first {len(section.rows)}" if section.total > len(section.rows) else count
    yield Text.assemble(
        "\n", (f"{_HEADS[section.direction]} {section.title}", "bold" if section.direction == "here" else ""), f"  {section.table} ({more})"
    )
    for row in section.rows:
        key = ", ".join(f"{name} {_cell(row[name])}" for name in section.key)
        yield Text("  " + key, style="cyan")
        if "evidence_text" in row:
            yield _evidence(row)
        yield from (Text(f"      {visible(line, _CELL)}") for line in probe_lines(row.get("probes") or "{}"))
        for name, value in row.items():
            if (
                name not in section.key
                and name not in {"evidence_text", "evidence_holds", "evidence_marked", "probes"}
                and value not in (None, "", [])
            ):
                yield Text(f"      {name}: {_cell(value)}")


def _evidence(row: dict[str, Any]) -> Text:
    """The span of evidence within its document, the answer within the span; marked by signs as well, for where there are no colours."""
    holds = "its hash holds" if row["evidence_holds"] else "ITS HASH DOES NOT HOLD"
    shown = Text("      ")
    pieces = row["evidence_marked"] or [("evidence", row["evidence_text"])]
    first, last = (
        next((at for at in order if pieces[at][0] != "context"), None) for order in (range(len(pieces)), range(len(pieces) - 1, -1, -1))
    )
    for at, (kind, piece) in enumerate(pieces):
        text = f"[{_cell(piece)}]" if kind == "answer" else _cell(piece)
        shown.append(("“" if at == first else "") + text + ("”" if at == last else ""), style=_MARKS[kind])
    return shown.append(f"  ({holds})", style="" if row["evidence_holds"] else "bold red")


#: Styles of the pieces of a document around its evidence.
_MARKS = {"context": "dim", "evidence": "yellow", "answer": "bold reverse"}


def _grid(title: str, heads: tuple[str, ...], rows: Iterable[tuple[str, ...]], right: tuple[int, ...] = ()) -> Grid:
    grid = Grid(title=title, title_justify="left", box=None, pad_edge=False)
    for at, head in enumerate(heads):
        grid.add_column(head, justify="right" if at in right else "left")
    for row in rows:
        grid.add_row(*(Text(visible(cell)) for cell in row))
    return grid


def _mark(item: Sum) -> Text:
    if item.holds is None:
        return Text("?", style="yellow")
    if not item.holds:
        return Text("✗", style="bold red")
    return Text("…", style="yellow") if WAITING in item.parts else Text("✓", style="green")


def _parts(item: Sum) -> Text:
    """The parts, the commonest reasons first; rare ones are added up in the last words (``--json`` names them all)."""
    plain = [(name, count) for name, count in item.parts.items() if ":" not in name]
    reasons = sorted(((name, count) for name, count in item.parts.items() if ":" in name), key=lambda part: (-part[1], part[0]))
    said = [f"{count:,} {visible(name)}" for name, count in [*plain, *reasons[:_REASONS]]]
    if rest := reasons[_REASONS:]:
        said.append(f"{sum(count for _, count in rest):,} for {len(rest)} rarer reasons")
    return Text(" + ".join(said) or "-")


def _scope(scope: str) -> str:
    kind, equals, ident = scope.partition("=")
    return f"{kind}{equals}{ident[:12]}"


def _cell(value: Any) -> str:
    return "-" if value is None else visible(value if isinstance(value, str) else str(value), _CELL)


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
