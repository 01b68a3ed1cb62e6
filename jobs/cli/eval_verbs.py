"""Verbs about scores: evaluate a checkpoint, compare two rounds."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from jobs.cli.common import HERE, ConfFlag, JsonFlag, Output, SetFlag, WorkspaceFlag, open_context, report_json
from jobs.cli.read_verbs import plain
from jobs.context import JobContext, JobReport
from jobs.workspace import Workspace
from schemas.errors import UnknownIdError


def register(app: typer.Typer) -> None:
    """Add these verbs to the command."""
    app.command("eval")(evaluate)
    app.command("compare")(compare)


def evaluate(
    checkpoint: Annotated[str, typer.Argument(help="Checkpoint below policies/, or a unique prefix of its id.")],
    round_no: Annotated[
        int | None, typer.Option("--round", min=1, help="Whose eval sets are meant; default: the newest closed round.")
    ] = None,
    against: Annotated[str | None, typer.Option("--against", help="Another checkpoint, evaluated likewise and compared.")] = None,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Score a checkpoint on the fixed held-out prompts and on the failures collected since, through the same workers as a round."""
    from jobs.evaluate_policy import run

    output, ctx = Output(as_json), open_context(workspace, conf, overrides)
    wanted = [resolve(ctx, name) for name in (checkpoint, *((against,) if against is not None else ()))]
    reports = [run(ctx, policy_id, round_no=round_no) for policy_id in wanted]
    for report in reports:
        output.report(report)
    shown = [_show(output, ctx, report) for report in reports]
    result: dict[str, Any] = {"evals": shown}
    if against is not None:
        result["comparison"] = _show_pair(output, ctx, wanted[1], wanted[0])
    output.result(plain(result))


def compare(
    first: Annotated[int, typer.Argument(min=1, metavar="ROUND", help="A closed round.")],
    second: Annotated[int, typer.Argument(min=1, metavar="ROUND", help="Another; differences are this one minus the first.")],
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Two rounds on the same held-out prompts, with intervals, and what else changed between them; read-only."""
    from jobs.config import load_config
    from jobs.views.compare import compare as compare_rounds
    from jobs.views.render_scores import render_comparison

    output, opened = Output(as_json), Workspace.open(workspace)
    settings = load_config(opened.root, conf or (), overrides or ()).eval
    found = compare_rounds(opened, first, second, settings)
    output.console.print(render_comparison(found, settings.confidence))
    output.result(plain(asdict(found)))


def resolve(ctx: JobContext, name: str) -> str:
    """The checkpoint's whole id.

    Raises:
        UnknownIdError: no checkpoint, or more than one, begins like this.
    """
    from jobs.handoff.policies import checkpoints
    from udfs.reader.checkpoint import base_checkpoint

    held = {checkpoint.policy_id for checkpoint in checkpoints(ctx)} | {base_checkpoint().policy_id}
    found = [name] if name in held else sorted(ident for ident in held if name and ident.startswith(name))
    if len(found) != 1:
        raise UnknownCheckpointError.from_name(name, sorted(held))
    return found[0]


class UnknownCheckpointError(UnknownIdError):
    """A checkpoint that the workspace does not hold, or a prefix of several."""

    @classmethod
    def from_name(cls, name: str, held: list[str]) -> UnknownCheckpointError:
        """Names those that are there."""
        return cls(f"{name!r} names no single checkpoint below policies/. There are: {', '.join(held)}")


def _show(output: Output, ctx: JobContext, report: JobReport) -> dict[str, Any]:
    from jobs.views.evals import eval_scores
    from jobs.views.paired import score, score_by_type
    from jobs.views.reader import LakeReader
    from jobs.views.render_scores import render_eval
    from jobs.views.scores import COLLECTED, FIXED

    settings, held = ctx.config.eval, eval_scores(LakeReader.open(ctx.workspace), report.scope.partition("=")[2])
    sets = {FIXED: held.fixed, COLLECTED: held.collected}
    scores = {name: score(prompts, settings, held.digests[name]) for name, prompts in sets.items()}
    types = {name: score_by_type(prompts, settings, held.digests[name]) for name, prompts in sets.items()}
    output.console.print(render_eval(held, scores, types, report.counts["round"], settings.confidence))
    by_type = {name: {kind: asdict(inner) for kind, inner in found.items()} for name, found in types.items()}
    return {
        "report": report_json(report), "eval_id": held.eval_id, "policy_id": held.policy_id, "digests": held.digests,
        "scores": {name: asdict(found) for name, found in scores.items()}, "by_type": by_type,
    }  # fmt: skip


def _show_pair(output: Output, ctx: JobContext, first: str, second: str) -> dict[str, Any]:
    from jobs.views.compare import compare_evals
    from jobs.views.render_scores import render_eval_comparison

    found = compare_evals(ctx.workspace, first, second, ctx.config.eval)
    output.console.print(render_eval_comparison(found, ctx.config.eval.confidence))
    return asdict(found)
