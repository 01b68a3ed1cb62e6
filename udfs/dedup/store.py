"""Shingle sets of kept documents: in memory up to a bound, beyond it in a temporary file."""

from __future__ import annotations

import os
import tempfile
from typing import IO

import numpy as np
from numpy.typing import NDArray

#: Bytes of sets held in memory by one task.
MEMORY_BYTES = 256 << 20


class SetStore:
    """A growing row of sorted uint64 sets; ``close`` removes the file."""

    def __init__(self, memory_bytes: int = MEMORY_BYTES) -> None:
        self._room = memory_bytes
        self._held: list[NDArray[np.uint64] | tuple[int, int]] = []
        self._file: IO[bytes] | None = None
        self._size = 0

    def close(self) -> None:
        """Remove the file, where one was needed."""
        if self._file is not None:
            self._file.close()

    def __len__(self) -> int:
        return len(self._held)

    def add(self, values: NDArray[np.uint64]) -> None:
        """Append a set."""
        if values.nbytes <= self._room:
            self._room -= values.nbytes
            self._held.append(values)
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="verilake-sets-")  # noqa: SIM115 -- lives as long as the store
        self._file.write(values.tobytes())
        self._held.append((self._size, values.nbytes))
        self._size += values.nbytes

    def size(self, index: int) -> int:
        """Members of a set, without reading it."""
        held = self._held[index]
        return held[1] // 8 if isinstance(held, tuple) else len(held)

    def get(self, index: int) -> NDArray[np.uint64]:
        """A set by its ordinal."""
        held = self._held[index]
        if not isinstance(held, tuple):
            return held
        if self._file is None:
            raise AssertionError("a set lies in a file that was never made")
        self._file.flush()
        return np.frombuffer(os.pread(self._file.fileno(), held[1], held[0]), np.uint64)
