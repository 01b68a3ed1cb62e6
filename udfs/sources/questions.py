"""Questions with named fields, with or without a rule on the form of the response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from udfs.sources.contracts import FORMAT_RULES, contract_from
from udfs.sources.item import RecordError, SourceItem, needed, wanted
from udfs.sources.maths import stage_of_level


def qa(record: Mapping[str, Any]) -> SourceItem:
    """``question``, ``answer`` and where given ``answer_type``, ``unit``, ``tolerance``, ``aliases``, ``options``, ``kind``, ``domain``, ``difficulty`` (1 to 5).

    Without ``answer_type`` options make a choice, a plain number a number, an ISO date a date, and all else text.
    """
    question = needed(record, "question", "problem", "prompt")
    gold, contract = contract_from(record)
    kind = wanted(record, "kind", "task_type") or f"question_{contract.type}"
    return SourceItem(
        kind, question, gold, contract, subject=wanted(record, "subject"), domain=wanted(record, "domain", "topic", "category"),
        stage=stage_of_level(wanted(record, "difficulty", "level")), solution=wanted(record, "solution", "explanation"),
        ident=wanted(record, "id", "unique_id"),
    )  # fmt: skip


def constrained(record: Mapping[str, Any]) -> SourceItem:
    """As ``qa``, with ``format``: the rule that the response's form must keep (json, one_word, unit), a reward of its own."""
    if record.get("format") not in FORMAT_RULES:
        raise RecordError("bad_value", f"field 'format' must be one of {', '.join(FORMAT_RULES)}")
    item = qa(record)
    return replace(item, kind=f"format_{record['format']}")
