"""The primitive under the hand-off: create-if-absent, put, and a clock, over a local or shared file system (G§3).

Why ``link`` and neither ``O_EXCL`` nor ``exists`` + ``rename``: with ``O_EXCL`` a reader may see the winner's file before its
bytes, and with the latter two writers may both believe they won. A hard link to a finished private file is atomic in name and
content. On NFS a retransmitted ``link`` may report an error although it succeeded; the link count of the private file knows.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path


class Store:
    """Named immutable or overwritten byte strings below one directory; names are relative paths with ``/``.

    Private temporary files lie in ``.tmp`` below the root, which is on the same file system and is never listed.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)
        self._tmp = self.root / ".tmp"

    def path(self, name: str) -> Path:
        """Where ``name`` lies."""
        return self.root / name

    def create_if_absent(self, name: str, data: bytes) -> bool:
        """Create ``name`` with ``data`` unless it exists; True for exactly one of any number of callers.

        The file is durable, and whole for every reader, when True is returned.
        """
        target = self.path(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        private = self._write_private(data)
        try:
            won = _link(private, target)
        finally:
            private.unlink()
        if won:
            _sync_directory(target.parent)
        return won

    def put(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Create or overwrite ``name``; a reader sees the old bytes or the new ones, never a mixture.

        Args:
            name: where.
            data: the bytes.
            durable: sync file and directory. A sign of life is written without: a power cut ends it anyway.
        """
        target = self.path(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        self._write_private(data, durable=durable).replace(target)
        if durable:
            _sync_directory(target.parent)

    def private_path(self) -> Path:
        """A fresh path for a file that ``publish`` will rename; unique among processes and hosts."""
        self._tmp.mkdir(parents=True, exist_ok=True)
        return self._tmp / uuid.uuid4().hex

    def publish(self, private: Path, name: str) -> None:
        """Make a finished private file durable and give it its name, over an earlier file of that name."""
        _sync_file(private)
        target = self.path(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        private.replace(target)
        _sync_directory(target.parent)

    def move(self, name: str, to: str) -> bool:
        """Rename ``name``; False where it is no longer there."""
        target = self.path(to)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            self.path(name).replace(target)
        except FileNotFoundError:
            return False
        return True

    def remove(self, name: str) -> None:
        """Remove ``name`` if it is there."""
        self.path(name).unlink(missing_ok=True)

    def read(self, name: str) -> bytes | None:
        """The bytes of ``name``, None where there is none."""
        try:
            return self.path(name).read_bytes()
        except FileNotFoundError:
            return None

    def exists(self, name: str) -> bool:
        """Whether ``name`` is there."""
        return self.path(name).exists()

    def list(self, folder: str) -> list[str]:
        """Names of the entries directly below ``folder`` (without it), in order; empty where there is no such folder."""
        try:
            return sorted(entry.name for entry in self.path(folder).iterdir())
        except FileNotFoundError:
            return []

    def mtime(self, name: str) -> float | None:
        """When ``name`` was written, by the store's clock; None where there is none."""
        try:
            return self.path(name).stat().st_mtime
        except FileNotFoundError:
            return None

    def now(self) -> float:
        """The store's clock: the modification time of a file made for this question.

        Hosts disagree about the time; a lease is judged by this clock alone.
        """
        probe = self.private_path()
        probe.write_bytes(b"")
        try:
            return probe.stat().st_mtime
        finally:
            probe.unlink()

    def _write_private(self, data: bytes, *, durable: bool = True) -> Path:
        private = self.private_path()
        with private.open("xb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        return private


def _link(private: Path, target: Path) -> bool:
    try:
        os.link(private, target)
    except OSError:
        if private.stat().st_nlink > 1:
            return True
        if target.exists():
            return False
        raise
    return True


def _sync_file(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
