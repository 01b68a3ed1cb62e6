"""The demo: a corpus from this Python installation through the whole loop, and a page of what happened."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as Grid

from jobs import evaluate_policy, ingest_corpus
from jobs.cli.common import describe
from jobs.cli.progress import LoopProgress
from jobs.config import load_config
from jobs.context import JobContext
from jobs.ledger import read_events
from jobs.loop import Watcher, run_rounds
from jobs.report import default_target
from jobs.report.tables import REASONS
from jobs.views.compare import compare
from jobs.views.evals import eval_scores
from jobs.views.funnel import read_funnel
from jobs.views.query import run_query
from jobs.views.reader import LakeReader
from jobs.views.render import render_funnel
from jobs.views.render_scores import render_comparison
from jobs.workspace import Workspace
from schemas.ids import seed_from
from schemas.ops.bindings import BINDINGS
from udfs.harvest.corpus import harvest
from udfs.stats.bootstrap import Interval, replica_interval

SOURCE = "python"
#: Three seeds, so that the rise of the held-out score is seen beside how much the seed alone matters.
SETTINGS = "\n[train]\nreplicas = 3\n"

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
_MAJORITY = """
WITH answers AS (
    SELECT eval_id, prompt_id, extracted_answer, count(*) AS n, bool_or(verdict = 'correct') AS ok
    FROM silver.eval_samples WHERE eval_set = 'fixed' AND reward IS NOT NULL GROUP BY 1, 2, 3
), first AS (
    SELECT *, row_number() OVER (PARTITION BY eval_id, prompt_id ORDER BY n DESC, extracted_answer) AS place FROM answers
)
SELECT eval_id, avg(ok::int) FROM first WHERE place = 1 GROUP BY 1
"""


def run_demo(directory: Path, rounds: int, overrides: Sequence[str], console: Console) -> None:
    """Lay the workspace, harvest, ingest, run ``rounds``, and say what happened and how to go on."""
    workspace = Workspace.init(directory)
    lay_settings(workspace)
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
        training = evaluate_training(ctx, 1, progress.watch) if ctx.config.train.trainer == "reader" else None
    print_summary(ctx, rounds, training, console)


def lay_settings(workspace: Workspace) -> None:
    """The demo's own settings, in its workspace's file, where later commands find them too."""
    if "[train]" not in (text := workspace.conf_file.read_text("utf-8")):
        workspace.conf_file.write_text(text + SETTINGS, "utf-8")


@dataclass(frozen=True)
class Training:
    """What training on one round did to the held-out score.

    Attributes:
        prompts: held-out prompts that every side knows.
        before: mean score of the checkpoint that the round rolled out.
        after: mean score of each training seed's checkpoint.
        change: after minus before over seeds and prompts, with its interval.
        majority_before: share of prompts whose commonest sampled answer was right.
        majority_after: likewise, mean over the seeds.
    """

    prompts: int
    before: float
    after: tuple[float, ...]
    change: Interval
    majority_before: float
    majority_after: float


def evaluate_training(ctx: JobContext, round_no: int, watch: Watcher) -> Training | None:
    """Score the parent and every replica trained on a round on its fixed held-out prompts, through the workers; None where none was trained."""
    bound = [row for row in read_events(ctx.lake, BINDINGS) if row["round"] == round_no and row["parent_checkpoint_id"]]
    parents = {row["parent_checkpoint_id"] for row in bound}
    if len(parents) != 1:
        return None
    policies = [*parents, *sorted(row["checkpoint_id"] for row in bound)]
    held, evals = [], []
    for policy_id in policies:
        watch("eval", f"policy={policy_id}", None)
        report = evaluate_policy.run(ctx, policy_id, round_no=round_no)
        watch("eval", f"policy={policy_id}", report)
        evals.append(report.scope.partition("=")[2])
        held.append(eval_scores(LakeReader.open(ctx.workspace), evals[-1]).fixed)
    rates = [{p.prompt_id: p.rate for p in side if p.rate is not None} for side in held]
    clusters = {p.prompt_id: p.cluster_id for p in held[0]}
    common = sorted(set.intersection(*(set(side) for side in rates)))
    if not common:
        return None
    change = replica_interval(
        [[side[ident] - rates[0][ident] for ident in common] for side in rates[1:]], [clusters[ident] for ident in common],
        seed=seed_from("demo", *policies), resamples=ctx.config.eval.bootstrap, confidence=ctx.config.eval.confidence,
    )  # fmt: skip
    means = [sum(side[ident] for ident in common) / len(common) for side in rates]
    majority = {row[0]: float(row[1]) for row in run_query(ctx.workspace, _MAJORITY).rows}
    after = [majority[ident] for ident in evals[1:]]
    return Training(len(common), means[0], tuple(means[1:]), change, majority[evals[0]], sum(after) / len(after))


def print_summary(ctx: JobContext, rounds: int, training: Training | None, console: Console) -> None:
    """Funnel, solve rates by task type, what changed between the last two rounds and why, what training did, and the commands to go on with."""
    workspace = ctx.workspace
    console.print()
    console.rule("the funnel: every row that went in, and what became of it")
    console.print(render_funnel(read_funnel(workspace)))
    if rounds > 1:
        _print_rounds(workspace, rounds - 1, rounds, console)
        console.rule(f"rounds {rounds - 1} and {rounds} on the same held-out prompts")
        console.print(render_comparison(compare(workspace, rounds - 1, rounds, ctx.config.eval), ctx.config.eval.confidence))
    if training is not None:
        _print_training(training, ctx.config.eval.confidence, console)
    where = shlex.quote(str(workspace.root))
    example = _one(workspace, "SELECT trajectory_id FROM gold.sft ORDER BY round, sft_id LIMIT 1")
    console.rule("go on with")
    console.print(f"  report of round {rounds}: {default_target(workspace, rounds)}", markup=False, soft_wrap=True)
    for command, what in (
        (f".venv/bin/verilake ui -w {where}", "the rounds in MLflow; `make ui` for this demo"),
        (f".venv/bin/verilake checkout round-1 DIR -w {where}", "exactly the bytes that round 1 published, verified"),
        (f".venv/bin/verilake compare 1 {rounds} -w {where}", "two rounds on the same held-out prompts, and which data changed"),
        (f".venv/bin/verilake status -w {where}", "ingests, rounds, tables, next step"),
        (
            f".venv/bin/verilake explain {example['trajectory_id'] if example else 'ID'} -w {where}",
            "one training row back to the bytes of its source",
        ),
        (f".venv/bin/verilake sql -w {where}", "every table with its columns; add a query to run it"),
        (f".venv/bin/verilake run --rounds {rounds + 1} -w {where}", "one more round"),
        (f".venv/bin/verilake ingest YOUR_FILES... -w {where}", "your own corpus"),
    ):
        console.print(f"  {command}\n      {what}", markup=False, soft_wrap=True)


def _print_training(training: Training, confidence: float, console: Console) -> None:
    console.rule("what training on round 1 did to the held-out score")
    change = training.change
    seeds = ", ".join(f"{100 * value:.1f} %" for value in training.after)
    said = (
        f"{training.prompts} held-out prompts, never trained on: {100 * training.before:.1f} % solved before; "
        f"after, by {len(training.after)} training seeds: {seeds}"
    )
    if change.estimate is not None and change.low is not None and change.high is not None:
        said += (
            f"\nchange {100 * change.estimate:+.1f} points; {100 * confidence:.0f} % interval {100 * change.low:+.1f} to {100 * change.high:+.1f}"
            " (bootstrap over documents and seeds)"
        )
    said += (
        f"\nmuch of such a rise is sharpening, a right choice made more often: the commonest of its samples was right on {100 * training.majority_before:.1f} % "
        f"of the prompts before and on {100 * training.majority_after:.1f} % after"
    )
    console.print(said, markup=False, soft_wrap=True)


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
            console.print(f"  {prompts:>5}  {why:<18} {REASONS.get(why, '')}", markup=False, soft_wrap=True)


def _rate(k: int | None, n: int | None) -> str:
    return "-" if not n else f"{100 * (k or 0) / n:.0f} %"


def _one(workspace: Workspace, query: str) -> dict[str, Any] | None:
    result = run_query(workspace, query)
    return dict(zip(result.columns, result.rows[0], strict=True)) if result.rows else None
