"""judge_round: responses of a round -> items for a model as judge -> workers that ask it -> bronze.judgements.

Every run is a slice of its own: judgements of the other kind, of another judge or under other settings stay beside it, and the view over
rewards counts what several runs said under one id once. A pair is asked about in both orders.
"""

from __future__ import annotations

from jobs.context import JobContext, JobReport, JobRun
from jobs.handoff.commits import collect, delivered
from jobs.handoff.plan import RunSpec, open_run
from jobs.handoff.policies import checkpoint_sha256
from jobs.judging.answers import answers, considered, items
from jobs.judging.figures import asked_about, figures
from jobs.lake.errors import MissingInputError
from schemas.bronze.judgements import JUDGEMENTS
from schemas.bronze.rollouts import ROLLOUTS
from schemas.conf_rounds import Judge, JudgementKind
from schemas.errors import VerilakeError
from schemas.ids import content_id, seed_from
from schemas.silver.trajectories import TRAJECTORIES
from udfs.judging.choose import Asking
from udfs.judging.prompts import template_of


class NoJudgeError(VerilakeError):
    """Nobody is named who could judge."""

    exit_code = 2

    @classmethod
    def from_engine(cls, engine: str) -> NoJudgeError:
        """The model is missing."""
        what = "the name under which the server knows it" if engine == "openai" else "the directory of a checkpoint"
        return cls(f"judge.model is empty: set it to {what}, or set judge.engine.")


def run(ctx: JobContext, round_no: int, kind: JudgementKind | None = None) -> JobReport:
    """Have one round judged.

    Args:
        ctx: context.
        round_no: a round whose rollouts are ingested.
        kind: pairwise or pointwise; the configuration's where None.

    Raises:
        NoJudgeError: no model is named.
        NoCheckpointError: engine vllm, and the model is no checkpoint.
        MissingInputError: the round's rollouts are not ingested.
        HandoffError: the workers could not drain the run; running it again goes on from there.
    """
    judge = ctx.config.judge
    asking = _asking(ctx, round_no, kind or judge.kind)
    spec = _spec(ctx, asking)
    with ctx.open(
        "judge_round", f"round={round_no}",
        reads={ROLLOUTS: [round_no], TRAJECTORIES: [round_no]},
        writes={JUDGEMENTS: spec.run_id},
        settings={"asking": _spelt(asking, judge), "sampling": spec.settings},
        versions={"template": template_of(asking.kind).label},
    ) as job:  # fmt: skip
        if not job.done:
            _judge(ctx, job, spec, asking)
    return job.report()


def judge_identity(judge: Judge) -> str:
    """What names the judge in ids: a server's model by its name, a checkpoint by its files.

    Raises:
        NoJudgeError, NoCheckpointError: as :func:`run`.
    """
    if not judge.model:
        raise NoJudgeError.from_engine(judge.engine)
    if judge.engine == "openai":
        return judge.model
    return content_id("policy", checkpoint_sha256(judge.model, "judge.model"))


def _asking(ctx: JobContext, round_no: int, kind: JudgementKind) -> Asking:
    judge = ctx.config.judge
    return Asking(
        round=round_no, kind=kind, judge=judge_identity(judge), seed=seed_from(ctx.config.campaign.seed, "judge", round_no), share=judge.share,
        per_prompt=max(judge.per_prompt, 2) if kind == "pairwise" else judge.per_prompt, pairs_per_prompt=judge.pairs_per_prompt,
        draws=judge.draws, show_reference=judge.show_reference,
    )  # fmt: skip


def _spelt(asking: Asking, judge: Judge) -> dict[str, object]:
    """What bears on which items there are."""
    held = {name: getattr(asking, name) for name in Asking.__dataclass_fields__}
    if asking.kind == "pointwise":
        held.pop("pairs_per_prompt")
    return {**held, "roles": list(judge.roles), "task_types": list(judge.task_types)}


def _spec(ctx: JobContext, asking: Asking) -> RunSpec:
    judge, round_no = ctx.config.judge, asking.round
    slices = {table.name: ctx.lake.slices(table).get(str(round_no)) for table in (ROLLOUTS, TRAJECTORIES)}
    if any(held is None for held in slices.values()):
        raise MissingInputError.from_slice(TRAJECTORIES.name, f"round {round_no}", f"verilake ingest-rollouts --round {round_no}")
    inputs = {name: held.fingerprint for name, held in slices.items() if held is not None}
    settings = {"temperature": judge.temperature, "max_response_tokens": judge.max_response_tokens, "model": str(judge.model)}
    price = judge.prices.get(judge.model)
    return RunSpec(
        program="judge",
        engine=judge.engine,
        fingerprint=content_id("judge", inputs, _spelt(asking, judge), settings, judge.engine, template_of(asking.kind).label),
        shard_size=judge.items_per_shard,
        settings=settings if price is None else {**settings, "prices": price.model_dump(mode="json", exclude_none=True)},
        round=round_no,
    )


def _judge(ctx: JobContext, job: JobRun, spec: RunSpec, asking: Asking) -> None:
    judge, round_no = ctx.config.judge, asking.round
    run = open_run(ctx, spec, lambda: items(answers(ctx, round_no, judge), asking))
    commits = collect(ctx, run)
    job.write(JUDGEMENTS, lambda: delivered(ctx, run, commits))
    said = job.read_written(JUDGEMENTS)
    all_of_it, asked = considered(ctx, round_no, judge), asked_about(said)
    job.count(
        input=all_of_it.input, judged=asked, not_chosen=all_of_it.may - asked, failed_before=all_of_it.failed, other=all_of_it.other,
        shards=len(commits), **figures(said),
    )  # fmt: skip


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("judge")
