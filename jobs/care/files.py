"""Bytes of documents outside the lake: hand-off runs, published files and DVC's objects, artifacts of tracking, reports."""

from __future__ import annotations

import configparser
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from jobs.care.offered import is_parquet, rows_of
from jobs.convert.known import SALVAGED
from jobs.files import put
from jobs.lake.layout import Lake
from jobs.workspace import Workspace
from schemas.bronze.replies import REPLIES
from udfs.killpoints import reach
from udfs.store.replies import FOLDER

#: Folders of a workspace that other parts look after: the lake by table, git and DVC by what they name.
_OTHERS = frozenset({"lake", "handoff", ".git", ".dvc", ".locks", "conf"})
_ID = re.compile(rb"[0-9a-f]{32}")


def purge_files(workspace: Workspace, ids: dict[str, frozenset[str]]) -> list[str]:
    """Remove every file of the workspace, outside the lake, that holds rows or names of these ids; returns what was removed.

    Args:
        workspace: where.
        ids: kind of id -> ids, as columns of Parquet files are named; other files are told by any of the ids in their bytes.
    """
    return [*_handoff(workspace, ids), *_objects(workspace, ids), *_others(workspace, ids)]


def _handoff(workspace: Workspace, ids: dict[str, frozenset[str]]) -> Iterator[str]:
    """A run goes as a whole: what it brought is in the lake, and a run that is not finished is laid again from what is left there.

    What it paid for and the lake does not hold is kept, without what speaks of these ids.
    """
    named = frozenset(ident.encode() for held in ids.values() for ident in held)
    taken = set(Lake(workspace.lake_root).slices(REPLIES))
    for path in sorted(workspace.handoff_root.glob(f"{SALVAGED}/*.jsonl")):
        if _clean(path, ids, named):
            yield str(path.relative_to(workspace.root))
    for run in sorted(workspace.handoff_root.glob("*/run=*")):
        if any(rows_of(path, ids) for path in run.rglob("*.parquet")):
            # The plan first: a run without a plan does not exist for any worker or job.
            (run / "plan" / "plan.json").unlink(missing_ok=True)
            reach("takedown/run_unplanned")
            if run.name.removeprefix("run=") not in taken:
                _salvage(workspace, run, named)
            shutil.rmtree(run)
            yield str(run.relative_to(workspace.root))
        elif not (run / "plan" / "plan.json").is_file():
            shutil.rmtree(run)


def _salvage(workspace: Workspace, run: Path, named: frozenset[bytes]) -> None:
    """Keep the replies of a run that was never taken in; a line that was cut may be any document's, and goes."""
    lines = (line for path in sorted((run / FOLDER).glob("*/*")) for line in path.read_bytes().splitlines(keepends=True))
    kept = b"".join(line for line in lines if line.endswith(b"\n") and named.isdisjoint(_ID.findall(line)))
    if kept:
        put(workspace.handoff_root / SALVAGED / f"{run.name}.jsonl", kept)


def _objects(workspace: Workspace, ids: dict[str, frozenset[str]]) -> Iterator[str]:
    """Objects of DVC's cache and of a remote that is a directory, whichever publication they belong to."""
    from jobs.publish.objects import Cache

    wanted = {name: held for name, held in ids.items() if name in {"doc_id", "prompt_id", "sft_id", "pair_id"}}
    for folder in (Cache.of(workspace.root).folder, *_local_remotes(workspace.root)):
        for path in sorted((folder / "files" / "md5").glob("??/*")):
            if path.is_file() and rows_of(path, wanted):
                path.unlink()
                reach("takedown/object_removed")
                yield str(path.relative_to(workspace.root)) if path.is_relative_to(workspace.root) else str(path)


def remotes(root: Path) -> list[str]:
    """Addresses of the workspace's DVC remotes."""
    found = []
    for path in (root / ".dvc" / "config", root / ".dvc" / "config.local"):
        settings = configparser.ConfigParser(interpolation=None)
        if path.is_file():
            settings.read_string(path.read_text("utf-8", "replace"))
        for section in settings.sections():
            url = settings.get(section, "url", fallback="").strip()
            if "remote" in section and url:
                found.append(str((path.parent / Path(url).expanduser()).resolve()) if "://" not in url else url)
    return list(dict.fromkeys(found))


def _local_remotes(root: Path) -> list[Path]:
    return [Path(url) for url in remotes(root) if "://" not in url and Path(url).is_dir()]


def _others(workspace: Workspace, ids: dict[str, frozenset[str]]) -> Iterator[str]:
    """Published files and artifacts: Parquet by its rows; of lines of JSON those that name an id; anything else that names one as a whole."""
    named = frozenset(ident.encode() for held in ids.values() for ident in held)
    for folder in sorted(workspace.root.iterdir()):
        if folder.name in _OTHERS:
            continue
        for path in [folder] if folder.is_file() else sorted(folder.rglob("*")):
            if (
                path.is_file()
                and not path.is_symlink()
                and not path.name.endswith((".db", ".db-wal", ".db-shm"))
                and _clean(path, ids, named)
            ):
                reach("takedown/file_removed")
                yield str(path.relative_to(workspace.root))


def _clean(path: Path, ids: dict[str, frozenset[str]], named: frozenset[bytes]) -> bool:
    if is_parquet(path):
        if not rows_of(path, ids):
            return False
        path.unlink()
        return True
    lines = path.suffix == ".jsonl"
    kept, dropped = [], False
    with path.open("rb") as stream:
        for line in stream:
            if named.isdisjoint(_ID.findall(line)):
                if lines:
                    kept.append(line)
                continue
            dropped = True
            if not lines:
                break
    if not dropped:
        return False
    if kept:
        put(path, b"".join(kept))
    else:
        path.unlink()
    return True
