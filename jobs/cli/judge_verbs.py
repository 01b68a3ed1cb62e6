"""Verbs that ask further about a round: a model as judge, another checkpoint about its tokens."""

from __future__ import annotations

from typing import Annotated

import typer

from jobs.cli.common import HERE, ConfFlag, JsonFlag, Output, RoundFlag, SetFlag, WorkspaceFlag, open_context
from schemas.conf_rounds import JudgementKind


def register(app: typer.Typer) -> None:
    """Add these verbs to the command."""
    app.command("judge")(judge)
    app.command("rescore")(rescore)


def judge(
    round_no: RoundFlag,
    kind: Annotated[JudgementKind | None, typer.Option("--kind", help="Scores, or pairs in both orders; default: judge.kind.")] = None,
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask the model of [judge] about a round's responses, through the hand-off; `verilake rewards` reads what it says."""
    from jobs import judge_round

    output = Output(as_json)
    report = judge_round.run(open_context(workspace, conf, overrides), round_no, kind)
    output.job(report)


def rescore(
    round_no: RoundFlag,
    policy: Annotated[
        str, typer.Option("--policy", help="Checkpoint that scores; `current`: the one that rollout.model names.")
    ] = "current",
    workspace: WorkspaceFlag = HERE,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Score a round's sampled tokens under another checkpoint (engine vllm); `verilake rewards` makes staleness ratios of it."""
    from jobs import rescore_round

    output = Output(as_json)
    report = rescore_round.run(open_context(workspace, conf, overrides), round_no, policy)
    output.job(report)
