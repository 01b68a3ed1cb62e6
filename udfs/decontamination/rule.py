"""The settings of a match as one value, without the configuration that they come from."""

from __future__ import annotations

from dataclasses import dataclass

#: Name and version of matching, written beside every match; raise it when an unchanged input may match otherwise.
SCHEME = "contamination/v1"

#: Tokens of the shortest question that can be matched, and of the n-gram by which short questions are found.
SHORT = 4


@dataclass(frozen=True)
class Rule:
    """What counts as holding an item.

    Attributes:
        n: tokens an n-gram.
        coverage: share of an item's tokens, plain and weighted by their rarity in the set, that must be covered, from ``full_tokens`` tokens on.
        short_coverage: the same at ``n`` tokens; linear in between.
        full_tokens: see ``coverage``.
        window: tokens before or after a question shorter than ``n`` within which its answer must stand.
        template_items: an n-gram of more different texts of one set is that set's template and does not count.
        template_documents: an n-gram in more documents that do not hold its item is a common phrase and does not count.
    """

    n: int = 8
    coverage: float = 0.6
    short_coverage: float = 0.9
    full_tokens: int = 50
    window: int = 64
    template_items: int = 10
    template_documents: int = 20

    def required(self, tokens: int) -> float:
        """Share of ``tokens`` tokens that must be covered."""
        if tokens >= self.full_tokens or self.full_tokens <= self.n:
            return self.coverage
        part = max(0, tokens - self.n) / (self.full_tokens - self.n)
        return self.short_coverage + (self.coverage - self.short_coverage) * part

    @property
    def answer_alone(self) -> int:
        """Tokens of the shortest final answer that is an item's mark by itself."""
        return max(self.n, self.full_tokens // 2)

    @property
    def scheme(self) -> str:
        """Name and version."""
        return f"{SCHEME}:n{self.n}"
