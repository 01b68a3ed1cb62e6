"""Policies of the workspace: which one is in force, and what a worker needs to run it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.context import JobContext
from jobs.handoff.files import ATTEMPTS, promote, write_attempt
from jobs.ledger import read_events
from schemas.errors import VerilakeError
from schemas.ids import content_id
from schemas.ops.bindings import BINDINGS
from schemas.policy import Policy
from udfs.export.files import tree_sha256
from udfs.reader.checkpoint import WEIGHTS_FILE, Checkpoint, base_checkpoint
from udfs.reader.passages import PASSAGES, passages_of
from udfs.store.file_store import FileStore
from udfs.store.run import POLICY, HandoffRun

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

POLICY_FILE = "policy.json"
_WRITTEN = "path string, n long"


class UnknownPolicyError(VerilakeError):
    """A plan names a checkpoint that the workspace does not hold."""

    exit_code = 3

    @classmethod
    def from_id(cls, policy_id: str, folder: str) -> UnknownPolicyError:
        """Which, and where it was looked for."""
        return cls(f"policy {policy_id}: no such checkpoint below {folder}. Put its directory there, or plan the round again.")


class NoCheckpointError(VerilakeError):
    """The model that the configuration names is no checkpoint."""

    exit_code = 2

    @classmethod
    def from_folder(cls, folder: str, key: str) -> NoCheckpointError:
        """Which, by which key of the configuration, and what it lacks."""
        return cls(f"{key} = {folder}: no directory with a config.json. Name a checkpoint in Hugging Face's layout.")


def checkpoint_sha256(model: str, key: str) -> str:
    """What names the weights of a checkpoint: the digest of its files.

    Args:
        model: its directory.
        key: of the configuration that names it.

    Raises:
        NoCheckpointError: there is none.
    """
    if not is_checkpoint(model):
        raise NoCheckpointError.from_folder(model, key)
    return tree_sha256(Path(model))


def is_checkpoint(model: str) -> bool:
    """Whether a name is the directory of a checkpoint."""
    return (Path(model) / "config.json").is_file()


def current_policy(ctx: JobContext) -> str:
    """The policy that the next round rolls out: the model that the configuration names, or the reader's newest checkpoint.

    Raises:
        CheckpointError: a directory below ``policies/`` holds no checkpoint of the reader.
        NoCheckpointError: the configured model is none.
    """
    return _newest_checkpoint(ctx) if ctx.config.rollout.engine == "reader" else _lay_model(ctx).policy_id


def find_policy(ctx: JobContext, policy_id: str) -> Policy:
    """The policy with this id.

    Raises:
        UnknownPolicyError: the workspace holds none.
    """
    path = ctx.workspace.policies_root / policy_id / POLICY_FILE
    if path.is_file():
        return Policy.model_validate_json(path.read_bytes())
    checkpoint = find_checkpoint(ctx, policy_id)
    return Policy(engine="reader", policy_id=checkpoint.policy_id, policy_version=checkpoint.policy_version)


def _lay_model(ctx: JobContext) -> Policy:
    """Keep what the configuration names as a policy; weights met for the first time get the next ordinal."""
    rollout, folder = ctx.config.rollout, ctx.workspace.policies_root
    sha256 = checkpoint_sha256(rollout.model, "rollout.model") if rollout.engine == "vllm" else None
    policy_id = content_id("policy", sha256 or rollout.model)
    held = [Policy.model_validate_json(path.read_bytes()) for path in folder.glob(f"*/{POLICY_FILE}")]
    version = 1 + max((policy.policy_version for policy in held), default=-1)
    model = str(Path(rollout.model).resolve()) if sha256 else rollout.model
    policy = Policy(engine=rollout.engine, policy_id=policy_id, policy_version=version, model=model, sha256=sha256)
    FileStore(folder).create_if_absent(f"{policy_id}/{POLICY_FILE}", policy.model_dump_json(indent=1).encode())
    return find_policy(ctx, policy_id)


def _newest_checkpoint(ctx: JobContext) -> str:
    """The checkpoint with the newest weights, replicas left aside; the hand-set one is laid where there is none.

    A round that was trained twice, with other settings, has two checkpoints of one version: the one bound last goes on.

    Raises:
        CheckpointError: a directory below ``policies/`` holds no checkpoint of this engine.
    """
    held = [checkpoint for checkpoint in checkpoints(ctx) if checkpoint.replica == 0]
    if not held:
        held = [lay_checkpoint(ctx, base_checkpoint())]
    newest = max(checkpoint.policy_version for checkpoint in held)
    tied = [checkpoint.policy_id for checkpoint in held if checkpoint.policy_version == newest]
    if len(tied) == 1:
        return tied[0]
    bound = {row["checkpoint_id"]: row["at"] for row in sorted(read_events(ctx.lake, BINDINGS), key=lambda row: row["at"])}
    return max(tied, key=lambda ident: (bound[ident].timestamp() if ident in bound else 0.0, ident))


def checkpoints(ctx: JobContext) -> list[Checkpoint]:
    """All checkpoints of the workspace."""
    folder = ctx.workspace.policies_root
    return [Checkpoint.load(entry) for entry in sorted(folder.iterdir()) if (entry / WEIGHTS_FILE).is_file()] if folder.is_dir() else []


def lay_checkpoint(ctx: JobContext, checkpoint: Checkpoint) -> Checkpoint:
    """Keep a checkpoint under its id; one that is there already stays as it is."""
    store = FileStore(ctx.workspace.policies_root)
    store.create_if_absent(f"{checkpoint.policy_id}/{WEIGHTS_FILE}", checkpoint.to_bytes())
    return Checkpoint.load(ctx.workspace.policies_root / checkpoint.policy_id)


def find_checkpoint(ctx: JobContext, policy_id: str) -> Checkpoint:
    """The checkpoint with this id.

    Raises:
        UnknownPolicyError: the workspace holds none.
    """
    folder = ctx.workspace.policies_root / policy_id
    if not (folder / WEIGHTS_FILE).is_file():
        base = base_checkpoint()
        if policy_id == base.policy_id:  # a workspace whose policies were never laid, or were cleared
            return lay_checkpoint(ctx, base)
        raise UnknownPolicyError.from_id(policy_id, str(ctx.workspace.policies_root))
    return Checkpoint.load(folder)


def lay_reader(run: HandoffRun, checkpoint: Checkpoint, documents: DataFrame) -> None:
    """Write what the reader needs below ``plan/policy``: weights, and the passages of ``documents`` cut by the executors."""
    target = f"{POLICY}/passages.parquet"
    for name in run.store.list(target):  # of a driver that died before the plan
        run.store.remove(f"{target}/{name}")
    write = partial(_write_passages, folder=str(run.files.path(ATTEMPTS)))
    written = documents.select("doc_id", "title", "text").mapInArrow(write, _WRITTEN).collect()
    paths = sorted(row["path"] for row in written if row["n"]) or [write_attempt(str(run.files.path(ATTEMPTS)), PASSAGES.empty_table())]
    # The reader orders passages by their ids: which file holds which does not matter.
    for number, path in enumerate(paths):
        promote(run.files, path, f"{target}/part-{number:05d}.parquet")
    run.store.put(f"{POLICY}/{WEIGHTS_FILE}", checkpoint.to_bytes())


def _write_passages(batches: Iterator[pa.RecordBatch], folder: str) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        passages = pa.Table.from_batches([passages_of(batch)])
        path = write_attempt(folder, passages) if passages.num_rows else ""
        yield pa.RecordBatch.from_pydict({"path": [path], "n": [passages.num_rows]})
