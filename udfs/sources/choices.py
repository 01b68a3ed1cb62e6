"""Multiple choice: MMLU, MMLU-Pro, ARC and sets that are spelt like them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from udfs.sources.contracts import OPTION_FIELDS, letter_of, made, options_of
from udfs.sources.item import RecordError, SourceItem, first, needed, wanted


def mmlu(record: Mapping[str, Any]) -> SourceItem:
    """``question``; ``choices``, ``options`` or fields ``A`` to ``D``; ``answer`` (place from 0, letter, label or text), ``answerKey`` or ``answer_index``."""
    question = needed(record, "question")
    options, labels = options_of(record, *OPTION_FIELDS)
    if not options:
        raise RecordError("no_text", "no field 'choices' or 'options', nor fields 'A', 'B', ...")
    letter = letter_of(first(record, "answer", "answerKey", "answer_index", "target")[1], options, labels)
    contract = made({"type": "choice", "gold": letter, "options": options})
    about = wanted(record, "subject", "category")
    return SourceItem(
        "multiple_choice", question, letter, contract, domain=about, solution=wanted(record, "cot_content"),
        ident=wanted(record, "id", "question_id"),
    )  # fmt: skip
