"""ops.bindings: which published bytes a checkpoint was offered, from which parent, in which MLflow run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jobs.context import JobContext
from jobs.lake.layout import Lake
from jobs.ledger import append_event
from jobs.publish.errors import UnknownPublicationError
from jobs.publish.history import History
from jobs.publish.objects import Snapshot
from jobs.views.reader import LakeReader, alias, literal
from schemas.errors import InputRefusedError
from schemas.ids import canonical_json, content_id
from schemas.ops.bindings import BINDINGS
from udfs.export.files import tree_sha256


def bind(
    ctx: JobContext,
    checkpoint_id: str,
    round_no: int,
    *,
    uri: str | None = None,
    sha256: str | None = None,
    parent: str | None = None,
    mlflow_run_id: str | None = None,
    sets: Sequence[str] = (),
    detail: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Record that a checkpoint was offered the newest publication of a round; once, however often it is said.

    Args:
        ctx: context; no session is needed.
        checkpoint_id: policy_id, or the name that its trainer gave it.
        round_no: the published round.
        uri: where the checkpoint lies.
        sha256: over its files.
        parent: checkpoint it was trained from.
        mlflow_run_id: run of its training.
        sets: names of the sets that were offered; all of the publication where left out.
        detail: whatever the trainer wants to be remembered (JSON).

    Returns:
        The row of ops.bindings.

    Raises:
        NotPublishedError: the round has no publication.
        UnknownPublicationError: it has no such set.
    """
    history = History(ctx.workspace.root)
    published = history.newest(round_no)
    pinned = {name: held.manifest_sha256 for name, held in Snapshot(history, published.tag, published.commit).pin().sets.items()}
    unknown = [name for name in sets if name not in pinned]
    if unknown:
        raise UnknownPublicationError.from_sets(published.tag, unknown, pinned)
    offered = {name: pinned[name] for name in (sets or pinned)}
    row = {
        "event_id": content_id(checkpoint_id, round_no, published.commit, offered, parent), "checkpoint_id": checkpoint_id, "checkpoint_uri": uri,
        "checkpoint_sha256": sha256, "round": round_no, "tag": published.tag, "commit": published.commit, "sets": canonical_json(offered),
        "mlflow_run_id": mlflow_run_id, "parent_checkpoint_id": parent, "detail": canonical_json(dict(detail or {})), "at": ctx.now,
    }  # fmt: skip
    append_event(ctx.lake, BINDINGS, row)
    return row


def find_binding(lake: Lake, checkpoint_id: str) -> dict[str, Any] | None:
    """The newest row of a checkpoint, by its id or by the sha256 over its files; None where it is not bound."""
    wanted = literal(checkpoint_id)
    rows = LakeReader(lake).select(
        f"SELECT * FROM {alias(BINDINGS)} WHERE checkpoint_id = {wanted} OR checkpoint_sha256 = {wanted} ORDER BY at, event_id", BINDINGS
    )
    return rows[-1] if rows else None


def binding_of(lake: Lake, what: str) -> dict[str, Any] | None:
    """The newest row of what a person names: an id, or a checkpoint's path.

    A path is known by the bytes of its files; by its own name only where it was bound without them, because many trainers call their
    checkpoints alike.
    """
    row = find_binding(lake, what) if what else None
    if row is not None or not what or not _is_there(Path(what)):
        return row
    named = find_binding(lake, Path(what).resolve().name)
    hashed = LakeReader(lake).select(f"SELECT count(*) AS n FROM {alias(BINDINGS)} WHERE checkpoint_sha256 IS NOT NULL", BINDINGS)
    if hashed and hashed[0]["n"]:
        try:
            row = find_binding(lake, tree_sha256(Path(what)))
        except OSError:  # no checkpoint: a folder that cannot be read whole
            row = None
    return row or (named if named is not None and named["checkpoint_sha256"] is None else None)


def described(what: str) -> tuple[str, str | None, str | None]:
    """Id, address and sha256 of a checkpoint that a person names: a path that exists is read, anything else is an id.

    Raises:
        InputRefusedError: it looks like a path, and nothing is there.
    """
    path = Path(what)
    if _is_there(path):
        return path.resolve().name, str(path.resolve()), tree_sha256(path)
    if "/" in what and "://" not in what:
        raise InputRefusedError.from_missing(what)
    return what, None, None


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long for a name, or with a NUL inside: an id
        return False
