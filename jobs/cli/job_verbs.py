"""Verbs that write: one a job, and the whole loop."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

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
from schemas.errors import UnknownIdError

#: verb -> (module of jobs/, help). The modules are imported when their verb runs: reading verbs must not wait for Spark.
_INGEST_VERBS = {
    "curate": ("curate_corpus", "Exact and near duplicates, quality heuristics: a verdict for every document."),
    "admit": ("admit_tasks", "Candidate questions to tasks and prompts: evidence, leaks, collisions, near misses."),
}
_ROUND_VERBS = {
    "rollout": ("rollout_round", "Sample the planned prompts through the hand-off and its workers."),
    "ingest-rollouts": ("ingest_rollouts", "Rollouts of a round into the five silver tables, graded."),
    "check": ("check_quality", "Quality of every trajectory, figures and alerts of a round."),
    "feedback": ("feed_back", "Solve rates, SFT rows, preference pairs, repair queue; closes the round."),
}


def register(app: typer.Typer) -> None:
    """Add these verbs to the command."""
    app.command("ingest")(ingest)
    for name, (module, help_text) in _INGEST_VERBS.items():
        app.command(name, help=help_text)(_ingest_verb(module))
    app.command("convert")(convert)
    app.command("plan")(plan)
    for name, (module, help_text) in _ROUND_VERBS.items():
        app.command(name, help=help_text)(_round_verb(module))
    app.command("run")(run)


def ingest(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Files or directories: WARC, WET, JSONL (plain, gzip, zstd), Parquet, plain text; told apart by content."),
    ],
    source: Annotated[str | None, typer.Option("--source", help="Name of the collection; default: the file's or directory's name.")] = None,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Read a corpus into bronze.documents; what cannot be read goes to bronze.rejects with its place and reason."""
    output = Output(as_json)
    report = _job("ingest_corpus")(open_context(workspace, conf, overrides), [str(path) for path in paths], source=source)
    output.job(report)


def _job(module: str) -> Callable[..., JobReport]:
    run: Callable[..., JobReport] = importlib.import_module(f"jobs.{module}").run
    return run


def _ingest_verb(module: str) -> Callable[..., None]:
    def verb(
        ingest: IngestFlag = None,
        workspace: WorkspaceFlag = HERE,
        conf: ConfFlag = None,
        overrides: SetFlag = None,
        as_json: JsonFlag = False,
    ) -> None:
        output, ctx, job = Output(as_json), open_context(workspace, conf, overrides), _job(module)
        wanted = _wanted(ctx, ingest, added=module == "admit_tasks")
        reports = []
        if module == "curate_corpus" and wanted:
            from udfs.dedup.curve import describe_curve, resolved

            banding = resolved(ctx.config.curate)
            output.console.print(describe_curve(banding.bands, banding.rows), markup=False)
        for ident in wanted:
            reports.append(job(ctx, ident))
            output.report(reports[-1])
        output.result({"reports": [report_json(report) for report in reports]})

    return verb


def convert(
    engine: Annotated[
        str | None, typer.Option("--engine", help="extractive, openai, vllm or replay (recorded replies alone); short for convert.engine.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="Which model; short for convert.model.")] = None,
    ingest: IngestFlag = None,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Documents to candidate questions, through the hand-off and its workers. What was paid for is never paid again."""
    output = Output(as_json)
    given = {"convert.engine": engine, "convert.model": model}
    ctx = open_context(workspace, conf, [*(overrides or ()), *(f"{key}={value}" for key, value in given.items() if value is not None)])
    reports = []
    with LoopProgress(output.console) as progress:
        ctx.progress = progress.shards
        for ident in _wanted(ctx, ingest, added=False):
            progress.watch("convert", f"ingest={ident}", None)
            reports.append(_job("convert_corpus")(ctx, ident))
            progress.watch("convert", f"ingest={ident}", reports[-1])
    output.result({"reports": [report_json(report) for report in reports]})


def _wanted(ctx: JobContext, ingest: str | None, *, added: bool) -> list[str]:
    """The ingest that a flag names by its beginning; all of them without one. Added tasks only where ``added``: others have nothing to do there."""
    from jobs.loop import ingests
    from jobs.sources.added import added_ingests

    wanted = [ident for ident in ingests(ctx) if ingest is None or ident.startswith(ingest)]
    if ingest is not None and len(wanted) != 1:
        raise UnknownIdError.from_id(ingest)
    passed_by = frozenset() if added else added_ingests(ctx.lake)
    return [ident for ident in wanted if ident not in passed_by]


def _round_verb(module: str) -> Callable[..., None]:
    def verb(
        round_no: RoundFlag, workspace: WorkspaceFlag = HERE, conf: ConfFlag = None, overrides: SetFlag = None, restate: RestateFlag = False,
        as_json: JsonFlag = False,
    ) -> None:  # fmt: skip
        output = Output(as_json)
        report = _job(module)(open_context(workspace, conf, overrides, restate=restate), round_no)
        output.job(report)

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
    from jobs.handoff.policies import current_policy

    output, ctx = Output(as_json), open_context(workspace, conf, overrides, restate=restate)
    report = _job("plan_round")(ctx, round_no, policy_id=current_policy(ctx))
    output.job(report)


def run(
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Bring the lake to this many closed rounds.")] = 1,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Run the whole loop; what is done already is not done again."""
    from jobs.loop import run_rounds

    output, ctx = Output(as_json), open_context(workspace, conf, overrides)
    with LoopProgress(output.console) as progress:
        ctx.progress = progress.shards
        reports = run_rounds(ctx, rounds, progress.watch)
    written: dict[str, Any] = {"did": sum(report.did for report in reports), "reports": [report_json(report) for report in reports]}
    output.console.print(f"{written['did']} of {len(reports)} stations had something to do", markup=False)
    output.result(written)
