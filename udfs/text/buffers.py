"""Arrow string arrays as flat bytes with bounds: the form in which compiled kernels read text without copying it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs.text.normalise import normalise


@dataclass(frozen=True)
class TextBuffer:
    """UTF-8 bytes of a column.

    Attributes:
        data: the whole value buffer, uint8[n_bytes].
        starts: first byte of each row, int64[n_rows].
        ends: byte after the last of each row, int64[n_rows]; equal to ``starts`` for null and empty rows.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def __post_init__(self) -> None:
        self.data.setflags(write=False)  # one type for numba, which compiles anew for writable buffers

    def __len__(self) -> int:
        return len(self.starts)


def text_buffer(column: pa.Array | pa.ChunkedArray) -> TextBuffer:
    """View a string column (string, large_string, binary; sliced; with nulls) as bytes and bounds, without copying.

    Raises:
        TypeError: the column holds something that Arrow cannot cast to text.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # combine_chunks keeps chunks where 32-bit offsets would overflow
        array = pa.concat_arrays(array.cast(pa.large_string()).chunks)
    kind = array.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        try:
            array = array.cast(pa.large_string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            msg = f"a text column is needed, got {kind}"
            raise TypeError(msg) from error
        kind = array.type
    wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    if len(array) == 0:
        none = np.zeros(0, np.int64)
        return TextBuffer(np.zeros(0, np.uint8), none, none)
    _, offsets, values = array.buffers()
    bounds = np.frombuffer(offsets, np.int64 if wide else np.int32)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    data = np.frombuffer(values, np.uint8) if values is not None and values.size else np.zeros(0, np.uint8)
    starts, ends = bounds[:-1], bounds[1:]
    if array.null_count:
        ends = np.where(np.asarray(array.is_valid()), ends, starts)
    return TextBuffer(data, starts, ends)


def ascii_rows(text: TextBuffer) -> NDArray[np.bool_]:
    """Which rows are pure ASCII: bool[n_rows]."""
    if not len(text):
        return np.zeros(0, np.bool_)
    low, high = int(text.starts[0]), int(text.ends.max())
    if text.data[low:high].max(initial=0) < 0x80:
        return np.ones(len(text), np.bool_)
    beyond = np.flatnonzero(text.data[low:high] >= 0x80) + low
    plain: NDArray[np.bool_] = np.searchsorted(beyond, text.starts) == np.searchsorted(beyond, text.ends)
    return plain


def normalised_buffer(text: TextBuffer) -> TextBuffer:
    """The same rows with every row that is not ASCII brought to normal form; ASCII rows are left to the kernels' byte table.

    Bytes that are not UTF-8 become U+FFFD. The ASCII rows are not copied unless other rows exist.
    """
    plain = ascii_rows(text)
    if plain.all():
        return text
    starts, ends, pieces, size = text.starts.copy(), text.ends.copy(), [text.data], len(text.data)
    for row in np.flatnonzero(~plain).tolist():
        raw = text.data[text.starts[row] : text.ends[row]].tobytes()
        piece = np.frombuffer(normalise(raw.decode("utf-8", "replace")).encode("utf-8"), np.uint8)
        starts[row], ends[row] = size, size + len(piece)
        pieces.append(piece)
        size += len(piece)
    return TextBuffer(np.concatenate(pieces), starts, ends)
