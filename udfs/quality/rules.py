"""The heuristics as data: which figure is held against which setting, and what a failure is called."""

from __future__ import annotations

from typing import Literal, NamedTuple

#: Name and version, written beside every verdict.
RULES_SCHEME = "heuristics/v2"

Side = Literal["below", "above"]


class Rule(NamedTuple):
    """A document fails where ``metric`` lies below (above) the setting ``threshold`` of its set's section of ``conf.curate``.

    A figure that is null (no stop words for its language, say) fails nothing.
    """

    reason: str
    metric: str
    side: Side
    threshold: str


_BASIC = (
    Rule("too_short", "n_words", "below", "min_words"),
    Rule("too_long", "n_words", "above", "max_words"),
    Rule("long_words", "mean_word_length", "above", "max_mean_word_length"),
    Rule("symbols", "symbol_ratio", "above", "max_symbol_ratio"),
    Rule("repetition_words", "top_word_share", "above", "max_top_word_share"),
    Rule("repetition_lines", "dup_line_share", "above", "max_dup_line_share"),
    Rule("repetition_5grams", "dup_5gram_share", "above", "max_dup_5gram_share"),
)


def _named(prefix: str, *rules: tuple[str, str, Side]) -> tuple[Rule, ...]:
    """Rules from (reason, metric, side); the setting has the metric's name, ``n_`` left out, after ``min_`` or ``max_``."""
    bound = {"below": "min_", "above": "max_"}
    return tuple(Rule(f"{prefix}_{reason}", metric, side, bound[side] + metric.removeprefix("n_")) for reason, metric, side in rules)


_GOPHER = _named(
    "gopher",
    ("too_short", "n_words", "below"),
    ("too_long", "n_words", "above"),
    ("short_words", "mean_word_length", "below"),
    ("long_words", "mean_word_length", "above"),
    ("hashes", "hash_ratio", "above"),
    ("ellipses", "ellipsis_ratio", "above"),
    ("bullets", "bullet_line_share", "above"),
    ("ellipsis_lines", "ellipsis_line_share", "above"),
    ("few_letters", "alpha_word_share", "below"),
    ("stop_words", "n_stop_words", "below"),
    ("repeated_lines", "repeated_line_share", "above"),
    ("repeated_paragraphs", "repeated_paragraph_share", "above"),
    ("dup_lines", "dup_line_share", "above"),
    ("dup_paragraphs", "dup_paragraph_share", "above"),
    *((f"top_{n}grams", f"top_{n}gram_share", "above") for n in (2, 3, 4)),
    *((f"dup_{n}grams", f"dup_{n}gram_chars", "above") for n in range(5, 11)),
)
_C4 = _named(
    "c4", ("lorem_ipsum", "n_lorem_ipsum", "above"), ("braces", "n_braces", "above"), ("few_sentences", "n_full_sentences", "below")
)
_MC4 = _named("mc4", ("few_long_lines", "n_long_lines", "below"))
_FINEWEB = _named(
    "fineweb",
    ("lorem_ipsum", "n_lorem_ipsum", "above"),
    ("braces", "n_braces", "above"),
    ("few_sentences", "n_sentences", "below"),
    ("unfinished_lines", "terminal_line_share", "below"),
    ("short_lines", "short_line_share", "above"),
    ("dup_lines", "dup_line_share", "above"),
    ("newlines", "newline_ratio", "above"),
)

#: Set -> its rules, in the order in which the first failure names the verdict. A set's settings stand in the section of its name, those of
#: ``basic`` in ``curate`` itself.
RULES: dict[str, tuple[Rule, ...]] = {"basic": _BASIC, "gopher": _GOPHER, "c4": _C4, "mc4": _MC4, "fineweb": _FINEWEB}
