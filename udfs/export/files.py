"""A published folder against its manifest: every flipped, truncated, missing and extra file by name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pydantic import ValidationError

from schemas.ids import canonical_json
from schemas.publication import MANIFEST_FILE, Manifest

#: Hashing leaves the interpreter's lock: a few threads keep a disk busy.
THREADS = 4


def sha256_of(path: Path) -> str:
    """Of a file's bytes; a link is never followed.

    Raises:
        OSError: it cannot be read, or is a link.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tree_sha256(path: Path) -> str:
    """Over the names and bytes of a checkpoint's files; of a single file over its bytes under its name."""
    files = [path] if path.is_file() else sorted(entry for entry in path.rglob("*") if entry.is_file() and not entry.is_symlink())
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as opened:
            inner = hashlib.file_digest(opened, "sha256").hexdigest()
        name = file.name if path.is_file() else file.relative_to(path).as_posix()
        digest.update(canonical_json([os.fsencode(name).decode("utf-8", "backslashreplace"), inner]).encode() + b"\n")
    return digest.hexdigest()


def check_set(folder: Path, manifest_sha256: str | None = None) -> list[str]:
    """What is wrong with a set's folder, one line a file, in order; empty where nothing is.

    Args:
        folder: with MANIFEST.json and the files that it names.
        manifest_sha256: what the manifest must be, where something beside it says so.
    """
    path = folder / MANIFEST_FILE
    if path.is_symlink() or not path.is_file():
        return [f"{path}: missing"]
    raw = path.read_bytes()
    problems = []
    if manifest_sha256 is not None and hashlib.sha256(raw).hexdigest() != manifest_sha256:
        problems.append(f"{path}: changed: it is not the manifest that was published")
    try:
        manifest = Manifest.model_validate_json(raw)
    except ValidationError as error:
        return [*problems, f"{path}: changed: it is no manifest ({error.error_count()} errors)"]
    named = {file.path: file for file in manifest.files}
    problems += extra_entries(folder, files={MANIFEST_FILE, *named})
    with ThreadPoolExecutor(THREADS) as pool:
        found = pool.map(lambda file: _check_file(folder / file.path, file.bytes, file.sha256), manifest.files)
        problems += [problem for problem in found if problem]
    return problems


def extra_entries(folder: Path, *, files: Iterable[str] = (), folders: Iterable[str] = ()) -> list[str]:
    """Entries of ``folder`` that do not belong there: hidden ones, links and folders too, and any of another kind than named."""
    expected = dict.fromkeys(files, "file") | dict.fromkeys(folders, "folder")
    extra = []
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        kind = "link" if entry.is_symlink() else "folder" if entry.is_dir() else "file" if entry.is_file() else "special file"
        wanted = expected.get(entry.name)
        if wanted is None:
            extra.append(f"{folder / entry.name}: extra {kind}")
        elif kind != wanted:
            extra.append(f"{folder / entry.name}: a {kind} where a {wanted} should be")
    return extra


def _check_file(path: Path, size: int, sha256: str) -> str | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return f"{path}: missing"
    if path.is_symlink() or not path.is_file():
        return None  # named among the extra entries
    if found.st_size != size:
        return f"{path}: {'truncated' if found.st_size < size else 'grown'}: {found.st_size:,} bytes instead of {size:,}"
    try:
        return None if sha256_of(path) == sha256 else f"{path}: changed: other bytes of the same size"
    except OSError as error:
        return f"{path}: cannot be read: {error.strerror}"
