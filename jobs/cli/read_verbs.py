"""Verbs that only read: no JVM, an answer in about a second."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date, datetime
from typing import Annotated, Any

import typer

from jobs.cli.common import HERE, JsonFlag, Output, WorkspaceFlag
from jobs.config import load_config
from jobs.views.audits import audited_checkers
from jobs.views.conversion import conversion_costs
from jobs.views.explain import SHOWN
from jobs.views.explain import explain as explain_id
from jobs.views.funnel import read_funnel
from jobs.views.query import ROWS, list_tables, run_query
from jobs.views.quotas import quota_cells
from jobs.views.reader import LakeReader
from jobs.views.render import render_explanation, render_funnel, render_query, render_status, render_tables
from jobs.views.render_conversion import render_audits, render_cells, render_conversion
from jobs.views.status import read_status
from jobs.workspace import Workspace
from schemas.errors import VerilakeError


class FunnelError(VerilakeError):
    """A station lost or invented rows."""

    @classmethod
    def from_count(cls, failing: int) -> FunnelError:
        """How many sums do not hold; the table above names them."""
        return cls(f"{failing} sums of the funnel do not add up; see above which. Do not train on this lake before the cause is found.")


def register(app: typer.Typer) -> None:
    """Add these verbs to the command."""
    app.command("status")(status)
    app.command("funnel")(funnel)
    app.command("audits")(audits)
    app.command("explain")(explain)
    app.command("sql")(sql)


def status(workspace: WorkspaceFlag = HERE, as_json: JsonFlag = False) -> None:
    """Ingests, rounds, tables, what is stale, and the next command."""
    output, found = Output(as_json), read_status(Workspace.open(workspace))
    output.console.print(render_status(found))
    output.result(plain(asdict(found)))


def funnel(
    prices: Annotated[
        bool,
        typer.Option(
            "--prices", help="Also yield, tokens and money of conversion by stage and domain, and how full the cells of its quotas are."
        ),
    ] = False,
    by_persona: Annotated[bool, typer.Option("--by-persona", help="With --prices: a line for each persona as well.")] = False,
    workspace: WorkspaceFlag = HERE,
    as_json: JsonFlag = False,
) -> None:
    """What went into every station and what became of it; each sum is checked."""
    opened = Workspace.open(workspace)
    output, found = Output(as_json), read_funnel(opened)
    output.console.print(render_funnel(found))
    told = {"sums": [{**asdict(item), "holds": item.holds} for item in found.sums], "failing": len(found.failing)}
    if prices or by_persona:
        costs = conversion_costs(opened, by_persona=by_persona)
        output.console.print(render_conversion(costs))
        per = {"price_per_candidate": costs.candidates, "price_per_task": costs.admitted, "price_per_task_in_band": costs.in_band}
        told["conversion"] = {**asdict(costs), **{name: costs.per(count) for name, count in per.items()}}
        config = load_config(opened.root)
        if config.convert.quotas.per_cell:
            cells = quota_cells(LakeReader.open(opened), config.convert.quotas, config.plan.band)
            output.console.print(render_cells(cells))
            told["quotas"] = [asdict(cell) for cell in cells]
    output.result(plain(told))
    if found.failing:
        raise FunnelError.from_count(len(found.failing))


def audits(workspace: WorkspaceFlag = HERE, as_json: JsonFlag = False) -> None:
    """How far the models that check converted questions can be trusted: recall, precision and pass rate on items whose truth is known."""
    output, found = Output(as_json), audited_checkers(Workspace.open(workspace))
    output.console.print(render_audits(found))
    output.result(plain({"checkers": [asdict(checker) for checker in found]}))


def explain(
    ident: Annotated[str, typer.Argument(metavar="ID", help="Any id of any layer, or a unique prefix of at least 8 digits.")],
    shown: Annotated[int, typer.Option("--limit", min=1, help="Rows shown of each table.")] = SHOWN,
    workspace: WorkspaceFlag = HERE,
    as_json: JsonFlag = False,
) -> None:
    """The whole chain of an id, both ways: where it comes from and everything it led to."""
    output, found = Output(as_json), explain_id(Workspace.open(workspace), ident, shown=shown)
    output.console.print(render_explanation(found))
    output.result(plain(asdict(found)))


def sql(
    query: Annotated[
        str | None, typer.Argument(help="One query of DuckDB's dialect over tables named layer.table; without it, the tables are listed.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most rows to return.")] = ROWS,
    workspace: WorkspaceFlag = HERE,
    as_json: JsonFlag = False,
) -> None:
    """Query the lake, read-only."""
    output, opened = Output(as_json), Workspace.open(workspace)
    if query is None:
        tables = list_tables(opened)
        output.console.print(render_tables(tables))
        output.result(plain({"tables": [asdict(table) for table in tables]}))
        return
    result = run_query(opened, query, limit=limit)
    output.console.print(render_query(result))
    output.result(plain(asdict(result)))


def plain(value: Any) -> Any:
    """``value`` as JSON can carry it: times in ISO 8601, bytes in base64, other things as text."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and value != value:  # noqa: PLR0124  # NaN is the one value that differs from itself
        return None
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
