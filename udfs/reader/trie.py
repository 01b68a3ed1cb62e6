"""Exact token log-probabilities of a distribution over whole strings.

The policy gives every response string a probability. Factored over the trie of their tokens, with an end token, this is an
autoregressive model: p(token | prefix) = P(strings that go on with the token) / P(strings that begin with the prefix). Strings
are kept in byte order, so that a prefix is a range; ranges are summed directly (no differences of cumulative sums, which
would lose the small ones).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: Tokens are the 256 bytes of UTF-8 and one end token.
END = 256
VOCAB = 257
#: No byte of UTF-8 text is as high as this: the end of the range of a prefix.
_ABOVE = b"\xff"


def encode(text: str) -> list[int]:
    """Token ids of a text, without the end token; a lone surrogate becomes ``?``."""
    return list(text.encode("utf-8", "replace"))


def decode(ids: Sequence[int]) -> str:
    """Text of token ids; the end token is no text, and bytes cut off in the middle of a character become U+FFFD."""
    return bytes(i for i in ids if i != END).decode("utf-8", "replace")


class TokenDistribution:
    """A distribution over strings, sampled whole and scored token by token.

    Attributes:
        strings: distinct UTF-8 strings in byte order.
        probabilities: float64, their probabilities, summing to 1.
    """

    def __init__(self, strings: Sequence[str], weights: Floats) -> None:
        """Equal strings are added up; ``weights`` need not be normalised.

        Raises:
            ValueError: no string, or weights that are no distribution.
        """
        if not len(strings) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.sum() > 0:
            msg = "a distribution needs at least one string, and finite weights of which one is positive"
            raise ValueError(msg)
        encoded = [string.encode("utf-8", "replace") for string in strings]
        order = sorted(range(len(encoded)), key=lambda k: (encoded[k], k))
        self.strings: list[bytes] = []
        sums: list[float] = []
        for k in order:
            if self.strings and self.strings[-1] == encoded[k]:
                sums[-1] += float(weights[k])
            else:
                self.strings.append(encoded[k])
                sums.append(float(weights[k]))
        values = np.asarray(sums)
        self.probabilities: Floats = values / values.sum()
        self._cumulative = np.cumsum(self.probabilities)

    def sample(self, uniform: float) -> int:
        """The string at ``uniform`` in [0, 1) of the cumulative distribution."""
        index = int(np.searchsorted(self._cumulative, uniform * self._cumulative[-1], side="right"))
        return min(index, len(self.strings) - 1)

    def find(self, text: str) -> int | None:
        """The index of a string, None where it has no probability."""
        wanted = text.encode("utf-8", "replace")
        index = bisect_left(self.strings, wanted)
        return index if index < len(self.strings) and self.strings[index] == wanted else None

    def tokens(self, index: int) -> list[int]:
        """Token ids of a string, end token included."""
        return [*self.strings[index], END]

    def log_probs(self, index: int) -> Floats:
        """Natural log of p(token | prefix) for every token of a string, end token included; they sum to ln p(string)."""
        string = self.strings[index]
        low, high = 0, len(self.strings)
        mass = 1.0
        steps = np.zeros(len(string) + 1)
        for k in range(1, len(string) + 1):
            prefix = string[:k]
            inner_low = bisect_left(self.strings, prefix, low, high)
            inner_high = bisect_left(self.strings, prefix + _ABOVE, inner_low, high)
            if inner_high - inner_low != high - low:
                inner = float(self.probabilities[inner_low:inner_high].sum())
                steps[k - 1] = np.log(inner / mass)
                low, high, mass = inner_low, inner_high, inner
        if high - low > 1:
            steps[-1] = np.log(self.probabilities[index] / mass)
        return np.minimum(steps, 0.0)
