"""What a training reads: the published set, the checkpoint that the round rolled out, and the policy's library."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from jobs.context import JobContext
from jobs.handoff.policies import find_checkpoint
from jobs.handoff.rollouts import planned_ingests, sampling_settings
from jobs.publish.checkout import checkout
from jobs.publish.history import History, Published
from jobs.publish.objects import Snapshot
from jobs.rounds import planned_policy
from schemas.datasets.rl import RL_SET
from schemas.ids import content_id
from schemas.silver.documents import DOCUMENTS
from udfs.grading import VERIFIER, VERSION
from udfs.reader.checkpoint import ENGINE, ENGINE_VERSION, Checkpoint
from udfs.reader.environment import Environment
from udfs.reader.grpo import TRAINER_VERSION, Settings, TrainPrompt
from udfs.reader.passages import PASSAGES, passages_of
from udfs.reader.policy import PromptError, Reader, options_of
from udfs.reader.question import Prompt

TRAINER = f"{ENGINE}-grpo@{TRAINER_VERSION}"


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

    @property
    def versions(self) -> dict[str, str]:
        """What decides the weights besides documents and settings."""
        return {
            "rl": self.manifest, "parent": self.parent.policy_id, "engine": f"{ENGINE}@{ENGINE_VERSION}", "trainer": TRAINER,
            "verifier": f"{VERIFIER}@{VERSION}",
        }  # fmt: skip


def resolve(ctx: JobContext, round_no: int) -> Inputs:
    """The newest publication of the round, its training set, and the checkpoint that the round rolled out.

    Raises:
        NotPublishedError: the round is not published.
        UnknownPolicyError: the workspace lacks the checkpoint that it rolled out.
    """
    history = History(ctx.workspace.root)
    published = history.newest(round_no)
    pin = Snapshot(history, published.tag, published.commit).pin()
    parent = find_checkpoint(ctx, planned_policy(ctx, round_no) or pin.policy_id)
    return Inputs(round_no, published, pin.sets[RL_SET.name].manifest_sha256, parent, tuple(planned_ingests(ctx.lake, round_no)))


def settings_that_matter(ctx: JobContext) -> dict[str, Any]:
    """The configuration that decides the weights; how many replicas there are is no part of it."""
    train = ctx.config.train.model_dump(mode="json", exclude={"replicas"})
    return {"train": train, "sampling": sampling_settings(ctx.config.rollout), "seed": ctx.config.campaign.seed}


def recipe_of(ctx: JobContext, inputs: Inputs) -> str:
    """Names a training but for its replica: equal recipes give equal weights."""
    held = ctx.lake.slices(DOCUMENTS)
    documents = {ident: held[ident].fingerprint for ident in inputs.ingests}
    return content_id("train", inputs.versions, documents, settings_that_matter(ctx))


def settings_of(ctx: JobContext) -> Settings:
    """The trainer's settings; the temperature is that of the rollouts, so that what is trained is what is rolled out."""
    section = ctx.config.train
    return Settings(
        section.steps, section.prompts_per_step, section.samples, section.learning_rate, section.pull, ctx.config.rollout.temperature
    )


def training_rows(ctx: JobContext, published: Published) -> list[dict[str, Any]]:
    """Rows of the published training set, by prompt; they are checked out, verified, read and thrown away.

    Raises:
        MissingBytesError: the published bytes are gone.
    """
    with tempfile.TemporaryDirectory(prefix="verilake-train-") as folder:
        target = Path(folder) / "sets"
        checkout(ctx.workspace, published.tag, target, sets=[RL_SET.name])
        parts = [pq.read_table(path) for path in sorted((target / RL_SET.name).glob("*.parquet"))]
    rows: list[dict[str, Any]] = pa.concat_tables(parts).to_pylist() if parts else []
    return sorted(rows, key=lambda row: str(row["prompt_id"]))


def library(ctx: JobContext, ingests: Sequence[str]) -> pa.Table:
    """Passages of the documents that the round's policy could read; read by ``deltalake``, cut here."""
    documents = ctx.lake.dataset(DOCUMENTS)
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
    ident, options = row["prompt_id"], options_of(row["prompt_id"], row["options"])
    return Prompt(ident, row["system"], row["prompt"], row["question"], row["subject"], row["context"], options)
