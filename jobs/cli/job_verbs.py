"""Verbs that write: one a job, and the whole loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from jobs import (
    admit_tasks,
    check_quality,
    convert_corpus,
    curate_corpus,
    feed_back,
    ingest_corpus,
    ingest_rollouts,
    plan_round,
    rollout_round,
)
from jobs.cli.common import (
    HERE,
    ConfFlag,
    IngestFlag,
    JsonFlag,
    Output,
    RestateFlag,
    RoundFlag,
    SetFlag,
    WorkspaceFlag,
    open_context,
    report_json,
)
from jobs.cli.progress import LoopProgress
from jobs.context import JobContext, JobReport
from jobs.loop import ingests, run_rounds
from schemas.errors import UnknownIdError

_INGEST_VERBS: tuple[tuple[str, Callable[[JobContext, str], JobReport], str], ...] = (
    ("curate", curate_corpus.run, "Exact and near duplicates, quality heuristics: a verdict for every document."),
    ("convert", convert_corpus.run, "Documents to candidate questions, through the hand-off and its workers."),
    ("admit", admit_tasks.run, "Candidate questions to tasks and prompts: evidence, leaks, collisions, near misses."),
)
_ROUND_VERBS: tuple[tuple[str, Callable[[JobContext, int], JobReport], str], ...] = (
    ("ingest-rollouts", ingest_rollouts.run, "Rollouts of a round into the five silver tables, graded."),
    ("check", check_quality.run, "Quality of every trajectory, figures and alerts of a round."),
    ("feedback", feed_back.run, "Solve rates, SFT rows, preference pairs, repair queue; closes the round."),
)


def register(app: typer.Typer) -> None:
    """Add these verbs to the command."""
    app.command("ingest")(ingest)
    for name, job, help_text in _INGEST_VERBS:
        app.command(name, help=help_text)(_ingest_verb(job))
    app.command("plan")(plan)
    app.command("rollout")(rollout)
    for name, round_job, help_text in _ROUND_VERBS:
        app.command(name, help=help_text)(_round_verb(round_job))
    app.command("run")(run)


def ingest(
    paths: Annotated[
        list[Path], typer.Argument(help="Files or directories: JSONL (plain, gzip, zstd), Parquet, plain text; told apart by content.")
    ],
    source: Annotated[str | None, typer.Option("--source", help="Name of the collection; default: the file's or directory's name.")] = None,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Read a corpus into bronze.documents; what cannot be read goes to bronze.rejects with its place and reason."""
    output = Output(as_json)
    report = ingest_corpus.run(open_context(workspace, conf, overrides), [str(path) for path in paths], source=source)
    output.report(report)
    output.result(report_json(report))


def _ingest_verb(job: Callable[[JobContext, str], JobReport]) -> Callable[..., None]:
    def verb(
        ingest: IngestFlag = None,
        workspace: WorkspaceFlag = HERE,
        conf: ConfFlag = None,
        overrides: SetFlag = None,
        as_json: JsonFlag = False,
    ) -> None:
        output, ctx = Output(as_json), open_context(workspace, conf, overrides)
        wanted = ingests(ctx)
        if ingest is not None:
            wanted = [ident for ident in wanted if ident.startswith(ingest)]
            if len(wanted) != 1:
                raise UnknownIdError.from_id(ingest)
        reports = []
        for ident in wanted:
            reports.append(job(ctx, ident))
            output.report(reports[-1])
        output.result({"reports": [report_json(report) for report in reports]})

    return verb


def _round_verb(job: Callable[[JobContext, int], JobReport]) -> Callable[..., None]:
    def verb(
        round_no: RoundFlag, workspace: WorkspaceFlag = HERE, conf: ConfFlag = None, overrides: SetFlag = None, restate: RestateFlag = False,
        as_json: JsonFlag = False,
    ) -> None:  # fmt: skip
        output = Output(as_json)
        report = job(open_context(workspace, conf, overrides, restate=restate), round_no)
        output.report(report)
        output.result(report_json(report))

    return verb


def plan(
    round_no: RoundFlag,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    restate: RestateFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Which prompts a round rolls out, in which role, and why."""
    output, ctx = Output(as_json), open_context(workspace, conf, overrides, restate=restate)
    report = plan_round.run(ctx, round_no, policy_id=rollout_round.current_policy(ctx))
    output.report(report)
    output.result(report_json(report))


def rollout(
    round_no: RoundFlag, workspace: WorkspaceFlag = HERE, conf: ConfFlag = None, overrides: SetFlag = None, as_json: JsonFlag = False
) -> None:
    """Sample the planned prompts through the hand-off and its workers."""
    output = Output(as_json)
    report = rollout_round.run(open_context(workspace, conf, overrides), round_no)
    output.report(report)
    output.result(report_json(report))


def run(
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Bring the lake to this many closed rounds.")] = 1,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Run the whole loop; what is done already is not done again."""
    output, ctx = Output(as_json), open_context(workspace, conf, overrides)
    with LoopProgress(output.console) as progress:
        reports = run_rounds(ctx, rounds, progress.watch)
    written: dict[str, Any] = {"did": sum(report.did for report in reports), "reports": [report_json(report) for report in reports]}
    output.console.print(f"{written['did']} of {len(reports)} stations had something to do", markup=False)
    output.result(written)
