"""What is published and what of it is logged, from files and the ledger alone: no JVM, no mlflow."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from jobs.publish.history import History
from jobs.tracking.destination import Destination
from jobs.workspace import Workspace
from schemas.errors import VerilakeError
from schemas.ids import content_id
from schemas.publication import MANIFEST_FILE, Manifest, Pin

#: Version of what is logged; raised where rounds that were logged before should be logged again.
FORMAT = 1
_PIN = re.compile(r"round-([1-9][0-9]*)\.json", re.ASCII)
_TAG = re.compile(r"round-[1-9][0-9]*(\.[1-9][0-9]*)?", re.ASCII)


class DamagedPinError(VerilakeError):
    """A file below ``pins/`` is no pin."""

    exit_code = 3

    @classmethod
    def from_file(cls, path: Path, why: str) -> DamagedPinError:
        """Which, and what to do."""
        return cls(
            f"{path}: not a pin of a publication ({why}). Get it back with: git -C {path.parent.parent} checkout -- pins/{path.name}"
        )


@dataclass(frozen=True)
class Publication:
    """One published round."""

    pin: Pin
    raw: bytes
    commit: str | None
    trained: tuple[str, ...]

    @property
    def sha256(self) -> str:
        """Of the pin's bytes."""
        return hashlib.sha256(self.raw).hexdigest()

    def fingerprint(self, where: Destination, experiment: str) -> str:
        """Equal where nothing new is to be logged: pin, the checkpoints trained from it, the place."""
        return content_id("track_round", FORMAT, self.sha256, list(self.trained), where.key, experiment)


def publications(workspace: Workspace, events: Iterable[dict[str, object]], only: int | None = None) -> dict[int, Publication]:
    """Round -> its newest publication, in order; a pin whose tag is not set yet is none.

    Args:
        workspace: where.
        events: of ops.bindings.
        only: one round; all where None.

    Raises:
        DamagedPinError: a file is no pin.
    """
    trained: dict[str, set[str]] = {}
    for event in events:
        trained.setdefault(str(event["tag"]), set()).add(str(event["checkpoint_id"]))
    history, found = History(workspace.root), {}
    tagged = {held.tag: held.commit for held in history.publications()} if history.exists() else None
    for path in sorted((workspace.root / "pins").glob("round-*.json")):
        match = _PIN.fullmatch(path.name)
        if match is None or only not in {None, int(match[1])}:
            continue
        raw = path.read_bytes()
        pin = _parse(path, raw, int(match[1]))
        # Where there is no git at all, the pin is all there is.
        if tagged is None or pin.tag in tagged:
            found[pin.round] = Publication(pin, raw, (tagged or {}).get(pin.tag), tuple(sorted(trained.get(pin.tag, ()))))
    return dict(sorted(found.items()))


def _parse(path: Path, raw: bytes, round_no: int) -> Pin:
    try:
        pin = Pin.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors()[0]
        raise DamagedPinError.from_file(path, f"{'.'.join(map(str, first['loc'])) or 'file'}: {first['msg']}") from None
    if pin.round != round_no or not _TAG.fullmatch(pin.tag):
        raise DamagedPinError.from_file(path, "round or tag are not those of its name")
    return pin


def set_files(workspace: Workspace, publication: Publication, dataset: str) -> tuple[bytes, Manifest, dict[str, Path]] | None:
    """Manifest and files of a published set: from ``datasets/`` where that still holds this publication, else from DVC's cache.

    Returns:
        The manifest's bytes, the manifest, and its files by name as far as they are there; None where the manifest is out of reach.
    """
    wanted = publication.pin.sets[dataset].manifest_sha256
    folder = workspace.root / "datasets" / dataset
    found = _matching(folder / MANIFEST_FILE, wanted)
    if found is not None:
        manifest = Manifest.model_validate_json(found)
        paths = {file.path: folder / file.path for file in manifest.files}
    else:
        held = _cached(workspace, publication, dataset)
        found = _matching(held[MANIFEST_FILE], wanted) if MANIFEST_FILE in held else None
        if found is None:
            return None
        manifest = Manifest.model_validate_json(found)
        paths = {file.path: held[file.path] for file in manifest.files if file.path in held}
    return found, manifest, {name: path for name, path in paths.items() if path.is_file()}


def _matching(path: Path, sha256: str) -> bytes | None:
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    return raw if hashlib.sha256(raw).hexdigest() == sha256 else None


def _cached(workspace: Workspace, publication: Publication, dataset: str) -> dict[str, Path]:
    from jobs.publish.objects import Snapshot

    if publication.commit is None:
        return {}
    try:
        return Snapshot(History(workspace.root), publication.pin.tag, publication.commit).files(dataset)
    except (VerilakeError, KeyError, OSError, ValueError):
        return {}


def listings(workspace: Workspace, publication: Publication) -> dict[str, str]:
    """Set -> md5 by which DVC's lock names it; empty where there is no history."""
    from jobs.publish.objects import Snapshot

    if publication.commit is None:
        return {}
    try:
        return Snapshot(History(workspace.root), publication.pin.tag, publication.commit).listings
    except (VerilakeError, KeyError, TypeError, OSError, ValueError):
        return {}
