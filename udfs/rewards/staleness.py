"""How far the weights have moved since tokens were sampled: the ratio rho = p_now / p_then of each sampled token (R§6).

``then`` is what the engine recorded while it sampled, ``now`` the same tokens re-scored under another checkpoint. With d = log rho of
the sampled tokens (response_mask 1) of a trajectory, all its turns together::

    token       rho_t = exp(d_t)
    sequence    exp(sum of d)            the plain importance ratio; of 100 tokens at d = 0.012 already 3.3
    geometric   exp(sum of d / tokens)   its geometric mean by token, which does not grow with length

A token without one of the two log-probabilities is unknown, never 0.0: it counts as such, and the trajectory's own ratios are null,
because a sum over the rest would be the ratio of another text. Bounds [lower, upper] either truncate (rho is cut to the nearest bound,
TIS) or mask (rho outside becomes 0, IcePop); both count what they touched.

Sums are of integers (log-ratios in units of 2**-30, an error below 1e-9 a token, where float32 carries 1e-7): they depend on no order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from udfs.trajectories.grading_batch import LOGPROB_SLACK

Level = Literal["token", "sequence", "geometric"]
Mode = Literal["truncate", "mask"]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: Units of the fixed point, and the largest log-ratio of a token that it holds: 2**21 such tokens fit into 64 bits.
_UNIT, _FURTHEST = 2.0**30, 4096.0
#: Where exp() ends: beyond it a ratio is as good as infinite, or 0.
_END = 700.0
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Bounds:
    """Truncation of ratios. ``level`` says which ratio of a trajectory becomes its weight; bounds are of that ratio, and of tokens."""

    lower: float
    upper: float
    level: Level = "token"
    mode: Mode = "truncate"


@dataclass(frozen=True, slots=True, eq=False)
class TokenRatios:
    """Tokens of some turns, flat, in the order of the turns.

    Attributes:
        lengths: tokens of each turn.
        sampled: which the policy sampled.
        log_ratio: log rho; NaN where it was not sampled or is unknown.
    """

    lengths: Ints
    sampled: Bools
    log_ratio: Floats

    def as_lists(self) -> pa.Array:
        """The ratio of each token, a float32 list a turn; null where it was not sampled or is unknown."""
        offsets = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int32)
        ratio = np.exp(np.clip(self.log_ratio, -_END, 88.0)).astype(np.float32)  # the largest float32 is e^88.7
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(ratio, mask=np.isnan(self.log_ratio)))


@dataclass(frozen=True, slots=True, eq=False)
class SequenceRatios:
    """Ratios by trajectory, in the order of its number; NaN = unknown.

    Attributes:
        tokens: sampled ones.
        known: of these with a ratio.
        below: of these below the lower bound.
        above: of these above the upper bound.
        sequence: the plain ratio.
        geometric: its geometric mean.
        weight: the ratio of ``bounds.level`` after truncation or masking; of tokens their mean.
        oldest: oldest weights that sampled one of its tokens; -1 where unknown.
    """

    tokens: Ints
    known: Ints
    below: Ints
    above: Ints
    sequence: Floats
    geometric: Floats
    weight: Floats
    oldest: Ints


def token_ratios(then: pa.Array, now: pa.Array, mask: pa.Array) -> TokenRatios:
    """Log-ratios of the tokens of some turns, over the flat buffers.

    Args:
        then: recorded log-probabilities, a list a turn; null where unknown.
        now: re-scored ones, likewise.
        mask: 1 = sampled, a list a turn; says how many tokens there are. A list of another length than this is unknown as a whole.
    """
    lengths = np.asarray(pc.fill_null(pc.list_value_length(mask), 0), dtype=np.int64)
    sampled = np.asarray(pc.fill_null(mask.flatten(), 0), dtype=np.int64) == 1
    before, after = (_flat(lists, lengths) for lists in (then, now))
    return TokenRatios(lengths, sampled, np.where(sampled, after - before, np.nan))


class RatioSums:
    """Ratios by trajectory, from turns that come in parts and in any order: all sums are of integers.

    Args:
        count: trajectories, which are numbered 0 .. count - 1.
        bounds: truncation.
    """

    def __init__(self, count: int, bounds: Bounds) -> None:
        self._bounds = bounds
        self._tokens, self._known, self._below, self._above, self._total, self._inner = (np.zeros(count, dtype=np.int64) for _ in range(6))
        self._oldest = np.full(count, _NEVER)

    def add(self, ratios: TokenRatios, sequence: Ints, versions: pa.Array) -> None:
        """Some turns.

        Args:
            ratios: their tokens.
            sequence: number of the trajectory of each turn.
            versions: weights that sampled each token, a list a turn; below 0 = unknown.
        """
        count, place = len(self._tokens), np.repeat(sequence, ratios.lengths)
        known = ~np.isnan(ratios.log_ratio)
        log_ratio, where = ratios.log_ratio[known], place[known]
        low, high = _log(self._bounds.lower), math.log(self._bounds.upper)
        self._tokens += np.bincount(place[ratios.sampled], minlength=count)
        self._known += np.bincount(where, minlength=count)
        self._below += np.bincount(where[log_ratio < low], minlength=count)
        self._above += np.bincount(where[log_ratio > high], minlength=count)
        np.add.at(self._total, where, _fixed(np.clip(log_ratio, -_FURTHEST, _FURTHEST)))
        np.add.at(self._inner, where, _fixed(np.exp(_bounded(log_ratio, low, high, self._bounds.mode))))
        version = _flat_versions(versions, ratios.lengths)
        there = ratios.sampled & (version >= 0)
        np.minimum.at(self._oldest, place[there], version[there])

    def ratios(self) -> SequenceRatios:
        """What all parts together give."""
        tokens, whole = self._tokens, (self._tokens > 0) & (self._tokens == self._known)
        unknown = np.full(len(tokens), np.nan)
        total = np.where(whole, self._total / _UNIT, np.nan)
        mean = np.divide(total, tokens, out=unknown.copy(), where=whole)
        low, high, mode = _log(self._bounds.lower), math.log(self._bounds.upper), self._bounds.mode
        if self._bounds.level == "token":
            weight = np.divide(self._inner / _UNIT, tokens, out=unknown, where=whole)
        else:
            weight = np.exp(_bounded(total if self._bounds.level == "sequence" else mean, low, high, mode))
        return SequenceRatios(
            tokens, self._known, self._below, self._above, np.exp(np.clip(total, -_END, _END)), np.exp(np.clip(mean, -_END, _END)),
            weight, np.where(self._oldest == _NEVER, -1, self._oldest),
        )  # fmt: skip


def _flat(lists: pa.Array, lengths: Ints) -> Floats:
    """Values as flat as the tokens; NaN where there is no usable log-probability."""
    own = np.asarray(pc.fill_null(pc.list_value_length(lists), -1), dtype=np.int64)
    fits = own == lengths
    out = np.full(int(lengths.sum()), np.nan)
    out[np.repeat(fits, lengths)] = np.asarray(lists.filter(pa.array(fits)).flatten().to_numpy(zero_copy_only=False), dtype=np.float64)
    with np.errstate(invalid="ignore"):
        out[~(np.isfinite(out) & (out <= LOGPROB_SLACK))] = np.nan
    return out


def _bounded(log_ratio: Floats, low: float, high: float, mode: Mode) -> Floats:
    """Log-ratios within the bounds: cut, or minus infinity (a ratio of 0) outside; NaN stays."""
    if mode == "truncate":
        return np.clip(log_ratio, low, high)
    return np.where((log_ratio < low) | (log_ratio > high), -np.inf, log_ratio)


def _fixed(values: Floats) -> Ints:
    """In units of 2**-30."""
    return np.rint(values * _UNIT).astype(np.int64)


def _flat_versions(versions: pa.Array, lengths: Ints) -> Ints:
    """Versions as flat as the tokens; -1 where unknown."""
    fits = np.asarray(pc.fill_null(pc.list_value_length(versions), -1), dtype=np.int64) == lengths
    flat = np.full(int(lengths.sum()), -1, dtype=np.int64)
    flat[np.repeat(fits, lengths)] = np.asarray(pc.fill_null(versions.filter(pa.array(fits)).flatten(), -1), dtype=np.int64)
    return flat


def _log(value: float) -> float:
    """log, minus infinity of 0: no lower bound."""
    return math.log(value) if value > 0.0 else -math.inf
