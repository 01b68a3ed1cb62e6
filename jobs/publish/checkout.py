"""Materialises exactly what a checkpoint was offered: from the objects of DVC's cache straight into a folder, verified."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
import uuid
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from jobs.lake.layout import Lake
from jobs.publish.bindings import binding_of
from jobs.publish.errors import MissingBytesError, TargetError, UnknownPublicationError
from jobs.publish.history import TAG, History
from jobs.publish.objects import Snapshot
from jobs.workspace import Workspace
from schemas.ids import canonical_json
from schemas.publication import CHECKOUT_FILE, MANIFEST_FILE, CheckedOutSet, Checkout
from udfs.export.files import check_set

#: Copying leaves the interpreter's lock; more threads than this only make a disk seek.
THREADS = 4
_CHUNK = 1 << 27


@dataclass(frozen=True)
class CheckoutReport:
    """What was materialised where. Times in seconds: finding out what to copy, copying, hashing what was written."""

    target: Path
    checkpoint_id: str | None
    round: int
    tag: str
    commit: str
    sets: tuple[str, ...]
    files: int
    bytes: int
    linked: bool
    seconds_start: float
    seconds_copy: float
    seconds_verify: float


def checkout(workspace: Workspace, what: str, target: Path, *, sets: Sequence[str] | None = None, link: bool = False) -> CheckoutReport:
    """Copy published sets into a new folder and verify them.

    Args:
        workspace: where they were published.
        what: id of a bound checkpoint, path of one, or a tag (``round-3``).
        target: an absent or empty directory; gets ``<set>/`` and ``CHECKOUT.json``.
        sets: names; all that were bound (of a tag: all that it has) where left out.
        link: hard-link the cache's read-only files instead of copying them.

    Raises:
        UnknownPublicationError: ``what`` or one of ``sets`` is not known.
        TargetError: ``target`` is in use, or cannot be linked into.
        MissingBytesError: bytes are gone, or are not what was published.
    """
    started = time.monotonic()
    if target.is_symlink() or (target.exists() and not (target.is_dir() and not any(target.iterdir()))):
        raise TargetError.from_taken(str(target))
    snapshot, checkpoint_id, bound = _resolve(workspace, what)
    pinned = {name: held.manifest_sha256 for name, held in snapshot.pin().sets.items()}
    names = tuple(dict.fromkeys(sets)) if sets else tuple(bound or pinned)
    unknown = [name for name in names if name not in pinned or name not in snapshot.listings]
    if unknown:
        raise UnknownPublicationError.from_sets(what, unknown, pinned)
    for name, sha256 in bound.items():
        if name in names and pinned[name] != sha256:
            raise UnknownPublicationError.from_binding(what, name, sha256, pinned[name])
    snapshot.fetch(list(names))
    said = Checkout(
        checkpoint_id=checkpoint_id, round=int(snapshot.tag.removeprefix("round-").partition(".")[0]), tag=snapshot.tag, commit=snapshot.commit,
        sets={name: CheckedOutSet(path=name, manifest_sha256=pinned[name]) for name in names},
    )  # fmt: skip
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.parent / f".{target.name}.{uuid.uuid4().hex[:8]}.part"
    try:
        return _materialise(snapshot, said, part, target, link=link, started=started)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _resolve(workspace: Workspace, what: str) -> tuple[Snapshot, str | None, dict[str, str]]:
    """The publication, the checkpoint it was asked by, and the sets bound to that."""
    history = History(workspace.root)
    if TAG.fullmatch(what):
        found = next((p for p in history.publications() if p.tag == what), None)
        if found is not None:
            return Snapshot(history, found.tag, found.commit), None, {}
    else:
        row = binding_of(Lake(workspace.lake_root), what)
        commit = None if row is None else history.resolve(row["commit"]) or history.resolve(f"refs/tags/{row['tag']}")
        if row is not None and commit is not None:
            return Snapshot(history, row["tag"], commit), row["checkpoint_id"], json.loads(row["sets"])
    raise UnknownPublicationError.from_what(what, (p.tag for p in history.publications()))


def _materialise(snapshot: Snapshot, said: Checkout, part: Path, target: Path, *, link: bool, started: float) -> CheckoutReport:
    work = []
    for name in said.sets:
        (part / name).mkdir(parents=True)
        work += [(source, part / name / file) for file, source in snapshot.files(name).items()]
    copying = time.monotonic()
    try:
        # The largest first: no thread is left alone with a big one at the end.
        sized = sorted(work, key=lambda pair: -pair[0].stat().st_size)
        transfer(sized, link=link)
    except OSError as error:
        if link and error.errno in {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP}:
            raise TargetError.from_link(str(target), error.strerror or "") from None
        raise
    (part / CHECKOUT_FILE).write_text(canonical_json(said.model_dump(mode="json")) + "\n", "utf-8")
    checking = time.monotonic()
    problems = [line for name, held in said.sets.items() for line in check_set(part / name, held.manifest_sha256)]
    if problems:
        raise MissingBytesError.from_damage(said.tag, (line.replace(f"{part}/", "") for line in problems))
    total = sum(path.stat().st_size for _, path in work)
    ended = time.monotonic()
    part.rename(target)
    return CheckoutReport(
        target=target, checkpoint_id=said.checkpoint_id, round=said.round, tag=said.tag, commit=said.commit, sets=tuple(said.sets),
        files=sum(path.name != MANIFEST_FILE for _, path in work), bytes=total, linked=link,
        seconds_start=copying - started, seconds_copy=checking - copying, seconds_verify=ended - checking,
    )  # fmt: skip


def transfer(work: Iterable[tuple[Path, Path]], *, link: bool) -> None:
    """Copy or hard-link each pair, several at once.

    Raises:
        OSError: the first failure.
    """
    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(os.link if link else copy_file, source, target) for source, target in work]:
            done.result()


def copy_file(source: Path, target: Path) -> None:
    """Copy within the kernel, by reference where the file system can; the copy is writable.

    Raises:
        OSError: reading or writing failed.
    """
    with source.open("rb", buffering=0) as read, target.open("xb", buffering=0) as write:
        left = os.fstat(read.fileno()).st_size
        while left > 0:
            try:
                done = os.copy_file_range(read.fileno(), write.fileno(), min(left, _CHUNK)) if hasattr(os, "copy_file_range") else -1
            except OSError as error:
                if error.errno not in {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM}:
                    raise
                done = -1
            if done < 0:  # another file system, or one that cannot: through memory
                shutil.copyfileobj(read, write, 1 << 20)
                return
            if done == 0:
                return
            left -= done
