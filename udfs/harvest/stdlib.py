"""Documentation pages of the standard library's public objects, read from its sources."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from pathlib import Path

from schemas.ids import content_id
from udfs.harvest.page import page
from udfs.harvest.record import Record
from udfs.harvest.source import Obj, objects, read_module

#: Folders that hold tests, applications, generated tables or other people's code.
SKIPPED = frozenset({
    "test", "tests", "idlelib", "lib2to3", "turtledemo", "site-packages", "dist-packages", "__pycache__", "encodings",
    "pydoc_data", "_bundled", "lib-dynload", "__phello__", "_pyrepl", "_vendor",
})  # fmt: skip
_NEIGHBOURS = 4


def module_files(root: Path) -> list[tuple[str, Path]]:
    """(dotted module name, file) of the public modules below ``root``, by name."""
    found: list[tuple[str, Path]] = []
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if parts and not any(part in SKIPPED or part.startswith("_") or not part.isidentifier() for part in parts):
            found.append((".".join(parts), path))
    return sorted(found)


def _walk(obj: Obj, siblings: list[Obj], position: int) -> Iterator[tuple[Obj, list[str]]]:
    """Each object with the dotted names of those defined next to it, nearest first."""
    near = sorted(range(len(siblings)), key=lambda index: (abs(index - position), index))
    names = dict.fromkeys(siblings[index].dotted for index in near if siblings[index].dotted != obj.dotted)
    yield obj, sorted(list(names)[:_NEIGHBOURS])
    for index, member in enumerate(obj.members):
        yield from _walk(member, obj.members, index)


def module_records(name: str, path: Path) -> list[Record]:
    """Pages of one module; an object defined twice (say, per platform) has two pages, the second with ``#2`` in its id."""
    module = read_module(path, name)
    if module is None:
        return []
    records: list[Record] = []
    seen: dict[str, int] = {}
    for obj, neighbours in _walk(objects(module), [], 0):
        text = page(obj, neighbours)
        if text is None:
            continue
        count = seen[obj.dotted] = seen.get(obj.dotted, 0) + 1
        extra = {"kind": obj.kind, "module": name, "domain": "python-stdlib"}
        records.append(Record(obj.dotted + (f"#{count}" if count > 1 else ""), obj.dotted, text, "PSF-2.0", extra))
    return records


def stdlib_records(limit: int | None = None) -> Iterator[Record]:
    """Pages of the whole library by module; with ``limit``, of as many modules (in a fixed shuffled order) as give that many."""
    files = module_files(Path(sysconfig.get_paths()["stdlib"]))
    if limit is not None:
        files.sort(key=lambda item: content_id("harvest", item[0]))
    count = 0
    for name, path in files:
        for record in module_records(name, path):
            yield record
            count += 1
        if limit is not None and count >= limit:
            return
