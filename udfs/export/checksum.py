"""The logical checksum of a file's rows, folded from 64-bit row hashes; the same formula as that of the lake's slices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_MASK = (1 << 64) - 1


@dataclass
class RowChecksum:
    """Row count, xor and sum (both mod 2^64) of row hashes; it does not depend on their order."""

    rows: int = 0
    xor: int = 0
    total: int = 0

    def add(self, hashes: npt.NDArray[np.int64]) -> None:
        """Take in the hashes of further rows, shape (n,)."""
        unsigned = hashes.view(np.uint64)
        self.rows += len(unsigned)
        self.xor ^= int(np.bitwise_xor.reduce(unsigned)) if len(unsigned) else 0
        self.total = (self.total + int(unsigned.sum(dtype=np.uint64))) & _MASK

    def __str__(self) -> str:
        return f"{self.rows}-{self.xor:016x}-{self.total:016x}"
