"""Puts staged sets and their small files in place all together, and takes them back where a later step fails or the process died."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from jobs.files import put
from jobs.publish.assemble import StagedSet
from jobs.publish.history import History
from jobs.publish.objects import DATASETS, Cache

STAGING = ".publish"
_JOURNAL = "journal.json"
_FILES = ".files"


class _Journal(BaseModel):
    """What was there before the swap: sets that existed, and under which name each small file was copied (None: it did not exist)."""

    tag: str
    sets: list[str]
    held: list[str]
    files: dict[str, str | None]


@dataclass(frozen=True)
class Staging:
    """``.publish/`` of a workspace: new sets, the tasks' files, what was replaced, and a journal of it. Held under the publication lock."""

    root: Path

    @property
    def folder(self) -> Path:
        """On the file system of the workspace, so that everything in it can be renamed and linked into place."""
        return self.root / STAGING

    @property
    def attempts(self) -> Path:
        """Where tasks write."""
        return self.folder / "attempts"

    def set_folder(self, dataset: str) -> Path:
        """Where a set is put together."""
        return self.folder / "new" / dataset

    def recover(self, history: History) -> None:
        """After a death: what a committed publication left is swept up; one that was not committed is taken back."""
        journal = self._journal()
        if journal is not None:
            published = {p.tag for p in history.publications()}
            if journal.tag not in published and history.untagged(journal.tag) is None:
                self.roll_back()
        self.sweep()

    def begin(self) -> None:
        """An empty staging folder."""
        self.sweep()
        self.attempts.mkdir(parents=True)

    def sweep(self) -> None:
        """Remove the staging folder; nothing in it is needed any more."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def swap(self, tag: str, sets: Mapping[str, StagedSet], small: Mapping[str, bytes]) -> None:
        """Replace ``datasets/<set>`` and the small files (path below the root -> bytes); first it is written down what was there."""
        copies = self.folder / "previous" / _FILES
        copies.mkdir(parents=True)
        files: dict[str, str | None] = {}
        for number, path in enumerate((*small, "dvc.lock")):
            files[path] = None
            if (self.root / path).is_file():
                files[path] = str(number)
                shutil.copyfile(self.root / path, copies / str(number))
        held = [name for name in sets if (self.root / DATASETS / name).is_dir()]
        journal = _Journal(tag=tag, sets=list(sets), held=held, files=files)
        put(self.folder / _JOURNAL, journal.model_dump_json().encode())
        (self.root / DATASETS).mkdir(exist_ok=True)
        for name, staged in sets.items():
            target = self.root / DATASETS / name
            if target.exists():
                target.rename(self.folder / "previous" / name)
            staged.folder.rename(target)
        for path, data in small.items():
            put(self.root / path, data)

    def roll_back(self) -> None:
        """Bring back what the journal says, by renames alone: a full disk must not stand in the way.

        Does nothing where there is no journal. It may be run again after it died itself.
        """
        journal = self._journal()
        if journal is None:
            return
        for name in journal.sets:
            target, previous = self.root / DATASETS / name, self.folder / "previous" / name
            if previous.is_dir():
                shutil.rmtree(target, ignore_errors=True)
                previous.rename(target)
            elif name not in journal.held:
                shutil.rmtree(target, ignore_errors=True)
        for path, copy in journal.files.items():
            held = self.folder / "previous" / _FILES / (copy or "")
            if copy is None:
                (self.root / path).unlink(missing_ok=True)
            elif held.is_file():
                held.replace(self.root / path)

    def _journal(self) -> _Journal | None:
        path = self.folder / _JOURNAL
        return _Journal.model_validate_json(path.read_bytes()) if path.is_file() else None


def to_cache(cache: Cache, staged: StagedSet) -> list[Path]:
    """Give each new file its place in DVC's cache by a hard link, so that its bytes lie on the disk once.

    A file whose bytes the cache holds already becomes a link to these. Where links cannot be made, DVC will copy.

    Returns:
        The objects that were added.
    """
    added = []
    for path, md5 in staged.new.items():
        target = cache.path(md5)
        target.parent.mkdir(parents=True, exist_ok=True)
        path.chmod(0o444)
        try:
            os.link(path, target)
            added.append(target)
        except FileExistsError:
            twin = path.with_name(f".{path.name}.twin")
            os.link(target, twin)
            twin.replace(path)
        except OSError:
            return added
    return added
