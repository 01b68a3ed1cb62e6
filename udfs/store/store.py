"""The one interface under the hand-off: create-if-absent, put, read and list; a file system or an object store lies behind it (G§3).

What must be atomic is ``create_if_absent`` alone: the lease and the commit are made by it. The rest is plain: whole files are
written and read, names are listed, and the store has a clock of its own, because hosts disagree about the time.
"""

from __future__ import annotations

import builtins
import errno
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemas.errors import VerilakeError

if TYPE_CHECKING:
    from udfs.store.file_store import FileStore

#: What a file system reports when it, and not the work, is at fault: full, over quota, gone, read-only, broken.
_FAULTS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE, errno.EROFS, errno.ENODEV, errno.EMFILE, errno.ENFILE})


class StoreError(VerilakeError):
    """A store that cannot be used at all: wrong address, no credentials, refused."""

    exit_code = 3

    @classmethod
    def from_uri(cls, uri: str) -> StoreError:
        """A scheme that nothing here serves."""
        return cls(f"{uri}: hand-off runs lie in a directory or below s3://BUCKET/PREFIX.")

    @classmethod
    def from_remote(cls, uri: str) -> StoreError:
        """Something that needs files was asked of an object store."""
        return cls(f"{uri}: Spark jobs lay and take in runs on a file system; on an object store only workers serve them.")


class StoreUnavailableError(OSError):
    """An object store that did not answer, however often it was asked."""

    def __init__(self, what: str) -> None:
        super().__init__(errno.EIO, what)


def is_store_fault(error: BaseException) -> bool:
    """Whether the store failed and not the work: such an attempt is given back and counts against nobody."""
    return isinstance(error, OSError) and error.errno in _FAULTS


@dataclass(frozen=True)
class Entry:
    """A stored file: its name within the folder that was listed, bytes, and when it was written by the store's clock (seconds)."""

    name: str
    size: int
    mtime: float


class Appender(ABC):
    """A file that grows; what was appended is durable when ``append`` returns. One writer at a time."""

    @abstractmethod
    def append(self, data: bytes) -> None:
        """Add to the end."""

    @abstractmethod
    def close(self) -> None:
        """No more will come; again does nothing."""


class Store(ABC):
    """Named byte strings below one root; names are relative paths with ``/``."""

    #: The root, as a user would name it.
    uri: str

    @abstractmethod
    def create_if_absent(self, name: str, data: bytes) -> bool:
        """Create ``name`` with ``data`` unless it exists; True for exactly one of any number of callers.

        The file is durable, and whole for every reader, when True is returned.
        """

    @abstractmethod
    def put(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Create or overwrite ``name``; a reader sees the old bytes or the new ones, never a mixture.

        Args:
            name: where.
            data: the bytes.
            durable: survive a power cut. A sign of life is written without: a power cut ends it anyway.
        """

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """The bytes of ``name``, None where there is none."""

    @abstractmethod
    def list(self, folder: str) -> list[str]:
        """Names of the entries directly below ``folder`` (without it), in order; empty where there is no such folder."""

    @abstractmethod
    def entries(self, folder: str) -> builtins.list[Entry]:
        """The files directly below ``folder``, in order of their names."""

    @abstractmethod
    def stat(self, name: str) -> Entry | None:
        """Size and time of ``name``, None where there is none."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove ``name`` if it is there."""

    @abstractmethod
    def now(self) -> float:
        """The store's clock, in seconds: the time of a file made for this question; a lease is judged by this clock alone."""

    def appender(self, name: str) -> Appender:
        """A file that grows, or, where a store has none, files ``<name>.<ordinal>`` of which each holds what was appended at once."""
        return _Pieces(self, name)

    def exists(self, name: str) -> bool:
        """Whether ``name`` is there."""
        return self.stat(name) is not None

    def mtime(self, name: str) -> float | None:
        """When ``name`` was written, by the store's clock; None where there is none."""
        found = self.stat(name)
        return found.mtime if found is not None else None

    def move(self, name: str, to: str) -> bool:
        """Give ``name`` another name; False where it is no longer there."""
        data = self.read(name)
        if data is None:
            return False
        self.put(to, data)
        self.remove(name)
        return True


class _Pieces(Appender):
    """Growth on a store of whole objects: each append is an object of its own, in order by its name."""

    def __init__(self, store: Store, name: str) -> None:
        self._store, self._name, self._next = store, name, 0

    def append(self, data: bytes) -> None:
        self._store.put(f"{self._name}.{self._next:08d}", data)
        self._next += 1

    def close(self) -> None:
        """Every piece is whole already."""


def open_store(root: str | os.PathLike[str]) -> Store:
    """The store at ``root``: a directory, or ``s3://BUCKET/PREFIX`` with endpoint and credentials from the environment.

    Raises:
        StoreError: another scheme, or an object store without credentials.
    """
    text = os.fspath(root)
    if text.startswith("s3://"):
        from udfs.store.object_store import ObjectStore

        return ObjectStore.from_environment(text)
    if "://" in text:
        raise StoreError.from_uri(text)
    from udfs.store.file_store import FileStore

    return FileStore(root)


def local_files(store: Store) -> FileStore:
    """``store`` as the file system that it is.

    Raises:
        StoreError: it is an object store.
    """
    from udfs.store.file_store import FileStore

    if not isinstance(store, FileStore):
        raise StoreError.from_remote(store.uri)
    return store
