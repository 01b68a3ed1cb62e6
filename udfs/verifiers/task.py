"""What a process of the pool does, and how it tells where it is."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from typing import Any, Protocol

from udfs.verifiers.chunks import Chunk

#: What MARKER holds: the row's index in its chunk, -1 before the first; the seconds that it may take.
MARKER = struct.Struct("<qd")


class Marker:
    """Where a worker is; shared with the process that waits for it."""

    def __init__(self, descriptor: int) -> None:
        self._map = mmap.mmap(descriptor, MARKER.size)

    def put(self, row: int, seconds: float) -> None:
        """The row that begins now."""
        MARKER.pack_into(self._map, 0, row, seconds)

    def get(self) -> tuple[int, float]:
        """The row that is being graded, and its seconds."""
        row, seconds = MARKER.unpack_from(self._map, 0)
        return row, seconds

    def close(self) -> None:
        """Give the memory back."""
        self._map.close()


class Task(Protocol):
    """What a process does with a chunk."""

    def __call__(self, chunk: Chunk, at: Marker, lost: Mapping[int, str]) -> tuple[bytes, dict[str, Any]]:
        """Answer every row.

        Args:
            chunk: the rows.
            at: told of every row before it begins.
            lost: index of a row -> flag; such a row is only named, for it has ended processes before.

        Returns:
            The answers, and counts as JSON holds them.
        """
        ...
