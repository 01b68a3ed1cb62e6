"""One door to the two kernels. Both give the same bits, so that ``auto`` may choose by cost.

Compiling takes seconds in every process, as much as numpy needs for some twenty megabytes of text: ``auto`` starts with numpy and
changes to numba, where it can be imported, once a process has hashed ``COMPILE_AFTER_BYTES``, or at once for a batch of that size.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal, Protocol, TypeAlias, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas.errors import VerilakeError
from udfs.text.buffers import TextBuffer, text_buffer

KernelName = Literal["auto", "numba", "numpy"]


class KernelUnavailableError(VerilakeError):
    """The configuration asks for a kernel that this interpreter cannot run."""

    exit_code = 2

    @classmethod
    def from_name(cls, name: str) -> KernelUnavailableError:
        """``name`` is unknown, or its library is not installed."""
        return cls(f"curate.kernel = {name!r} cannot be used here: install numba, or set it to 'auto' or 'numpy' (same results, slower).")


#: Bytes of text a process hashes with numpy before ``auto`` compiles.
COMPILE_AFTER_BYTES = 16 << 20

_hashed_bytes = 0


class _Kernel(Protocol):
    def normalised(self, text: TextBuffer) -> TextBuffer: ...

    def token_hashes(self, text: TextBuffer) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.int64]]: ...

    def shingle_hashes(self, text: TextBuffer, n: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]: ...

    def signatures(
        self, text: TextBuffer, n: int, a: NDArray[np.uint32], b: NDArray[np.uint32]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...

    def squeezed(self, text: TextBuffer) -> tuple[NDArray[np.uint8], NDArray[np.int64]]: ...

    def shared(self, left: NDArray[np.uint64], right: NDArray[np.uint64]) -> int: ...


#: What every function here takes: a column of text, or its normal form where that was made before.
Texts: TypeAlias = "pa.Array | pa.ChunkedArray | TextBuffer"


def normal_form(column: Texts, kernel: KernelName = "auto") -> TextBuffer:
    """The rows as the kernels read them; make it once where a batch goes through several of the functions below."""
    return column if isinstance(column, TextBuffer) else _kernel(kernel, None).normalised(text_buffer(column))


def _kernel(name: str, text: TextBuffer | None) -> _Kernel:
    """The module that does the work.

    Args:
        name: as configured.
        text: what is to be hashed; None for work that is no reason to compile.

    Raises:
        KernelUnavailableError: numba is asked for and missing, or the name is none of ours.
    """
    if name == "numpy" or (name == "auto" and not _worth_compiling(text)):
        from udfs.dedup import numpy_kernel

        return cast("_Kernel", numpy_kernel)
    if name not in ("auto", "numba") or find_spec("numba") is None:
        raise KernelUnavailableError.from_name(name)
    from udfs.dedup import numba_kernel

    return cast("_Kernel", numba_kernel)


def _worth_compiling(text: TextBuffer | None) -> bool:
    global _hashed_bytes  # noqa: PLW0603 -- what this process has done so far; it changes cost, never results
    if text is not None:
        _hashed_bytes += int((text.ends - text.starts).sum())
    return _hashed_bytes >= COMPILE_AFTER_BYTES and find_spec("numba") is not None


def token_hashes(column: Texts, kernel: KernelName = "auto") -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.int64]]:
    """Hash every token of every row.

    Args:
        column: text, n_rows; nulls have no tokens.
        kernel: which implementation runs.

    Returns:
        ``hashes`` uint64[n_tokens], ``chars`` int32[n_tokens] (length of each in code points of the normal form), ``offsets``
        int64[n_rows + 1]: row i has the tokens ``offsets[i]:offsets[i + 1]``.
    """
    text = normal_form(column, kernel)
    return _kernel(kernel, text).token_hashes(text)


def shingle_hashes(column: Texts, n: int, kernel: KernelName = "auto") -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Hash every token n-gram of every row, in order of occurrence.

    A row with fewer than ``n`` tokens has one shingle, that of all its tokens; a row without tokens has none.

    Returns:
        ``hashes`` uint64[n_shingles] and ``offsets`` int64[n_rows + 1].
    """
    text = normal_form(column, kernel)
    return _kernel(kernel, text).shingle_hashes(text, n)


def signatures(
    column: Texts, n: int, a: NDArray[np.uint32], b: NDArray[np.uint32], kernel: KernelName = "auto"
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """MinHash of the top 32 bits of the shingle hashes, under datasketch's affine32 permutations ``a * fmix32(h) + b``.

    Args:
        column: text, n_rows.
        n: tokens a shingle.
        a: odd multipliers, uint32[k].
        b: offsets, uint32[k].
        kernel: which implementation runs.

    Returns:
        Minima uint32[n_rows, k] (all ones where a row has no shingle), and the numbers of shingles and of tokens int64[n_rows, 2], repeats
        counted.
    """
    text = normal_form(column, kernel)
    return _kernel(kernel, text).signatures(text, n, a, b)


def squeezed(column: Texts, kernel: KernelName = "auto") -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The UTF-8 bytes of every row in normal form, white space squeezed to single spaces, none at the ends.

    Returns:
        ``data`` uint8 and ``offsets`` int64[n_rows + 1]: row i is ``data[offsets[i]:offsets[i + 1]]``.
    """
    text = normal_form(column, kernel)
    return _kernel(kernel, text).squeezed(text)


def shared(left: NDArray[np.uint64], right: NDArray[np.uint64], kernel: KernelName = "auto") -> int:
    """How many members two ascending sets without repeats have in common."""
    return int(_kernel(kernel, None).shared(left, right))


def compiled(kernel: KernelName = "auto") -> bool:
    """Whether the compiled kernel is the one in use, so that more may be compiled."""
    return getattr(_kernel(kernel, None), "__name__", "").endswith("numba_kernel")
