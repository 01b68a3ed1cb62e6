"""What a table's directory still holds of rows that are gone: files of older versions, and the bounds of their columns in the log.

VACUUM knows only ages; here exactly the files that hold such rows are removed, under the table's lock, so that no writer's file is young.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

from jobs.care.offered import rows_of
from jobs.files import put
from jobs.lake.layout import Lake
from jobs.lake.locks import exclusive
from schemas.table import Table
from udfs.killpoints import reach

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint.*\.parquet")


def data_files(lake: Lake, table: Table) -> list[Path]:
    """Every data file below the table, whether a version names it or not."""
    folder = lake.path(table)
    return sorted(path for path in folder.rglob("*.parquet") if path.relative_to(folder).parts[0] != "_delta_log")


def live_files(lake: Lake, table: Table, version: int | None = None) -> set[Path]:
    """Data files of a version, the newest where none is named."""
    delta = lake.delta(table)
    if version is not None:
        delta.load_as_version(version)
    added = delta.get_add_actions()
    import pyarrow as pa

    paths = pa.RecordBatchReader.from_stream(added).read_all().column("path").to_pylist()
    return {lake.path(table) / unquote(path) for path in paths}


def remove_remains(lake: Lake, table: Table, column: str, values: frozenset[str] | frozenset[bytes]) -> list[str]:
    """Remove files of older versions that hold rows whose ``column`` is one of ``values``; returns their names.

    What the log says of files that no longer exist is cut down to their names and sizes: their bounds quote the rows.
    """
    if not values or not (lake.path(table) / "_delta_log").is_dir():
        return []
    removed = []
    with exclusive(lake.root / ".locks", table.name):
        live = live_files(lake, table)
        for path in data_files(lake, table):
            if path not in live and rows_of(path, {column: values}):
                remove_file(path)
                reach(f"takedown/removed/{table.name}")
                removed.append(str(path.relative_to(lake.root)))
        cut_log(lake, table)
    return removed


def forget_old_files(lake: Lake, table: Table, holds: Iterable[Path]) -> list[str]:
    """Remove these files where no current version names them; returns their names."""
    with exclusive(lake.root / ".locks", table.name):
        live = live_files(lake, table)
        gone = [path for path in holds if path not in live and path.is_file()]
        for path in gone:
            remove_file(path)
        cut_log(lake, table)
    return [str(path.relative_to(lake.root)) for path in gone]


def remove_file(path: Path) -> None:
    """A data file and the checksum that Hadoop's local file system keeps beside it."""
    path.unlink(missing_ok=True)
    (path.parent / f".{path.name}.crc").unlink(missing_ok=True)


def cut_log(lake: Lake, table: Table) -> None:
    """Take the bounds of files that do not exist any more out of the log; a log without such files stays as it is."""
    folder, log = lake.path(table), lake.path(table) / "_delta_log"
    commits = {int(match[1]): path for path in log.iterdir() if (match := _COMMIT.fullmatch(path.name))}
    newest = max(commits)
    cut = False
    for _, path in sorted(commits.items()):
        # Not splitlines(): text within the log may hold other characters that it takes for ends of lines.
        lines = path.read_text("utf-8").split("\n")
        kept = [_without_bounds(line, folder) if line else line for line in lines]
        if kept != lines:
            _replace(path, "\n".join(kept))
            cut = True
    if not cut and not _older_than(log, newest):
        return
    if any(_CHECKPOINT.fullmatch(path.name) for path in log.iterdir()):
        # Older ones repeat the bounds; the new one is made before they go, from commits that repeat them no more.
        lake.delta(table).create_checkpoint()
    for path in _older_than(log, newest):
        remove_file(path)


def _older_than(log: Path, newest: int) -> list[Path]:
    """Checkpoints and version checksums of older versions: both repeat the bounds of files, and both are made anew from the commits."""
    found = []
    for path in log.iterdir():
        match = _CHECKPOINT.fullmatch(path.name) or re.fullmatch(r"(\d{20})\.crc", path.name)
        if match and int(match[1]) < newest:
            found.append(path)
    return found


def _without_bounds(line: str, folder: Path) -> str:
    action = json.loads(line)
    told = action.get("add") or action.get("remove")
    if not told or not told.get("stats") or (folder / unquote(told["path"])).exists():
        return line
    stats = json.loads(told["stats"])
    if set(stats) <= {"numRecords"}:
        return line
    told["stats"] = json.dumps({"numRecords": stats["numRecords"]})
    return json.dumps(action, separators=(",", ":"), ensure_ascii=False)


def _replace(path: Path, text: str) -> None:
    # Hadoop's checksum goes first: without one the file is simply read.
    (path.parent / f".{path.name}.crc").unlink(missing_ok=True)
    put(path, text.encode())


def ids_in_all_files(lake: Lake, table: Table, column: str, values: frozenset[str], own: str | None) -> frozenset[str]:
    """Values of ``own`` in rows whose ``column`` is one of ``values``, in files of any version."""
    return (
        frozenset(value for path in data_files(lake, table) for value in _own_ids(path, column, values, own))
        if own and values
        else frozenset()
    )


def _own_ids(path: Path, column: str, values: frozenset[str], own: str) -> Iterator[str]:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as held:
        table = held.read(columns=list(dict.fromkeys([column, own])))
    yield from table.filter(pc.is_in(table.column(column), value_set=pa.array(sorted(values), pa.string()))).column(own).to_pylist()
