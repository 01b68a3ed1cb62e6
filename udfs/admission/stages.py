"""Curriculum stage of each kind of question: 1 easy to copy, 3 needs more."""

from __future__ import annotations

#: E§2 measured the small policy by kind: clozes are near-copying (0.8 to 1.0 greedy), versions, special methods and docstrings near 0,
#: structured look-ups between. A kind that is not listed is in the middle.
STAGES: dict[str, int] = {
    "cloze_number": 1,
    "cloze_date": 1,
    "cloze_name": 1,
    "param_default": 2,
    "base_class": 2,
    "constant_value": 2,
    "exception_raised": 2,
    "version_changed": 3,
    "docstring_name": 3,
    "special_method": 3,
}
DEFAULT_STAGE = 2


def stage_of(kind: str) -> int:
    """Stage of a kind of question.

    Args:
        kind: silver.qa's kind.
    """
    return STAGES.get(kind, DEFAULT_STAGE)
