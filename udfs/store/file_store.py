"""The store on a local or shared file system.

Why ``link`` and neither ``O_EXCL`` nor ``exists`` + ``rename``: with ``O_EXCL`` a reader may see the winner's file before its
bytes, and with the latter two writers may both believe they won. A hard link to a finished private file is atomic in name and
content. On NFS a retransmitted ``link`` may report an error although it succeeded; the link count of the private file knows.
"""

from __future__ import annotations

import builtins
import os
import stat as modes
import uuid
from contextlib import suppress
from pathlib import Path

from udfs.killpoints import reach
from udfs.store.store import Appender, Entry, Store


class FileStore(Store):
    """Files below one directory.

    Private temporary files lie in ``.tmp`` below the root, which is on the same file system and is never listed.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)
        self.uri = str(self.root)
        self._tmp = self.root / ".tmp"

    def path(self, name: str) -> Path:
        """Where ``name`` lies."""
        return self.root / name

    def create_if_absent(self, name: str, data: bytes) -> bool:
        """As the interface says."""
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
        """As the interface says; ``durable`` syncs file and directory."""
        target = self.path(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        private = self._write_private(data, durable=durable)
        reach("before_rename")
        private.replace(target)
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

    def appender(self, name: str) -> Appender:
        """A file that grows; each append is synced."""
        target = self.path(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        return _Growing(target)

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

    def list(self, folder: str) -> builtins.list[str]:
        """Names below ``folder``, files and folders."""
        try:
            return sorted(entry.name for entry in os.scandir(self.path(folder)))
        except FileNotFoundError:
            return []

    def entries(self, folder: str) -> builtins.list[Entry]:
        """Files below ``folder``; one that is removed meanwhile is left out."""
        found = []
        for name in self.list(folder):
            entry = self.stat(f"{folder}/{name}")
            if entry is not None:
                found.append(Entry(name, entry.size, entry.mtime))
        return found

    def stat(self, name: str) -> Entry | None:
        """Size and modification time of a file."""
        try:
            found = self.path(name).stat()
        except FileNotFoundError:
            return None
        return Entry(name.rpartition("/")[2], found.st_size, found.st_mtime) if modes.S_ISREG(found.st_mode) else None

    def exists(self, name: str) -> bool:
        """Whether there is a file or a folder of that name."""
        return self.path(name).exists()

    def now(self) -> float:
        """The modification time of a file made for this question."""
        probe = self.private_path()
        probe.write_bytes(b"")
        try:
            return probe.stat().st_mtime
        finally:
            probe.unlink()

    def _write_private(self, data: bytes, *, durable: bool = True) -> Path:
        private = self.private_path()
        try:
            with private.open("xb") as file:
                file.write(data)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
        except OSError:  # a full disk must not be filled further by what it could not take
            with suppress(OSError):
                private.unlink(missing_ok=True)
            raise
        return private


class _Growing(Appender):
    """A file opened for appending; made, with its directory entry, by the first append."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def append(self, data: bytes) -> None:
        if self._handle is None:
            self._handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            _sync_directory(self._path.parent)
        left = memoryview(data)
        while left:
            left = left[os.write(self._handle, left) :]
        os.fsync(self._handle)

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


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
