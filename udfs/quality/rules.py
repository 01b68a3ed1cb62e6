"""The heuristics as data: which figure is held against which setting, and what a failure is called."""

from __future__ import annotations

from typing import Literal, NamedTuple

#: Name and version, written beside every verdict.
RULES_SCHEME = "heuristics/v1"


class Rule(NamedTuple):
    """A document fails where ``metric`` lies below (above) the setting ``threshold`` of ``conf.curate``."""

    reason: str
    metric: str
    side: Literal["below", "above"]
    threshold: str


#: In the order in which the first failure names the verdict.
RULES: tuple[Rule, ...] = (
    Rule("too_short", "n_words", "below", "min_words"),
    Rule("too_long", "n_words", "above", "max_words"),
    Rule("long_words", "mean_word_length", "above", "max_mean_word_length"),
    Rule("symbols", "symbol_ratio", "above", "max_symbol_ratio"),
    Rule("repetition_words", "top_word_share", "above", "max_top_word_share"),
    Rule("repetition_lines", "dup_line_share", "above", "max_dup_line_share"),
    Rule("repetition_5grams", "dup_5gram_share", "above", "max_dup_5gram_share"),
)
