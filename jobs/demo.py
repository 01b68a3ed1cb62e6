"""The demo: a corpus from this Python installation through the whole loop, and a page of what happened."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as Grid

from jobs import ingest_corpus
from jobs.cli.common import describe
from jobs.cli.progress import LoopProgress
from jobs.config import load_config
from jobs.context import JobContext
from jobs.loop import run_rounds
from jobs.views.funnel import read_funnel
from jobs.views.query import run_query
from jobs.views.render import render_funnel
from jobs.workspace import Workspace
from udfs.harvest.corpus import harvest

SOURCE = "python"

_SOLVE_RATES = """
SELECT t.task_type AS "task type",
       count(DISTINCT t.task_id) FILTER (t.round = {a}) AS "tasks, round {a}",
       sum((r.verdict = 'correct')::int) FILTER (t.round = {a}) AS k_a, count(r.value) FILTER (t.round = {a}) AS n_a,
       count(DISTINCT t.task_id) FILTER (t.round = {b}) AS "tasks, round {b}",
       sum((r.verdict = 'correct')::int) FILTER (t.round = {b}) AS k_b, count(r.value) FILTER (t.round = {b}) AS n_b
FROM silver.trajectories t JOIN silver.rewards r USING (trajectory_id, round)
WHERE t.role = 'train' AND r.is_outcome AND t.round IN ({a}, {b})
GROUP BY 1 ORDER BY 1
"""
_WHY = "SELECT why, count(*) AS prompts FROM gold.round_plan WHERE round = {n} AND role = 'train' GROUP BY 1 ORDER BY 2 DESC, 1"
_IN_BAND = """
SELECT count(*) FILTER (n_valid > 0 AND k > 0 AND k < n_valid) AS mixed, count(*) AS prompts
FROM silver.task_stats WHERE round = {n} AND role = 'train'
"""
_EVAL = """
SELECT sum(k) AS k, sum(n_valid) AS n, count(*) AS prompts FROM silver.task_stats WHERE round = {n} AND role = 'eval'
"""
_REASONS = {
    "seeded_stratum": "drawn by seed, stratified by task type (a first round knows nothing yet)",
    "in_band": "posterior says the policy solves it between the bounds of the capability band",
    "failed_before": "never solved so far, tried again",
    "unexplored": "never rolled out so far; the curriculum lets in one more stage each round",
    "format_share": "format-constraint task, a fixed share",
    "fill_out_of_band": "fills the round: neither in the band nor clearly outside",
    "fill_mastered": "fills the round: nearly always solved",
}


def run_demo(directory: Path, rounds: int, overrides: Sequence[str], console: Console) -> None:
    """Lay the workspace, harvest, ingest, run ``rounds``, and say what happened and how to go on."""
    workspace = Workspace.init(directory)
    corpus = workspace.root / "corpus"
    if not corpus.is_dir():
        part = workspace.root / ".corpus.part"
        summary = harvest(part)
        part.replace(corpus)
        console.print(f"harvested {summary.total:,} documents from this Python installation into {corpus}", markup=False, soft_wrap=True)
    ctx = JobContext(workspace, load_config(workspace.root, overrides=overrides))
    with LoopProgress(console) as progress:
        ctx.progress = progress.shards
        progress.watch("ingest", str(corpus), None)
        console.print(describe(ingest_corpus.run(ctx, [str(corpus)], source=SOURCE)), markup=False, soft_wrap=True)
        run_rounds(ctx, rounds, progress.watch)
    print_summary(workspace, rounds, console)


def print_summary(workspace: Workspace, rounds: int, console: Console) -> None:
    """Funnel, solve rates by task type, what changed between the last two rounds and why, and the commands to go on with."""
    console.print()
    console.rule("the funnel: every row that went in, and what became of it")
    console.print(render_funnel(read_funnel(workspace)))
    if rounds > 1:
        _print_rounds(workspace, rounds - 1, rounds, console)
    where = shlex.quote(str(workspace.root))
    example = _one(workspace, "SELECT trajectory_id FROM gold.sft ORDER BY round, sft_id LIMIT 1")
    console.rule("go on with")
    for command, what in (
        (f"verilake status -w {where}", "ingests, rounds, tables, next step"),
        (
            f"verilake explain {example['trajectory_id'] if example else 'ID'} -w {where}",
            "one training row back to the bytes of its source",
        ),
        (f"verilake sql -w {where}", "every table with its columns; add a query to run it"),
        (f"verilake run --rounds {rounds + 1} -w {where}", "one more round"),
        (f"verilake ingest YOUR_FILES... -w {where}", "your own corpus"),
    ):
        console.print(f"  .venv/bin/{command}\n      {what}", markup=False, soft_wrap=True)


def _print_rounds(workspace: Workspace, a: int, b: int, console: Console) -> None:
    console.rule(f"solve rates of training tasks by type, round {a} and {b}")
    grid = Grid(box=None, pad_edge=False)
    for name in ("task type", f"tasks in {a}", f"solved in {a}", f"tasks in {b}", f"solved in {b}"):
        grid.add_column(name, justify="left" if name == "task type" else "right")
    for row in run_query(workspace, _SOLVE_RATES.format(a=a, b=b)).rows:
        kind, tasks_a, k_a, n_a, tasks_b, k_b, n_b = row
        grid.add_row(str(kind), str(tasks_a), _rate(k_a, n_a), str(tasks_b), _rate(k_b, n_b))
    console.print(grid)
    console.rule(f"what changed from round {a} to round {b}, and why")
    for number in (a, b):
        mixed = _one(workspace, _IN_BAND.format(n=number)) or {"mixed": 0, "prompts": 0}
        console.print(
            f"round {number}: {mixed['mixed']} of {mixed['prompts']} training prompts had both right and wrong samples (only those teach anything)"
        )
        for why, prompts in run_query(workspace, _WHY.format(n=number)).rows:
            console.print(f"  {prompts:>5}  {why:<18} {_REASONS.get(why, '')}", markup=False, soft_wrap=True)
    held = [_one(workspace, _EVAL.format(n=n)) for n in (a, b)]
    if all(held):
        rates = " and ".join(_rate(h["k"], h["n"]) for h in held if h)
        console.print(
            f"held out: the same {held[0]['prompts'] if held[0] else 0} prompts in both rounds, solved {rates}; the policy is the same, so is the score"
        )


def _rate(k: int | None, n: int | None) -> str:
    return "-" if not n else f"{100 * (k or 0) / n:.0f} %"


def _one(workspace: Workspace, query: str) -> dict[str, Any] | None:
    result = run_query(workspace, query)
    return dict(zip(result.columns, result.rows[0], strict=True)) if result.rows else None
