"""train_policy: the published training set of a round -> GRPO on the reader's weights -> a checkpoint that the next round rolls out.

The trainer reads what `verilake checkout` gives and nothing of the round's own tables: what a framework of your own would be
offered is what the embedded one trains on. The documents are the policy's library, not its training set. No session is needed.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from jobs.context import JobContext, JobReport, JobRun
from jobs.handoff.policies import find_checkpoint, lay_checkpoint
from jobs.handoff.rollouts import planned_ingests, sampling_settings
from jobs.lake.errors import MissingInputError
from jobs.ledger import read_events
from jobs.publish.bindings import bind, tree_sha256
from jobs.publish.checkout import checkout
from jobs.publish.history import History, Published
from jobs.publish.objects import Snapshot
from jobs.rounds import planned_policy
from schemas.datasets.rl import RL_SET
from schemas.errors import VerilakeError
from schemas.gold.round_plan import ROUND_PLAN
from schemas.ops.bindings import BINDINGS
from schemas.silver.documents import DOCUMENTS
from udfs.grading import VERIFIER, VERSION
from udfs.killpoints import reach
from udfs.reader.checkpoint import ENGINE, ENGINE_VERSION, Checkpoint
from udfs.reader.environment import Environment
from udfs.reader.grpo import ESTIMATOR, TRAINER_VERSION, Seed, Settings, StepFigures, Trained, TrainPrompt, train
from udfs.reader.passages import PASSAGES, passages_of
from udfs.reader.policy import PromptError, Reader
from udfs.reader.question import Prompt

JOB = "train_policy"
TRAINER = f"{ENGINE}-grpo@{TRAINER_VERSION}"
#: Points of the training curve that a binding keeps: the mean reward of each tenth.
_TENTHS = 10


class TrainerOffError(VerilakeError):
    """Training is asked for where the configuration says that somebody else does it."""

    exit_code = 2

    @classmethod
    def from_config(cls, trainer: str) -> TrainerOffError:
        """What is set, and what would do."""
        return cls(
            f"train.trainer = {trainer!r}: the embedded trainer is off. Set it to 'reader', or bind your own checkpoint: verilake bind"
        )


@dataclass(frozen=True)
class Inputs:
    """What a training reads.

    Attributes:
        published: the round's newest publication.
        manifest: sha256 of the training set's MANIFEST.json.
        parent: checkpoint that the round rolled out.
        ingests: whose documents are the policy's library.
    """

    round_no: int
    published: Published
    manifest: str
    parent: Checkpoint
    ingests: tuple[str, ...]


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
    if ctx.config.train.trainer != ENGINE:
        raise TrainerOffError.from_config(ctx.config.train.trainer)
    if str(round_no) not in ctx.lake.slices(ROUND_PLAN):
        raise MissingInputError.from_slice(ROUND_PLAN.name, str(round_no), "verilake plan")
    inputs = resolve(ctx, round_no)
    with ctx.open(
        JOB, f"round={round_no}",
        reads={ROUND_PLAN: [round_no], DOCUMENTS: inputs.ingests},
        writes={},
        settings={
            "train": ctx.config.train.model_dump(mode="json"), "sampling": sampling_settings(ctx.config.rollout), "seed": ctx.config.campaign.seed,
        },
        versions={
            "rl": inputs.manifest, "parent": inputs.parent.policy_id, "engine": f"{ENGINE}@{ENGINE_VERSION}", "trainer": TRAINER,
            "verifier": f"{VERIFIER}@{VERSION}",
        },
    ) as job:  # fmt: skip
        if not (job.done and _whole(ctx, job.fingerprint)):
            _train(ctx, job, inputs)
    return job.report()


def resolve(ctx: JobContext, round_no: int) -> Inputs:
    """The newest publication of the round, its training set, and the checkpoint that the round rolled out."""
    history = History(ctx.workspace.root)
    published = history.newest(round_no)
    pin = Snapshot(history, published.tag, published.commit).pin()
    parent = find_checkpoint(ctx, planned_policy(ctx, round_no) or pin.policy_id)
    return Inputs(round_no, published, pin.sets[RL_SET.name].manifest_sha256, parent, tuple(planned_ingests(ctx.lake, round_no)))


def _train(ctx: JobContext, job: JobRun, inputs: Inputs) -> None:
    rows = training_rows(ctx, inputs)
    prompts = environments(ctx, rows, library(ctx, inputs.ingests))
    job.count(input=len(rows), prompts=len(prompts), unusable=len(rows) - len(prompts), checkpoints=0)
    if not prompts:
        return
    settings, kept = settings_of(ctx), 0
    for replica in range(ctx.config.train.replicas):
        seed = Seed(ctx.config.campaign.seed, inputs.parent.policy_id, replica)
        trained = train(prompts, inputs.parent.vector, settings, seed)
        if replica == 0:
            _count(job, trained)
        kept += _keep(ctx, job, inputs, trained, replica)
    job.count(checkpoints=kept)


def training_rows(ctx: JobContext, inputs: Inputs) -> list[dict[str, Any]]:
    """Rows of the published training set, by prompt; they are checked out, verified, read and thrown away."""
    with tempfile.TemporaryDirectory(prefix="verilake-train-") as folder:
        target = Path(folder) / "sets"
        checkout(ctx.workspace, inputs.published.tag, target, sets=[RL_SET.name])
        parts = [pq.read_table(path) for path in sorted((target / RL_SET.name).glob("*.parquet"))]
    rows: list[dict[str, Any]] = pa.concat_tables(parts).to_pylist() if parts else []
    return sorted(rows, key=lambda row: str(row["prompt_id"]))


def library(ctx: JobContext, ingests: Sequence[str]) -> pa.Table:
    """Passages of the documents that the round's policy could read; read by ``deltalake``, cut here."""
    documents = ctx.lake.delta(DOCUMENTS).to_pyarrow_dataset()
    wanted = pc.field("ingest_id").isin(list(ingests))
    batches = documents.scanner(columns=["doc_id", "title", "text"], filter=wanted).to_batches()
    return pa.Table.from_batches([passages_of(batch) for batch in batches], schema=PASSAGES)


