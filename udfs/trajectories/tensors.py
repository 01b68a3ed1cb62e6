"""Bounds of token lists, read by numpy over their flat buffers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

#: Float32 softmaxes may end a hair above 0; more than this is no logarithm of a probability.
LOGPROB_SLACK = 1e-4


def is_token(values: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether each value may be a token id."""
    return np.asarray(values >= 0)


def is_logprob(values: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether each value may be a log-probability."""
    return np.asarray(np.isfinite(values) & (values <= LOGPROB_SLACK))


def all_hold(column: pa.Array, test: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """For each list of ``column``: every element is there and passes ``test``; a null or empty list does."""
    flat = column.flatten()
    bad = ~test(flat.fill_null(-1 if pa.types.is_integer(flat.type) else float("nan")).to_numpy(zero_copy_only=False))
    lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lengths, dtype=np.int64)
    sums = np.concatenate([[0], np.cumsum(bad, dtype=np.int64)])
    return np.asarray(sums[ends] == sums[ends - lengths])
