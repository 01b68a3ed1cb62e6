"""Machine code of the compiled kernels, kept between processes: to compile them takes some six CPU seconds, to load them a tenth of that.

numba's own ``cache=True`` is of no use here: it needs a source file whose path stays, which a zip on ``--py-files`` has not; it looks at
the bytecode of the one function, so that a changed constant or callee in another module goes unseen; and processes that write its index
at once can leave an entry that names the code of another. Here a file holds one function for one signature, and its name is a hash of all
that the code depends on: sources, processor, versions, settings. So a file is never out of date, and whoever writes it writes the same.

The files are unpickled, as numba does it: only from a folder, and only files, that belong to this user and that nobody else may write.
Whatever goes wrong (no home, a full disk, a torn file, another numba) costs a compilation in memory and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
import sys
import tempfile
import time
from contextlib import suppress
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import llvmlite
import numba
import numpy as np
from numba.core import compiler, serialize

#: Packages whose sources go into every kernel: constants and callees are frozen into the code.
SHARED = ("udfs.dedup", "udfs.text")
#: Seconds after which a file that nobody loaded is removed.
STALE_SECONDS = 90 * 24 * 3600

_DIGEST = hashlib.sha256().digest_size
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
#: All that unpickling, linking and an unreadable folder are known to raise; MemoryError and an interrupt are not ours.
_FAULTS = (
    OSError,
    ValueError,
    TypeError,
    AttributeError,
    KeyError,
    IndexError,
    ImportError,
    EOFError,
    RuntimeError,
    AssertionError,
    pickle.PickleError,
)

_Function = TypeVar("_Function")


def folder() -> Path | None:
    """``$VERILAKE_KERNELS`` (empty: none), else a folder of the user's cache; None where there is no home."""
    named = os.environ.get("VERILAKE_KERNELS")
    if named is not None:
        return Path(named) if named else None
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # no home
        return None
    return cache / "verilake" / "kernels"


def kept(function: _Function) -> _Function:
    """Let a jitted function, one that Python calls, look for its machine code here before it compiles, and leave it here afterwards."""
    place = folder()
    if place is not None and hasattr(function, "_cache"):  # with NUMBA_DISABLE_JIT it is plain Python
        function._cache = ObjectCode(function, place)  # noqa: SLF001 -- where numba's own cache goes; there is no public place
    return function


class ObjectCode:
    """What numba's dispatcher asks of a cache, for one function."""

    def __init__(self, dispatcher: Any, place: Path) -> None:
        self._function, self._place = dispatcher.py_func, place

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(self._place)

    def enable(self) -> None:
        """Part of numba's interface; of no meaning here."""

    def disable(self) -> None:
        """Part of numba's interface; of no meaning here."""

    def flush(self) -> None:
        """Part of numba's interface: a dispatcher that recompiles writes the same file."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function for a signature, or None."""
        try:
            target_context.refresh()
            path = self._path(sig, target_context.codegen())
            raw = _read(path)
            if raw is None or hashlib.sha256(raw[_DIGEST:]).digest() != raw[:_DIGEST]:
                return None
            found = compiler.CompileResult._rebuild(target_context, *pickle.loads(raw[_DIGEST:]))  # noqa: S301, SLF001 -- our own file, as said above
            os.utime(path)
        except _FAULTS:
            return None
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Leave a compiled function; one that holds addresses of this process is not left."""
        try:
            if data.library.has_dynamic_globals or any(not part.can_cache for part in data.lifted):
                return
            body = serialize.dumps(data._reduce())  # noqa: SLF001 -- what numba's own cache writes
            _write(self._path(sig, data.codegen), hashlib.sha256(body).digest() + body)
        except _FAULTS:
            return

    def _path(self, sig: Any, codegen: Any) -> Path:
        name = f"{self._function.__module__}.{self._function.__qualname__}"
        settings = sorted((k, v) for k, v in os.environ.items() if k.startswith("NUMBA_"))
        versions = (sys.implementation.cache_tag, sys.version, numba.__version__, llvmlite.__version__, np.__version__)
        told = repr((name, sig, codegen.magic_tuple(), versions, settings, _sources(self._function.__module__.rpartition(".")[0])))
        return self._place / f"{self._function.__name__.strip('_')}-{hashlib.sha256(told.encode()).hexdigest()[:40]}.code"


@lru_cache(maxsize=8)
def _sources(package: str) -> str:
    """Hash of the sources of a package and of ``SHARED``; they may lie in a zip.

    Raises:
        ImportError: there are no sources to tell versions apart.
    """
    told = hashlib.sha256()
    for name in sorted({package, *SHARED}):
        files = sorted((entry.name, entry) for entry in resources.files(name).iterdir() if entry.name.endswith(".py"))
        if not files:
            raise ImportError(f"no sources of {name}")
        for file, entry in files:
            told.update(f"{name}/{file}:".encode() + hashlib.sha256(entry.read_bytes()).digest())
    return told.hexdigest()


def _private(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE


def _read(path: Path) -> bytes | None:
    """The bytes of a file that this user alone may write, in a folder of the same kind."""
    place = path.parent.lstat()
    if not stat.S_ISDIR(place.st_mode) or not _private(place):
        return None
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        return file.read() if _private(os.fstat(file.fileno())) else None


def _write(path: Path, raw: bytes) -> None:
    """Whole under its name or not at all, whoever else writes it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = path.parent.lstat()
    if not stat.S_ISDIR(place.st_mode) or not _private(place):
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    oldest = time.time() - STALE_SECONDS
    for entry in path.parent.iterdir():
        with suppress(OSError):
            if entry.suffix in (".code", ".part") and entry.stat().st_mtime < oldest:
                entry.unlink()
