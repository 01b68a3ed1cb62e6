"""Which files an ingest reads, and by which names it knows them: independent of the order of the arguments and of where they lie."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from schemas.errors import InputRefusedError

_SUFFIXES = re.compile(r"(?:\.(?:jsonl|ndjson|json|txt|text|md|parquet|pq|warc|wet|wat|gz|gzip|zst|zstd))+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file to read.

    Attributes:
        location: its path on the file system, as bytes, for not every name is UTF-8.
        relative: its name in the lake: the path below the argument that named it; unique within an ingest.
        source: name of the collection.
        size: bytes; -1 where the file cannot be examined.
        modified: when it last changed, in nanoseconds; -1 likewise.
        parents: folders above ``relative``, nearest last; used where two arguments hold files of the same name.
    """

    location: bytes
    relative: str
    source: str
    size: int
    modified: int = -1
    parents: tuple[str, ...] = ()


def list_files(paths: Sequence[str | Path], source: str | None = None) -> list[InputFile]:
    """All files that the arguments name, each once, sorted by ``relative``.

    A directory is walked; hidden entries are skipped; links are followed, but no folder twice. A file that two arguments name
    keeps its longest name. Files of equal names get as many parent folders in front as tell them apart.

    Args:
        paths: files and directories.
        source: name of the collection; where None, the name of the directory or the stem of the file that was named.

    Raises:
        InputRefusedError: an argument does not exist.
    """
    found: dict[bytes, InputFile] = {}
    for path in paths:
        argument = os.path.abspath(os.fsencode(path))  # noqa: PTH100 - bytes, and links are kept
        if not os.path.lexists(argument):
            raise InputRefusedError.from_missing(str(path))
        folder = os.path.isdir(argument)  # noqa: PTH112 - bytes
        base = argument if folder else os.path.dirname(argument)  # noqa: PTH120 - bytes
        parents = tuple(_shown(part) for part in base.split(b"/") if part)
        collection = source or ((parents or ("root",))[-1] if folder else stem(_shown(os.path.basename(argument))))  # noqa: PTH119 - bytes
        for location in _walk(argument):
            relative = _shown(os.path.relpath(location, base))
            file = InputFile(location, relative, collection, *file_state(location), parents)
            real = os.path.realpath(location)
            held = found.get(real)
            if held is None or (-relative.count("/"), relative) < (-held.relative.count("/"), held.relative):
                found[real] = file
    return sorted(_told_apart(sorted(found.values(), key=lambda file: file.location)), key=lambda file: file.relative)


def stem(relative: str) -> str:
    """Base name without the suffixes of known formats."""
    name = relative.rpartition("/")[2]
    return _SUFFIXES.sub("", name) or name


def file_digest(location: bytes | str | Path) -> str:
    """sha256 of a file's bytes in one streaming pass; ``unreadable`` where it cannot be read (its reject says why)."""
    try:
        if not stat.S_ISREG(os.stat(location).st_mode):  # noqa: PTH116 - bytes; a pipe would block
            return "unreadable"
        with open(location, "rb") as file:  # noqa: PTH123 - bytes
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "unreadable"


def file_state(location: bytes) -> tuple[int, int]:
    """Size in bytes and time of the last change in nanoseconds; -1 twice where a file cannot be examined."""
    try:
        found = os.stat(location)  # noqa: PTH116 - bytes
    except OSError:
        return -1, -1
    return found.st_size, found.st_mtime_ns


def _walk(argument: bytes) -> Iterator[bytes]:
    """Files below ``argument`` in sorted order, or itself; folders that a link leads back to are not entered again."""
    if not os.path.isdir(argument):  # noqa: PTH112 - bytes
        yield argument
        return
    entered = {os.path.realpath(argument)}
    stack = [argument]
    while stack:
        folder = stack.pop()
        deeper: list[bytes] = []
        try:
            names = sorted(os.listdir(folder))  # noqa: PTH208 - bytes
        except OSError:
            yield folder  # reported as unreadable
            continue
        for name in names:
            if name.startswith(b"."):
                continue
            path = os.path.join(folder, name)  # noqa: PTH118 - bytes
            if not os.path.isdir(path):  # noqa: PTH112 - bytes
                yield path
                continue
            real = os.path.realpath(path)
            if real not in entered:
                entered.add(real)
                deeper.append(path)
        stack.extend(reversed(deeper))


def _told_apart(files: Iterable[InputFile]) -> list[InputFile]:
    """Unique names: files that share one get one more parent folder in front, again and again, until none does."""
    chosen = list(files)
    names = [file.relative for file in chosen]
    for depth in range(1, 1 + max((len(file.parents) for file in chosen), default=0)):
        often = {name for name, count in Counter(names).items() if count > 1}
        if not often:
            break
        names = [
            "/".join((*file.parents[-depth:], file.relative)) if name in often else name for file, name in zip(chosen, names, strict=True)
        ]
    return [replace(file, relative=name) for file, name in zip(chosen, names, strict=True)]


def _shown(path: bytes) -> str:
    """A name as text that UTF-8 can store."""
    return path.decode("utf-8", "backslashreplace")