def environments(ctx: JobContext, rows: Sequence[dict[str, Any]], passages: pa.Table) -> list[TrainPrompt]:
    """Features of every prompt, once; a prompt that the policy cannot be given is left out."""
    rollout = ctx.config.rollout
    reader = Reader(passages, rollout.passages_per_question)
    prompts = []
    for row in rows:
        try:
            features = reader.features(prompt_of(row))
        except PromptError:
            continue
        prompts.append(TrainPrompt(row["prompt_id"], Environment(features, row["contract"], rollout.max_response_tokens), row["weight"]))
    return prompts


def prompt_of(row: dict[str, Any]) -> Prompt:
    """A prompt from a row of the set ``rl``.

    Raises:
        PromptError: its options are no JSON list of strings.
    """
    try:
        options = json.loads(row["options"])
    except ValueError:
        options = None
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise PromptError.from_options(row["prompt_id"], row["options"])
    return Prompt(row["prompt_id"], row["system"], row["prompt"], row["question"], row["subject"], row["context"], tuple(options))


def settings_of(ctx: JobContext) -> Settings:
    """The trainer's settings; the temperature is that of the rollouts, so that what is trained is what is rolled out."""
    section = ctx.config.train
    return Settings(
        section.steps, section.prompts_per_step, section.samples, section.learning_rate, section.pull, ctx.config.rollout.temperature
    )


def _keep(ctx: JobContext, job: JobRun, inputs: Inputs, trained: Trained, replica: int) -> bool:
    """Lay and bind a checkpoint; False where nothing was learnt and the parent goes on."""
    parent = inputs.parent
    if np.array_equal(trained.weights, parent.vector):
        return False
    reach("train/trained")
    checkpoint = lay_checkpoint(ctx, Checkpoint.make(trained.weights, parent.policy_version + 1, parent.policy_id, replica))
    reach("train/laid")
    folder = ctx.workspace.policies_root / checkpoint.policy_id
    bind(
        ctx, checkpoint.policy_id, inputs.round_no, uri=f"policies/{checkpoint.policy_id}", sha256=tree_sha256(folder), parent=parent.policy_id,
        sets=[RL_SET.name], detail=_detail(ctx, job, trained, replica),
    )  # fmt: skip
    reach("train/bound")
    return True


def _detail(ctx: JobContext, job: JobRun, trained: Trained, replica: int) -> dict[str, Any]:
    return {
        "trainer": TRAINER, "fingerprint": job.fingerprint, "replica": replica, "estimator": ESTIMATOR, "steps": len(trained.curve),
        "settings": ctx.config.train.model_dump(mode="json"), "seed": ctx.config.campaign.seed,
        "temperature": ctx.config.rollout.temperature, "mean_reward_by_tenth": tenths(trained.curve),
    }  # fmt: skip


def _whole(ctx: JobContext, fingerprint: str) -> bool:
    """Whether every checkpoint that a finished training bound still lies in the workspace."""
    details = [(event["checkpoint_id"], json.loads(event["detail"])) for event in read_events(ctx.lake, BINDINGS)]
    made = {ident for ident, detail in details if detail.get("fingerprint") == fingerprint}
    return all((ctx.workspace.policies_root / ident).is_dir() for ident in made)


def _count(job: JobRun, trained: Trained) -> None:
    curve, means = trained.curve, tenths(trained.curve)
    job.count(
        steps=len(curve), samples=sum(step.samples for step in curve), unknown=sum(step.unknown for step in curve),
        groups=sum(step.groups for step in curve), groups_with_variance=sum(step.groups_with_variance for step in curve),
    )  # fmt: skip
    if means[0] is not None and means[-1] is not None:
        job.count(mean_reward_first=means[0], mean_reward_last=means[-1])


def tenths(curve: Sequence[StepFigures]) -> list[float | None]:
    """Mean reward of each tenth of the steps, to four places; None where no reward of it is known."""
    size = max(1, math.ceil(len(curve) / _TENTHS))
    parts = [curve[start : start + size] for start in range(0, len(curve), size)]
    return [_mean([step.mean_reward for step in part if step.mean_reward is not None]) for part in parts]


def _mean(values: Sequence[float]) -> float | None:
    return round(math.fsum(values) / len(values), 4) if values else None


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("train")
