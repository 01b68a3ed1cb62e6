"""The replies of a conversion run, written down one by one before they are used: ``replies/<sid>/<attempt>.jsonl``.

A line is a row of bronze.replies. A process that was killed may leave its last line cut; that reply was never used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from schemas.bronze.replies import REPLIES
from udfs.store.store import Store

FOLDER = "replies"


def replies_name(sid: str, attempt: int) -> str:
    """Where an attempt at a shard writes its replies down; a store that cannot append adds an ordinal."""
    return f"{FOLDER}/{sid}/{attempt}.jsonl"


def line_of(row: Mapping[str, Any]) -> bytes:
    """A row as a line. Lone surrogates, which UTF-8 cannot hold, are escaped by JSON."""
    return json.dumps({**row, "finished_at": row["finished_at"].isoformat()}, separators=(",", ":")).encode("ascii") + b"\n"


def rows_of(data: bytes) -> Iterator[dict[str, Any]]:
    """The rows of a file; a line that was cut is passed over."""
    for line in data.split(b"\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and set(row) == set(REPLIES.schema.names):
            yield {**row, "finished_at": datetime.fromisoformat(row["finished_at"])}


def recorded(store: Store, sids: Iterable[str] | None = None) -> Iterator[dict[str, Any]]:
    """Every reply that attempts at these shards (all, where None) wrote down."""
    for sid in store.list(FOLDER) if sids is None else sids:
        for name in store.list(f"{FOLDER}/{sid}"):
            yield from rows_of(store.read(f"{FOLDER}/{sid}/{name}") or b"")
