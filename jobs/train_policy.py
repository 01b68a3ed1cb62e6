"""train_policy: the published training set of a round -> GRPO on the reader's weights -> a checkpoint that the next round rolls out.

The trainer reads what `verilake checkout` gives and nothing of the round's own tables: what a framework of your own would be
offered is what the embedded one trains on. The documents are the policy's library, not its training set. No session is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from jobs.context import JobContext, JobReport, JobRun
from jobs.handoff.policies import find_checkpoint, lay_checkpoint
from jobs.lake.errors import MissingInputError
from jobs.publish.bindings import bind
from jobs.training.inputs import (
    TRAINER,
    Inputs,
    environments,
    library,
    recipe_of,
    resolve,
    settings_of,
    settings_that_matter,
    training_rows,
)
from jobs.training.results import bound_replicas, figures_of, tenths
from schemas.datasets.rl import RL_SET
from schemas.errors import VerilakeError
from schemas.gold.round_plan import ROUND_PLAN
from schemas.silver.documents import DOCUMENTS
from udfs.export.files import tree_sha256
from udfs.killpoints import reach
from udfs.reader.checkpoint import ENGINE, Checkpoint
from udfs.reader.grpo import ESTIMATOR, Seed, Trained, train

JOB = "train_policy"


class TrainerOffError(VerilakeError):
    """Training is asked for where the configuration says that somebody else does it."""

    exit_code = 2

    @classmethod
    def from_config(cls, trainer: str) -> TrainerOffError:
        """What is set, and what would do."""
        return cls(
            f"train.trainer = {trainer!r}: the embedded trainer is off. Set it to 'reader', or bind your own checkpoint: verilake bind"
        )


def run(ctx: JobContext, round_no: int) -> JobReport:
    """Train on one round's published set; the new checkpoint is bound to it and becomes the current policy.

    Args:
        ctx: context; no session is needed.
        round_no: a published round.

    Raises:
        TrainerOffError: ``train.trainer`` is not ``reader``.
        MissingInputError: the round is not planned.
        NotPublishedError: it is not published.
        UnknownPolicyError: the workspace lacks the checkpoint that the round rolled out.
        MissingBytesError: the published bytes are gone.
    """
    inputs = _inputs(ctx, round_no)
    replicas = ctx.config.train.replicas
    with ctx.open(
        JOB, f"round={round_no}",
        reads={ROUND_PLAN: [round_no], DOCUMENTS: inputs.ingests},
        writes={},
        settings={**settings_that_matter(ctx), "replicas": replicas},
        versions=inputs.versions,
    ) as job:  # fmt: skip
        recipe = recipe_of(ctx, inputs)
        # Weights that somebody removed are made again; a training that learnt nothing has none to remove.
        lost = job.done and len(bound_replicas(ctx, recipe)) < min(replicas, int(job.report().counts["checkpoints"]))
        if lost or not job.done:
            _train(ctx, job, inputs, recipe)
    return replace(job.report(), did=True) if lost else job.report()


def trained_on(ctx: JobContext, round_no: int) -> list[Checkpoint]:
    """Checkpoints that the settings in force made of a round's published set, by replica; empty where it was not trained on.

    Raises:
        MissingInputError, NotPublishedError: as :func:`run`.
    """
    inputs = _inputs(ctx, round_no)
    return [find_checkpoint(ctx, ident) for ident, _ in bound_replicas(ctx, recipe_of(ctx, inputs)).values()]


def _inputs(ctx: JobContext, round_no: int) -> Inputs:
    if ctx.config.train.trainer != ENGINE:
        raise TrainerOffError.from_config(ctx.config.train.trainer)
    if str(round_no) not in ctx.lake.slices(ROUND_PLAN):
        raise MissingInputError.from_slice(ROUND_PLAN.name, str(round_no), "verilake plan")
    return resolve(ctx, round_no)


def _train(ctx: JobContext, job: JobRun, inputs: Inputs, recipe: str) -> None:
    """Train every replica that is not there yet."""
    held = bound_replicas(ctx, recipe)
    wanted = [replica for replica in range(ctx.config.train.replicas) if replica not in held]
    if 0 in held:
        job.count(**held[0][1]["figures"])
    kept = len([replica for replica in held if replica < ctx.config.train.replicas])
    if wanted:
        rows = training_rows(ctx, inputs.published)
        prompts = environments(ctx, rows, library(ctx, inputs.ingests)) if rows else []
        funnel = {"input": len(rows), "prompts": len(prompts), "unusable": len(rows) - len(prompts)}
        job.count(**funnel)
        for replica in wanted if prompts else []:
            seed = Seed(ctx.config.campaign.seed, inputs.parent.policy_id, replica)
            trained = train(prompts, inputs.parent.vector, settings_of(ctx), seed)
            figures = {**funnel, **figures_of(trained.curve)}
            if replica == 0:
                job.count(**figures)
            kept += _keep(ctx, inputs, trained, {"recipe": recipe, "replica": replica, "figures": figures})
    job.count(checkpoints=kept)


def _keep(ctx: JobContext, inputs: Inputs, trained: Trained, detail: Mapping[str, Any]) -> bool:
    """Lay and bind a checkpoint; False where nothing was learnt and the parent goes on."""
    parent = inputs.parent
    if np.array_equal(trained.weights, parent.vector):
        return False
    reach("train/trained")
    made = Checkpoint.make(trained.weights, parent.policy_version + 1, parent.policy_id, int(detail["replica"]))
    checkpoint = lay_checkpoint(ctx, made)
    reach("train/laid")
    bind(
        ctx, checkpoint.policy_id, inputs.round_no, uri=f"policies/{checkpoint.policy_id}",
        sha256=tree_sha256(ctx.workspace.policies_root / checkpoint.policy_id), parent=parent.policy_id, sets=[RL_SET.name],
        detail={
            **detail, "trainer": TRAINER, "estimator": ESTIMATOR, "settings": settings_that_matter(ctx),
            "mean_reward_by_tenth": tenths(trained.curve),
        },
    )  # fmt: skip
    reach("train/bound")
    return True


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("train")
