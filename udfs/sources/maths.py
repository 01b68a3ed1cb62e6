"""Word problems and competition mathematics: GSM8K, MATH and its subsets, AIME."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from schemas.contract import AnswerContract
from udfs.decontamination.adapters import CALCULATED
from udfs.grading.boxes import last_boxes
from udfs.sources.contracts import number_contract
from udfs.sources.item import SourceItem, needed, wanted

_LEVEL = re.compile(r"\d+")
#: Difficulty as MATH numbers it, 1 to 5 -> curriculum stage.
_STAGES = {1: 1, 2: 1, 3: 2, 4: 3, 5: 3}


def stage_of_level(level: str) -> int:
    """Curriculum stage of a difficulty from 1 to 5, in whatever words (``Level 3``); 2 where there is none."""
    found = _LEVEL.search(level)
    return _STAGES.get(int(found.group()), 2) if found else 2


def gsm8k(record: Mapping[str, Any]) -> SourceItem:
    """GSM8K: ``question``, ``answer`` = worked solution, ``####``, a number with or without separators and unit."""
    question = needed(record, "question")
    solution, mark, gold = needed(record, "answer").rpartition("####")
    gold, ident = gold.strip(), wanted(record, "id")
    worked = CALCULATED.sub("", solution).strip()
    if not mark or not gold:
        return SourceItem("word_problem", question, solution=worked, refused="no_final_answer", ident=ident)
    contract = number_contract(gold)
    if contract is None:
        return SourceItem("word_problem", question, gold, solution=worked, refused="unreadable_gold", ident=ident)
    return SourceItem("word_problem", question, gold, contract, domain="arithmetic", solution=worked, ident=ident)


def math(record: Mapping[str, Any]) -> SourceItem:
    r"""MATH, MATH-500, AIME: ``problem`` or ``question``, ``answer``, or else the last ``\boxed{}`` of ``solution``; ``subject``, ``level``.

    Golds are expressions: what a set, an interval or a tuple is, its own notation says.
    """
    question, solution = needed(record, "problem", "question", "Problem", "Question"), wanted(record, "solution", "Solution")
    gold = wanted(record, "answer", "final_answer", "expected_answer", "Answer").strip()
    if not gold and (boxes := last_boxes(solution)) is not None:
        gold = ", ".join(content.strip() for content in boxes.contents)
    about = wanted(record, "subject", "type")
    ident = wanted(record, "unique_id", "id", "ID", "problem_idx")
    stage = stage_of_level(wanted(record, "level", "difficulty"))
    if not gold:
        return SourceItem(
            "competition_math", question, solution=solution, refused="no_final_answer", domain=about, stage=stage, ident=ident
        )
    contract = AnswerContract(type="expression", gold=gold)
    return SourceItem("competition_math", question, gold, contract, domain=about, stage=stage, solution=solution, ident=ident)
